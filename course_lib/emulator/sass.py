"""SASS, the GPU's machine code, through ``nvdisasm`` from its wheel."""

import re
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from . import toolcache, toolkit
from .cubin import kernels, symbol_number
from .errors import EmulatorError, UnsupportedError
from .toolkit import FILE_NAME

_INSTRUCTION = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;")
_INSTRUCTION_SHOWN = re.compile(r"/\*([0-9a-f]{4,})\*/  (.*)")  # as `sass` writes one
_SOURCE = re.compile(rf'"[^"]*?{re.escape(FILE_NAME)}", line (\d+)')
_FUNCTION = re.compile(r"[$\w]+:")
_PTX = re.compile(r'"\.nv_debug_ptx_txt", line (\d+)')
_TIMEOUT_SECONDS = 60


class SassLine(NamedTuple):
    """One instruction: byte ``address`` in the kernel, ``text``, and the lines it came from.

    ``source_line`` counts in the CUDA source, ``ptx_line`` in ``Compiled.ptx``, both from 1; 0: unknown.
    For inlined code ``source_line`` is the innermost line of the learner's own file.
    """

    address: int
    text: str
    source_line: int
    ptx_line: int


def sass(cubin: bytes, kernel: str) -> str:
    """Instructions and labels of one kernel, one per line. Raises UnsupportedError without nvdisasm."""
    shown = []
    for line in _listing(cubin, kernel):
        instruction = _INSTRUCTION.search(line)
        if instruction:
            shown.append(f"        /*{instruction.group(1)}*/  {instruction.group(2)}")
        elif re.fullmatch(r"[.$\w]+:", line) and not line.startswith(".text."):
            shown.append(line)
    return "\n".join(shown) + "\n"


@lru_cache(maxsize=128)
def sass_lines(cubin: bytes, kernel: str) -> tuple[SassLine, ...]:
    """Instructions of one kernel with their CUDA and PTX lines. Raises UnsupportedError without nvdisasm."""
    found = []
    source_line = ptx_line = 0
    notes: list[str] = []
    for line in _listing(cubin, kernel):
        if "//## File" in line:
            notes.append(line)
            continue
        if _FUNCTION.fullmatch(line):
            source_line = ptx_line = 0  # code NVIDIA's compiler brings along has no lines
        instruction = _INSTRUCTION.search(line)
        if not instruction:
            continue
        text = " ".join(notes)
        notes = []
        source, ptx = _SOURCE.search(text), _PTX.search(text)
        source_line = int(source.group(1)) if source else source_line
        ptx_line = int(ptx.group(1)) if ptx else ptx_line
        found.append(SassLine(int(instruction.group(1), 16), instruction.group(2), source_line, ptx_line))
    return tuple(found)


def with_lines(text: str, lines: list) -> tuple[SassLine, ...]:
    """What `sass_lines` gives, from the text of `sass` and its (CUDA line, PTX line) pairs."""
    found = _INSTRUCTION_SHOWN.findall(text)
    return tuple(
        SassLine(int(address, 16), shown, *pair) for (address, shown), pair in zip(found, lines, strict=True)
    )


def _listing(cubin: bytes, kernel: str) -> list[str]:
    if not cubin:
        raise UnsupportedError(
            "SASS needs NVIDIA's compiler, which this machine lacks; only PTX is kept in data/ptx/"
        )
    program = toolkit.tool("nvdisasm")
    if program is None:
        wheel = toolkit.tool_wheel("nvdisasm")
        raise UnsupportedError(f"SASS needs nvdisasm from the wheel {wheel}: pip install {wheel}")
    if kernel not in kernels(cubin):
        raise EmulatorError(f"the cubin holds {kernels(cubin)}, not {kernel!r}")
    return _disassemble(cubin, symbol_number(cubin, kernel), str(program))


@lru_cache(maxsize=32)
def _disassemble(cubin: bytes, number: int, program: str) -> list[str]:
    return toolcache.kept(lambda: _run_nvdisasm(cubin, number, program), cubin, number, program)


def _run_nvdisasm(cubin: bytes, number: int, program: str) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        command = [program, "-c", "-gi", "-gp", "-fun", str(number), str(path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS)
    if done.returncode != 0:
        raise EmulatorError(f"nvdisasm failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout.splitlines()
