"""RawKernel: CuPy's class, with the emulator behind it."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from . import limits
from .arguments import pack, warn_author
from .compile import Compiled, compile_source
from .cubin import Resources
from .errors import EmulatorError, LaunchError, UnsupportedError
from .plain_barriers import plain_barriers
from .prepared import Prepared
from .signature import parse_signature

_PTX_VERSION = _BINARY_VERSION = 90  # sm_90


def compile_like_cupy(code: str, options: tuple[str, ...], name_expressions: tuple[str, ...]) -> Compiled:
    """``compile_source`` with ``-ftz=true`` whatever the options say, as CuPy does; warns at ``false``."""
    if any(option.lstrip("-").startswith("ftz=f") for option in options):
        warn_author("-ftz=false has no effect in RawKernel: CuPy adds -ftz=true after your options")
        options = (*options, "-ftz=true")
    return compile_source(code, options, name_expressions)


def load_program(ptx: str, entry: str) -> Any:
    """``codegen.load``; all kernels of one PTX text share its ``__device__`` variables, as in CuPy."""
    from .codegen import load

    program = load(ptx, entry)
    for name, own in program.buffers.items():
        program.buffers[name] = module_variables(ptx).setdefault(name, own)
    return program


@lru_cache(maxsize=256)
def module_variables(ptx: str) -> dict[str, np.ndarray]:
    """Bytes of the ``__device__`` and ``__constant__`` variables of a module, filled by ``load_program``."""
    return {}


class RawKernel:
    """A kernel from CUDA C++ source, run on NumPy arrays, which it changes in place.

    ``code``, ``name``, ``options`` and the call are those of ``cupy.RawKernel``; compiled at first use.
    Extra: ``ptx`` and ``sass`` as text, and ``step_budget``, the steps after which blocks are stopped as
    endless (None: the usual number). The GPU whose limits hold is an H200.
    """

    def __init__(
        self,
        code: str,
        name: str,
        options: tuple[str, ...] = (),
        backend: str = "nvrtc",
        *,
        translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False,
        jitify: bool = False,
    ) -> None:
        check_constructor(code, options, backend, translate_cucomplex, jitify)
        if not isinstance(name, str):
            raise TypeError(f"name must be a str, not {type(name).__name__}")
        self.code = code
        self.name = self.__name__ = name
        self.options = options
        self.backend = backend
        self.translate_cucomplex = translate_cucomplex
        self.enable_cooperative_groups = enable_cooperative_groups
        self.jitify = jitify
        self.file_path = None
        self.name_expressions: tuple[str, ...] | None = None
        self._expression = name  # as the author writes it; `name` may be the mangled one
        self._compiled: Compiled | None = None
        self._max_dynamic: int | None = None
        self._carveout = -1
        self.step_budget: int | None = None

    def __call__(
        self, grid: tuple, block: tuple, args: Sequence[Any], *, shared_mem: int = 0, stream: Any = None
    ) -> None:
        """Run ``grid`` x ``block`` threads; arrays in ``args`` are changed in place. ``stream`` is ignored.

        Raises LaunchError, ArgumentError or what the kernel itself does wrong.
        """
        from .run import launch

        launch(self.prepare(grid, block, args, shared_mem))

    def prepare(self, grid: tuple, block: tuple, args: Sequence[Any], shared_mem: int = 0) -> Prepared:
        """Check a launch; what ``run.launch`` takes."""
        grid3, block3 = limits.dimensions(grid, "grid"), limits.dimensions(block, "block")
        dynamic = limits.shared_bytes(shared_mem)
        limits.check_launch(self._expression, grid3, block3, self.resources, dynamic, self._max_dynamic)
        if self.enable_cooperative_groups:
            grid3 = self._cooperative_grid(grid3, block3, dynamic)
        signature = parse_signature(self.code, self._expression)
        parameters = pack(args, self.program.parameters, signature, self._expression)
        names, cooperative = self.parameter_names, self.enable_cooperative_groups
        return Prepared(
            self.program, grid3, block3, parameters, dynamic, names, cooperative, self.step_budget,
            plain_barriers(self.code, self._expression),
        )  # fmt: skip

    @property
    def parameter_names(self) -> list[str]:
        """Names of the parameters in the CUDA source; in the PTX where the source is too hard to read."""
        signature = parse_signature(self.code, self._expression)
        declared = self.program.parameters
        if signature is None or len(signature) != len(declared):
            return [parameter.name for parameter in declared]
        return [parameter.name for parameter in signature]

    def _cooperative_grid(self, grid: limits.Dim3, block: limits.Dim3, dynamic: int) -> limits.Dim3:
        """As CuPy: a grid that cannot be resident at once is cut (one dimension) or refused."""
        most = limits.resident_blocks(block[0] * block[1] * block[2], self.resources, dynamic)
        if grid[0] * grid[1] * grid[2] <= most:
            return grid
        if grid[1:] != (1, 1):
            raise LaunchError(f"{self._expression}: cooperative grid {grid} exceeds {most} resident blocks")
        warn_author(f"{self._expression}: cooperative grid reduced from {grid[0]} to {most} resident blocks")
        return most, 1, 1

    def compile(self, log_stream: Any = None) -> None:
        """Compile now; the compiler's warnings are written to ``log_stream``."""
        self._compiled = None
        compiled = self.compiled
        if log_stream is not None and compiled.log:
            log_stream.write(compiled.log + "\n")

    @property
    def compiled(self) -> Compiled:
        """PTX, cubin and name table. Raises CompileError, or EmulatorError if the kernel is not in it."""
        if self._compiled is None:
            compiled = compile_like_cupy(self.code, self.options, self.name_expressions or ())
            if self.name not in compiled.entries:
                raise EmulatorError(_not_found(self.name, compiled))
            self._compiled = compiled
        return self._compiled

    @property
    def program(self) -> Any:
        """The executable form of the kernel (``codegen.load``); module variables are those of its module."""
        return load_program(self.compiled.ptx, self.name)

    @property
    def kernel(self) -> "RawKernel":
        """Compiles, like CuPy's property of this name."""
        _ = self.compiled
        return self

    @property
    def resources(self) -> Resources:
        """Registers, shared, local and constant bytes."""
        return self.compiled.resources(self.name)

    @property
    def ptx(self) -> str:
        """PTX of the whole source."""
        return self.compiled.ptx

    @property
    def sass(self) -> str:
        """Machine code of this kernel for sm_90, disassembled."""
        return self.compiled.sass(self.name)

    @property
    def num_regs(self) -> int:
        """Registers per thread."""
        return self.resources.registers

    @property
    def shared_size_bytes(self) -> int:
        """Static shared memory per block, in bytes."""
        return self.resources.shared_bytes

    @property
    def local_size_bytes(self) -> int:
        """Local memory per thread (stack and spills), in bytes."""
        return self.resources.local_bytes

    @property
    def const_size_bytes(self) -> int:
        """User constant memory of the module, in bytes."""
        return self.resources.constant_bytes

    @property
    def max_threads_per_block(self) -> int:
        """Largest block that can be launched, by ``__launch_bounds__`` and registers."""
        return limits.max_threads(self.resources)

    @property
    def max_dynamic_shared_size_bytes(self) -> int:
        """Dynamic shared memory a launch may use, in bytes. Can be set."""
        if self._max_dynamic is None:
            return limits.default_dynamic_shared(self.shared_size_bytes)
        return self._max_dynamic

    @max_dynamic_shared_size_bytes.setter
    def max_dynamic_shared_size_bytes(self, size: int) -> None:
        self._max_dynamic = limits.check_max_dynamic_shared(self._expression, self.shared_size_bytes, size)

    @property
    def preferred_shared_memory_carveout(self) -> int:
        """Percentage of L1 kept for shared memory; a hint without effect here. Can be set."""
        return self._carveout

    @preferred_shared_memory_carveout.setter
    def preferred_shared_memory_carveout(self, percent: int) -> None:
        self._carveout = percent

    @property
    def ptx_version(self) -> int:
        """10 * major + minor of the virtual architecture."""
        return _PTX_VERSION

    @property
    def binary_version(self) -> int:
        """10 * major + minor of the architecture."""
        return _BINARY_VERSION

    @property
    def cache_mode_ca(self) -> int:
        """Whether ``-Xptxas --dlcm=ca`` was given; never here."""
        return 0

    @property
    def attributes(self) -> dict[str, int]:
        """CuPy's dictionary of kernel attributes."""
        names = (
            "max_threads_per_block", "shared_size_bytes", "const_size_bytes", "local_size_bytes", "num_regs",
            "ptx_version", "binary_version", "cache_mode_ca", "max_dynamic_shared_size_bytes",
            "preferred_shared_memory_carveout",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names}

    def __repr__(self) -> str:
        return f"<emulated RawKernel {self._expression!r}>"


