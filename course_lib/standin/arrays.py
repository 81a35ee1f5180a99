"""The stand-in's array: a NumPy array that behaves as one in GPU memory does.

Like CuPy's, it does not mix with NumPy arrays by accident, its reductions and single elements are 0-d
arrays with `.get()`, and fresh memory is not zero. Unlike CuPy's, `numpy.asarray` accepts it.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from ..emulator.undefined import make_undefined
from .copies import copy_in, copy_out, host_read
from .ledger import Operation
from .order import Clock
from .streams import Stream
from .work import refuse_capture, submit

if TYPE_CHECKING:
    from .cuda import Device

MADE = "make arrays before it, or their memory may be given away while the graph uses it"
CAPTURED = "the stand-in captures kernels, fill and assignments, not {}"
UNSUPPORTED = "Unsupported type <class 'numpy.ndarray'>: move it to the GPU with cp.asarray first"


class ndarray(np.ndarray):  # noqa: N801  (CuPy's name)
    """An array of the emulated GPU; the memory itself is the host's."""

    def __new__(cls, shape, dtype=float, memptr=None, strides=None, order="C"):
        """As `cupy.ndarray`: over `memptr`, which `RawModule.get_global` gives, or fresh memory."""
        if memptr is not None:
            return np.frombuffer(memptr, np.dtype(dtype), int(np.prod(shape))).reshape(shape).view(cls)
        refuse_capture(MADE)
        array = super().__new__(cls, shape, supported(dtype), strides=strides, order=order)
        return poison(array)

    def get(
        self,
        stream: Stream | None = None,
        order: str = "C",
        out: np.ndarray | None = None,
        blocking: bool = True,
    ) -> np.ndarray:
        """A copy of the array as a NumPy array. In pinned `out`, not `blocking`, it arrives when you wait.

        Raises:
            TypeError, ValueError: `out` is of another kind, dtype or shape.
            RuntimeError: `out` has gaps, or the stream is capturing.
        """
        if out is not None:
            fitting(self, out, "obtained from")
            if not out.flags.forc:
                raise RuntimeError("`out` cannot be specified when copying to non-contiguous ndarray")
        return copy_out(host(self), stream, order, out, blocking)

    def set(self, arr: np.ndarray, stream: Stream | None = None) -> None:
        """Copy a NumPy array of the same shape and dtype into this one, in a stream or the current one.

        Raises:
            TypeError, ValueError: another kind, dtype or shape.
            RuntimeError: this array has gaps, or the stream is capturing.
        """
        fitting(self, arr, "set to")
        if not self.flags.forc:
            raise RuntimeError("Cannot set to non-contiguous array: set the whole one")
        order = "C" if self.flags.c_contiguous else "F"
        copy_in(host(self), np.asarray(arr, order=order), stream)

    def fill(self, value: Any) -> None:
        """Set every element, in the current stream; a capture takes it up."""

        def run(_: Clock) -> None:
            host(self).fill(host(value))

        submit(Operation("array function", "fill"), "fill", run, writes=[(host(self), "the array")])

    @property
    def data(self) -> Any:
        """CuPy's device pointer, which an emulated array lacks."""
        raise AttributeError("a stand-in array has no .data: an address exists only while a kernel runs")

    @property
    def device(self) -> "Device":
        """The emulated GPU."""
        from .cuda import Device

        return Device(0)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        result = device_call(getattr(ufunc, method), *inputs, **kwargs)
        out = kwargs.get("out", ())
        return out[0] if len(out) == 1 else result

    def __array_function__(self, func, types, args, kwargs):
        return device_call(func, *args, **kwargs)

    def __getitem__(self, key):
        key = host(key) if not isinstance(key, tuple) else tuple(host(k) for k in key)
        found = host(self)[key]
        if isinstance(found, np.ndarray) and found.size and not np.may_share_memory(host(found), host(self)):
            array_work("an index", [host(self)], [found])
        if not isinstance(found, np.ndarray):  # CuPy gives a 0-d view, NumPy a copied scalar
            found = host(self)[(*key, ...) if isinstance(key, tuple) else (key, ...)]
        return found.view(ndarray)

    def __setitem__(self, key, value):
        if isinstance(value, np.ndarray) and not isinstance(value, ndarray) and value.size != 1:
            raise ValueError("non-scalar numpy.ndarray cannot be used to fill: use cp.asarray first")
        key, value = host(key) if not isinstance(key, tuple) else tuple(host(k) for k in key), host(value)
        reads = [(value, "the array")] if isinstance(value, np.ndarray) else []
        writes = [(_written(host(self), key), "the array")]

        def run(_: Clock) -> None:
            host(self)[key] = value

        submit(Operation("array function", "an assignment"), "an assignment", run, reads, writes)

    def __repr__(self):
        return repr(host_read(host(self)))

    def __str__(self):
        return str(host_read(host(self)))

    def __format__(self, spec):
        return format(host_read(host(self))[()], spec) if self.ndim == 0 else super().__format__(spec)


def _wrap_method(name: str) -> Callable:
    """A method of `numpy.ndarray` whose NumPy scalars become 0-d arrays."""
    plain = getattr(np.ndarray, name)

    @wraps(plain)
    def method(self, *args, **kwargs):
        return device_call(plain, self, *args, **kwargs)

    return method


def _read_method(name: str) -> Callable:
    """A method by which the host looks at the array."""
    plain = getattr(np.ndarray, name)

    @wraps(plain)
    def method(self, *args):
        return plain(host_read(host(self)), *args)

    return method


