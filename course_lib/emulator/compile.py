"""CUDA C++ source -> PTX and cubin, through NVRTC from its wheel.

Needs no GPU, no driver and no CUDA toolkit. Where there is no NVRTC (macOS), kernels of
the course come from the stored entries of ``data/ptx/`` (see ``stored``).
"""

import base64
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any

from . import stored, toolcache, toolkit
from .cubin import Resources, resources
from .errors import CompileError, UnsupportedError
from .hints import errors_only, hints
from .sass import SassLine, sass, sass_lines, with_lines
from .toolkit import FILE_NAME

ARCHITECTURE = "sm_90"
STORED_ONLY = "COURSE_STORED_PTX"  # set to 1: behave as on a machine without NVRTC

_ENTRY = re.compile(r"\.entry\s+([\w$]+)")


@dataclass(frozen=True, eq=False)
class Compiled:
    """What the compiler made of one source.

    ``ptx`` is text, ``cubin`` an ELF image for sm_90 (empty if it came from ``data/ptx/``),
    ``lowered`` maps each name expression to its mangled name, ``log`` holds warnings.
    """

    source: str
    options: tuple[str, ...]
    ptx: str
    cubin: bytes
    lowered: Mapping[str, str]
    name_expressions: tuple[str, ...] = ()
    log: str = ""
    stored_resources: Mapping[str, Resources] = field(default_factory=dict)

    @property
    def entries(self) -> list[str]:
        """Names of the kernels in the PTX, mangled ones included, in PTX order."""
        return _ENTRY.findall(self.ptx)

    def resources(self, entry: str) -> Resources:
        """Registers, shared, local and constant bytes of one kernel, as ptxas allotted them."""
        if entry in self.stored_resources:
            return self.stored_resources[entry]
        return resources(self.cubin, entry)

    def sass(self, entry: str) -> str:
        """Machine code of one kernel as text. Raises UnsupportedError where there is no nvdisasm."""
        return self._stored[entry][0] if entry in self._stored else sass(self.cubin, entry)

    def sass_lines(self, entry: str) -> tuple[SassLine, ...]:
        """Instructions of one kernel with their CUDA and PTX lines; raises as `sass`."""
        return self._stored[entry][1] if entry in self._stored else sass_lines(self.cubin, entry)

    @cached_property
    def _stored(self) -> Mapping[str, tuple[str, tuple[SassLine, ...]]]:
        """Kernel -> SASS as text and by lines, where it is stored for this very PTX.

        The PTX names the build of the compiler, and one build makes one machine code of it. nvdisasm takes
        a third of a second, which is most of what the first profile of a small kernel takes.
        """
        entry = stored.load(self.source, self.options, self.name_expressions)
        if entry is None or entry["ptx"] != self.ptx:
            return {}
        return {name: (text, with_lines(text, entry["lines"][name])) for name, text in entry["sass"].items()}


def compile_source(
    source: str, options: Sequence[str] = (), name_expressions: Sequence[str] = ()
) -> Compiled:
    """Compile CUDA C++ ``source``; results are cached for the life of the process.

    Adds what CuPy adds (``-ftz=true``) plus ``-lineinfo``, sm_90 and, if no standard is
    given, ``-std=c++17``; an option given in ``options`` wins over these. Raises CompileError with
    NVRTC's log (line numbers are those of ``source``), UnsupportedError where there is neither
    NVRTC nor a stored entry.
    """
    request = (_text(source), tuple(options), tuple(name_expressions or ()))
    compiled = _compile_cached(*request) if nvrtc_available() else _load_stored(*request)
    stored.note(compiled)
    return compiled


def _encoded(text: object) -> bytes:
    """UTF-8 for NVRTC, which would stop at a NUL."""
    if not isinstance(text, str):
        raise TypeError(f"an option or name expression must be a str, not {type(text).__name__} {text!r}")
    encoded = text.encode(errors="replace")
    if encoded != text.encode(errors="surrogatepass") or b"\0" in encoded:
        raise CompileError("the source, an option or a name has a NUL or a lone surrogate character in it")
    return encoded


def nvrtc_available() -> bool:
    """True when kernels can be compiled here (NVRTC's wheel and its Python binding exist)."""
    if os.environ.get(STORED_ONLY, "") not in ("", "0"):
        return False
    return bool(toolkit.nvrtc_majors()) and _nvrtc() is not None


def _text(source: object) -> str:
    if not isinstance(source, str):
        raise TypeError(f"CUDA source must be a str, not {type(source).__name__}")
    return source


@lru_cache(maxsize=1)
def _nvrtc() -> Any:
    """The binding with the library of its wheel loaded, or None."""
    try:
        from cuda.bindings import nvrtc

        major = nvrtc.nvrtcVersion()[1]
    except Exception:  # no binding or no library
        return None
    return nvrtc if major in toolkit.nvrtc_majors() else None