def check_constructor(
    code: object, options: object, backend: str, translate_cucomplex: bool, jitify: bool
) -> None:
    """Refuse what ``RawKernel(...)`` cannot be made of.

    Raises:
        TypeError: the source is no text, or the options are no tuple.
        UnsupportedError: a setting of CuPy's that is not emulated.
    """
    if not isinstance(code, str):
        raise TypeError(f"code must be a str, not {type(code).__name__}")
    if not isinstance(options, tuple):
        raise TypeError(
            f"options must be a tuple of str, not {type(options).__name__}: write ('-std=c++17',)"
        )
    for option in (one for one in options if not isinstance(one, str)):
        raise TypeError(f"options must be a tuple of str; {option!r} is of type {type(option).__name__}")
    unsupported = {
        "translate_cucomplex=True": translate_cucomplex,
        "jitify=True": jitify,
        f"backend={backend!r}": backend != "nvrtc",
    }
    for setting, wanted in unsupported.items():
        if wanted:
            raise UnsupportedError(f"{setting} is not emulated; leave it out")


def _not_found(name: str, compiled: Compiled) -> str:
    there = ", ".join(compiled.entries) or "no kernel at all"
    text = f"kernel {name!r} is not in the compiled source; it has: {there}."
    if any(name in entry for entry in compiled.entries):
        advice = f'put extern "C" before __global__, or use RawModule(name_expressions=[{name!r}])'
        return f"{text} C++ changed the name: {advice}."
    if "__global__" in compiled.source and "template" in compiled.source:
        advice = "RawModule(code=..., name_expressions=['name<float>'])"
        return f"{text} A template is compiled only when asked for: {advice}."
    return text + ' A kernel is written extern "C" __global__ void name(...).'