def _work_method(name: str, in_place: bool) -> Callable:
    """A method of `numpy.ndarray` that a GPU does as a kernel; what it gives stays as it is."""
    plain = getattr(np.ndarray, name)

    @wraps(plain)
    def method(self, *args, **kwargs):
        refuse_capture(CAPTURED.format(name))
        found = plain(self, *args, **kwargs)
        if in_place:
            array_work(name, [], [host(self)])
        elif isinstance(found, np.ndarray) and not np.may_share_memory(host(found), host(self)):
            array_work(name, [host(self)], [host(found)])
        return found

    return method


for _name in "argmax argmin argsort choose dot mean nonzero searchsorted std take trace var".split():
    setattr(ndarray, _name, _wrap_method(_name))
for _name in "__bool__ __complex__ __float__ __index__ __int__ item tobytes tolist".split():
    setattr(ndarray, _name, _read_method(_name))
for _name in "partition put sort".split():
    setattr(ndarray, _name, _work_method(_name, in_place=True))
for _name in "astype clip compress conj copy cumprod cumsum diagonal flatten repeat round".split():
    setattr(ndarray, _name, _work_method(_name, in_place=False))


def host(value: Any) -> Any:
    """The same memory as a plain NumPy array; other values as they are."""
    return value.view(np.ndarray) if isinstance(value, ndarray) else value


def device(value: Any) -> Any:
    """The same memory as a stand-in array, NumPy scalars as 0-d arrays; tuples and lists by element."""
    if isinstance(value, ndarray):
        return value
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biufc":
        return np.asarray(value).view(ndarray)
    if isinstance(value, tuple | list):
        parts = [device(v) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def device_call(function: Callable, *args: Any, **kwargs: Any) -> Any:
    """Call a NumPy function on stand-in arrays; its arrays come back as stand-in arrays.

    Raises:
        TypeError: an argument is a NumPy array, which CuPy refuses too.
    """
    args = [_operand(a) for a in args]
    kwargs = {name: _operand(a) for name, a in kwargs.items()}
    out = kwargs.get("out", ())
    given = [a for a in _flat(args) if isinstance(a, np.ndarray)]
    written = [a for a in (out if isinstance(out, tuple) else (out,)) if isinstance(a, np.ndarray)]
    owner = getattr(function, "__self__", None)  # of a ufunc's method
    name = owner.__name__ if isinstance(owner, np.ufunc) else function.__name__
    refuse_capture(CAPTURED.format(name))
    with np.errstate(all="ignore"):  # a GPU divides by zero without a word
        found = function(*args, **kwargs)
    made = [a for a in _flat([found]) if isinstance(a, np.ndarray)]
    fresh = [a for a in made if not any(np.may_share_memory(a, b) for b in given)]
    if written or fresh:
        array_work(name, given, [*written, *fresh])
    return device(found)


def _flat(values: Iterable) -> Iterator:
    """The values, with those of tuples and lists in their place."""
    for value in values:
        if isinstance(value, tuple | list):
            yield from _flat(value)
        else:
            yield value


def array_work(name: str, reads: list[np.ndarray], writes: list[np.ndarray]) -> None:
    """Note what an array function does in the current stream; it has run, or runs next."""
    refuse_capture(CAPTURED.format(name))
    named_reads, named_writes = ([(a, "the array") for a in arrays] for arrays in (reads, writes))
    submit(Operation("array function", name), name, lambda _: None, named_reads, named_writes)


def fitting(array: np.ndarray, other: Any, verb: str) -> None:
    """Refuse what CuPy refuses to copy between the host and a GPU array.

    Raises:
        TypeError: `other` is no NumPy array, or of another dtype.
        ValueError: it has another shape.
    """
    if not isinstance(other, np.ndarray) or isinstance(other, ndarray):
        raise TypeError(f"Only numpy.ndarray can be {verb} cupy.ndarray, not {type(other).__name__}")
    if other.dtype != array.dtype:
        raise TypeError(f"{other.dtype} array cannot be {verb} {array.dtype} array")
    if other.shape != array.shape:
        raise ValueError(f"Shape mismatch: {array.shape} on the GPU, {other.shape} on the host")


def _written(array: np.ndarray, key: Any) -> np.ndarray:
    """The part of the array that an assignment writes; the whole where the key is no slice."""
    found = array[key]
    part = isinstance(found, np.ndarray) and np.may_share_memory(found, array)
    return found if part else array


def _operand(value):
    if isinstance(value, np.ndarray):
        if not isinstance(value, ndarray):
            raise TypeError(UNSUPPORTED)
        return host(value)
    if isinstance(value, tuple | list):
        return type(value)([_operand(v) for v in value]) if not hasattr(value, "_fields") else value
    return value


def poison(array: np.ndarray) -> np.ndarray:
    """Fresh memory: filled with NaN, or a large odd integer, and known as unwritten to whoever profiles."""
    make_undefined(host(array))
    return array


def supported(dtype: DTypeLike) -> np.dtype:
    """The dtype, where a GPU array can have it.

    Raises:
        ValueError: text, objects, dates or records.
    """
    dtype = np.dtype(dtype)
    if dtype.kind not in "biufc" or dtype.itemsize > 16 or dtype.char in "gG":
        raise ValueError(f"Unsupported dtype {dtype}")
    return dtype
