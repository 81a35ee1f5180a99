"""`cp.RawKernel` and `cp.RawModule` on the emulator: the emulator's own classes, for stand-in arrays only."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import emulator
from .arrays import UNSUPPORTED, host, ndarray
from .cuda import Stream


class RawKernel(emulator.RawKernel):
    """A kernel from CUDA C++ source, called as CuPy's."""

    def __call__(
        self, grid: tuple, block: tuple, args: Sequence[Any], *, shared_mem=0, stream: Stream | None = None
    ) -> None:
        """Run `grid` x `block` threads; `shared_mem` in bytes.

        Raises:
            TypeError: an argument is a NumPy array of several elements, which CuPy refuses too.
        """
        super().__call__(grid, block, _arguments(args), shared_mem=shared_mem, stream=stream)


class RawModule(emulator.RawModule):
    """Several kernels from one source, as CuPy's."""

    def get_function(self, name: str) -> RawKernel:
        """The kernel called `name`: a plain `extern "C"` name or one of the name expressions."""
        kernel = super().get_function(name)
        kernel.__class__ = RawKernel
        return kernel


def _arguments(args: Sequence[Any]) -> Sequence[Any]:
    """The arguments with stand-in arrays as the NumPy arrays behind them; what is no sequence, unchanged."""
    return [_argument(a) for a in args] if isinstance(args, tuple | list) else args


def _argument(value: Any) -> Any:
    """One argument. As in CuPy, a NumPy array of one element is passed by value."""
    if not isinstance(value, np.ndarray) or isinstance(value, ndarray):
        return host(value)
    if value.size != 1:
        raise TypeError(f"{UNSUPPORTED} (a kernel takes NumPy arrays of one element only, by value)")
    return value.reshape(())[()]
