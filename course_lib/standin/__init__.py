"""The emulator's stand-in for CuPy: the same names, NumPy behind them, kernels run by the emulator.

    from course_lib import cp      # this module where there is no usable GPU, CuPy itself where there is one

It offers what a lesson needs: array functions that mean the same in NumPy, transfers that copy, `RawKernel`,
`RawModule`, and the part of `cp.cuda` that has a meaning without a GPU. A name it lacks raises an
AttributeError that says so; it never guesses. Nothing here measures time.
"""

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from . import cuda, random
from .arrays import MADE, array_work, device, device_call, host, ndarray, poison, supported
from .copies import note_copy_in
from .kernels import RawKernel, RawModule
from .names import CONSTANTS, FUNCTIONS, LINALG, TESTING, Namespace, lacking, lift
from .work import refuse_capture

__all__ = ["RawKernel", "RawModule", "array", "asarray", "asnumpy", "cuda", "empty", "ndarray", "random"]


def array(
    obj: Any,
    dtype: DTypeLike = None,
    copy: bool = True,
    order: str = "K",
    subok: bool = False,
    ndmin: int = 0,
    *,
    blocking: bool = False,
) -> ndarray:
    """Copy a NumPy array, a list, a scalar or a GPU array to the emulated GPU."""
    refuse_capture(MADE)
    new = np.array(_from_host(obj), dtype=dtype, copy=copy or None, order=order, ndmin=ndmin)
    supported(new.dtype)
    moved = device(new)
    if isinstance(obj, ndarray):
        if moved is not obj and not np.may_share_memory(host(new), host(obj)):
            array_work("array", [host(obj)], [new])
    else:
        note_copy_in(new)
    return moved


def asarray(a: Any, dtype: DTypeLike = None, order: str | None = None, *, blocking: bool = False) -> ndarray:
    """Move to the emulated GPU: a host array is copied, as a transfer does; a GPU array stays as it is."""
    return array(a, dtype, copy=not isinstance(a, ndarray), order=order or "K")


asanyarray = asarray


def ascontiguousarray(a: Any, dtype: DTypeLike = None) -> ndarray:
    """The array in C order, copied only where it has to be; a host array is always copied."""
    return array(a, dtype, copy=not isinstance(a, ndarray), order="C")


def asnumpy(
    a: Any, stream: Any = None, order: str = "C", out: np.ndarray | None = None, *, blocking: bool = True
) -> np.ndarray:
    """Copy a GPU array to the host; anything else becomes a NumPy array."""
    if isinstance(a, ndarray):
        return a.get(stream, order, out, blocking)
    return np.asarray(a, order=order)


def empty(shape: int | tuple[int, ...], dtype: DTypeLike = float, order: str = "C") -> ndarray:
    """Uninitialised memory. A GPU leaves what was there before; here it is filled with NaN, or 2147450879."""
    return ndarray(shape, dtype, order=order)


def empty_like(
    prototype: np.ndarray,
    dtype: DTypeLike = None,
    order: str = "K",
    subok: bool | None = None,
    shape: int | tuple[int, ...] | None = None,
) -> ndarray:
    """Uninitialised memory in the shape and dtype of another array."""
    refuse_capture(MADE)
    return poison(device(np.empty_like(host(prototype), dtype=dtype, order=order, shape=shape)))


def get_array_module(*args: Any) -> ModuleType:
    """This module where an argument is a GPU array, else NumPy."""
    import sys

    return sys.modules[__name__] if any(isinstance(a, ndarray) for a in args) else np


def is_available() -> bool:
    """Whether there is a GPU: never, here."""
    return False


def _from_host(value):
    if isinstance(value, tuple | list):
        return [_from_host(v) for v in value]
    return host(value)


def _truth(function, *args, **kwargs):
    """CuPy answers with a 0-d array where NumPy gives a Python bool."""
    return device(np.asarray(device_call(function, *args, **kwargs)))


def _compare(function, *args, **kwargs):
    """A NumPy assertion on arrays of either side, as `cupy.testing` accepts them."""
    return function(*(host(a) for a in args), **kwargs)


linalg = Namespace("cp.linalg", np.linalg, LINALG, device_call)
testing = Namespace("cp.testing", np.testing, TESTING, _compare)


def __getattr__(name: str) -> Any:
    if name in FUNCTIONS and hasattr(np, name):
        return lift(getattr(np, name), _truth if name in ("allclose", "array_equal") else device_call)
    if name in CONSTANTS:
        return getattr(np, name)
    raise lacking(f"cp.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *FUNCTIONS, *CONSTANTS})