def _load_stored(source: str, options: tuple[str, ...], name_expressions: tuple[str, ...]) -> Compiled:
    entry = stored.load(source, options, name_expressions)
    if entry is None:
        raise UnsupportedError(
            "This machine has no NVRTC (NVIDIA's compiler; there is none for macOS), and this source is not "
            "one of the course's kernels kept in data/ptx/. Unchanged kernels of the notebooks run here; to "
            "run your own, use Linux or Windows (pip install cuda-bindings nvidia-cuda-nvrtc), or Colab."
        )
    known = {name: Resources(**numbers) for name, numbers in entry["resources"].items()}
    lowered = MappingProxyType(entry["lowered"])
    return Compiled(source, options, entry["ptx"], b"", lowered, name_expressions, "", known)


@lru_cache(maxsize=512)
def _compile_cached(source: str, options: tuple[str, ...], name_expressions: tuple[str, ...]) -> Compiled:
    major, minor = _nvrtc().nvrtcVersion()[1:]
    flags = _all_options(options, major)
    made = toolcache.kept(
        lambda: _compile(source, flags, name_expressions), source, flags, name_expressions, major, minor
    )
    ptx, lowered = _plain_paths(made["ptx"], major), MappingProxyType(made["lowered"])
    cubin = base64.b64decode(made["cubin"])
    return Compiled(source, options, ptx, cubin, lowered, name_expressions, made["log"])


def _compile(source: str, options: list[str], name_expressions: tuple[str, ...]) -> dict[str, Any]:
    """PTX, cubin (base64), name table and log, as NVRTC makes them. Raises CompileError."""
    nvrtc = _nvrtc()
    program = _take(nvrtc.nvrtcCreateProgram(_encoded(source), FILE_NAME.encode(), 0, [], []))
    try:
        for expression in name_expressions:
            _take(nvrtc.nvrtcAddNameExpression(program, _encoded(expression)))
        flags = [_encoded(option) for option in options]
        status = nvrtc.nvrtcCompileProgram(program, len(flags), flags)[0]
        log = _read(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program).decode(errors="replace")
        log = log.rstrip("\0 \n")
        if int(status) != 0:
            raise CompileError(_message(log or status.name, source, nvrtc.nvrtcVersion()[1]))
        ptx = _read(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program).decode().rstrip("\0")
        cubin = _read(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, program)
        lowered = {
            e: _take(nvrtc.nvrtcGetLoweredName(program, _encoded(e))).decode() for e in name_expressions
        }
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    return {"ptx": ptx, "cubin": base64.b64encode(cubin).decode(), "lowered": lowered, "log": log}


def _take(answer: tuple) -> Any:
    """The value of a binding call, or CompileError."""
    status, *values = answer
    if int(status) != 0:
        raise CompileError(f"NVRTC failed: {status.name}")
    return values[0] if values else None


def _read(size: Callable, get: Callable, program: Any) -> bytes:
    buffer = bytes(_take(size(program)))
    _take(get(program, buffer))
    return buffer


def _all_options(options: tuple[str, ...], major: int) -> list[str]:
    """Our options first: of two values NVRTC takes the last, which is the learner's."""
    ours = ["-ftz=true", "-lineinfo", f"--gpu-architecture={ARCHITECTURE}", "-std=c++17"]
    given = {option.lstrip("-").split("=")[0] for option in options}
    if given & {"arch", "gpu-architecture"}:
        raise CompileError(
            f"options {options}: the architecture is chosen for you ({ARCHITECTURE}), as in CuPy"
        )
    if major >= 13:
        # With a driver, NVRTC 13.0 gives the machine code it kept for the same source under other options.
        ours.append("--no-cache")
    ours = [o for o in ours if o.lstrip("-").split("=")[0] not in given]
    return [*ours, *options, *(f"-I{folder}" for folder in toolkit.include_dirs(major))]


def _plain_paths(ptx: str, major: int) -> str:
    """Name files in the PTX as the source does, without the folders of this machine."""
    for folder in sorted(toolkit.include_dirs(major), key=lambda f: -len(str(f))):
        ptx = ptx.replace(f'"{folder}{os.sep}', '"')
    return re.sub(rf'(\.file\s+\d+\s+)"[^"]*?{re.escape(FILE_NAME)}"', rf'\1"{FILE_NAME}"', ptx)


def _message(log: str, source: str, major: int) -> str:
    advice = hints(log, source, toolkit.missing_header_wheels(major))
    return "\n".join([errors_only(log, source), *(f"Hint: {text}" for text in advice)])
