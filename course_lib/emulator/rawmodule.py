"""RawModule: several kernels from one source; CuPy's class, with the emulator behind it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .compile import Compiled
from .errors import EmulatorError, UnsupportedError
from .rawkernel import RawKernel, check_constructor, compile_like_cupy, load_program, module_variables


class RawModule:
    """Several kernels from one source; ``cupy.RawModule`` on the emulator."""

    def __init__(
        self,
        *,
        code: str | None = None,
        path: str | None = None,
        options: tuple[str, ...] = (),
        backend: str = "nvrtc",
        translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False,
        name_expressions: Sequence[str] | None = None,
        jitify: bool = False,
    ) -> None:
        if (code is None) == (path is None):
            raise TypeError("Exactly one of `code` and `path` keyword arguments must be given.")
        if path is not None:
            raise UnsupportedError(f"RawModule(path={path!r}): only CUDA source is emulated; pass code=")
        check_constructor(code, options, backend, translate_cucomplex, jitify)
        self.code = code
        self.file_path = None
        self.options = options
        self.backend = backend
        self.translate_cucomplex = translate_cucomplex
        self.enable_cooperative_groups = enable_cooperative_groups
        self.jitify = jitify
        self.name_expressions = tuple(name_expressions) if name_expressions is not None else None

    def compile(self, log_stream: Any = None) -> None:
        """Compile now; the compiler's warnings are written to ``log_stream``."""
        log = self.module.log
        if log_stream is not None and log:
            log_stream.write(log + "\n")

    @property
    def module(self) -> Compiled:
        """PTX, cubin and name table of the whole source."""
        return compile_like_cupy(self.code, self.options, self.name_expressions or ())

    def get_function(self, name: str) -> RawKernel:
        """The kernel called ``name``: a plain ``extern "C"`` name or one of the name expressions."""
        lowered = self.module.lowered.get(name, name)
        kernel = RawKernel(
            self.code, lowered, self.options, enable_cooperative_groups=self.enable_cooperative_groups
        )
        kernel.name_expressions = self.name_expressions
        kernel._expression = name
        return kernel.kernel

    def get_global(self, name: str) -> np.ndarray:
        """Bytes of a ``__device__`` or ``__constant__`` variable, shared with the kernels (uint8 array).

        ``cp.ndarray(shape, dtype, memptr)`` makes a typed array of it, as in CuPy.
        """
        compiled = self.module
        for entry in compiled.entries[:1]:
            load_program(compiled.ptx, entry)
        variables = module_variables(compiled.ptx)
        wanted = compiled.lowered.get(name, name)
        if wanted not in variables:
            raise EmulatorError(f"no variable {name!r} in the module; it has {sorted(variables) or 'none'}")
        return variables[wanted]
