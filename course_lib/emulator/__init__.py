"""A warp-level emulator of CUDA kernels: PTX in, NumPy arrays changed, everything counted."""

from . import errors
from .compile import Compiled, compile_source
from .rawkernel import RawKernel
from .rawmodule import RawModule

__all__ = ["Compiled", "RawKernel", "RawModule", "compile_source", "errors"]
