"""Kernel arguments -> the bytes and arrays a launch gets, exactly as CuPy passes them.

An array passes its pointer (strides, dtype and shape do not travel). A scalar passes its
own bytes, and the kernel reads as many as its parameter has: a Python int is an int64, a
Python float a double, a bool one byte. Nothing is converted. Where that cannot be what
the author meant, an ArgumentWarning says so.
"""

import re
import sys
import warnings
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from .ctype import ElementType, element_type, of_ptx
from .errors import ArgumentError, ArgumentWarning
from .signature import SourceParameter

_POINTER_BYTES = 8
_CELL = re.compile(r"[\\/]ipykernel_\d+[\\/]")  # folder in which a kernel compiles cells
Signature = Sequence[SourceParameter] | None


class PtxParameter(Protocol):
    """What the PTX says of a parameter; size in bytes."""

    ptx_type: str
    size: int


class _Slot:
    """One parameter: PTX facts, source facts where they fit, and how messages name it."""

    def __init__(self, index: int, ptx: PtxParameter, source: SourceParameter | None, kernel: str) -> None:
        self.size = ptx.size
        if source is not None and not _agrees(source, ptx.size):
            source = None
        self.known = source is not None
        self.pointer = source.pointer if source else None
        self.const = source.const if source else True
        self.ctype = source.ctype if source else of_ptx(ptx.ptx_type, ptx.size)
        self.element = element_type(source.base if source else self.ctype)
        if self.ctype.count("*") > 1:  # an array of addresses
            self.element = element_type("size_t")
        if source and not source.pointer and self.element is None:  # a typedef: the PTX knows its kind
            self.element = element_type(of_ptx(ptx.ptx_type, ptx.size))
        self.name = f"{self.ctype} {source.name}".strip() if source else f"{index + 1} ({self.ctype})"
        self.label = f"{kernel}: parameter {self.name}"

    def warn(self, text: str) -> None:
        warn_author(f"{self.label}: {text}")

    def error(self, text: str) -> ArgumentError:
        return ArgumentError(f"{self.label}: {text}")


def _agrees(source: SourceParameter, size: int) -> bool:
    """False where macros or overloads made the text lie about the size."""
    if source.pointer:
        return size == _POINTER_BYTES
    element = element_type(source.base)
    return element is None or element.size == size


def warn_author(text: str, category: type[Warning] = ArgumentWarning) -> None:
    """A warning at the line outside this package that led here.

    A cell of a notebook has no name but a temporary file that differs from run to run: it is "this cell".
    """
    frame = sys._getframe()
    package = __name__.partition(".")[0] + "."
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(package):
        frame = frame.f_back
    name = frame.f_code.co_filename
    place = "this cell" if _CELL.search(name) else name
    known = frame.f_globals.setdefault("__warningregistry__", {})
    module = frame.f_globals.get("__name__")
    warnings.warn_explicit(text, category, place, frame.f_lineno, module, known)


def pack(
    args: Sequence[Any], parameters: Sequence[PtxParameter], signature: Signature, kernel_name: str
) -> list[bytes | np.ndarray]:
    """One entry per parameter: bytes of the parameter's size, or the array a pointer points to.

    ``parameters`` come from the PTX, ``signature`` from the source (None: unknown). Raises
    ArgumentError for a wrong count or an object that cannot be passed; warns with ArgumentWarning.
    """
    if not isinstance(args, (tuple, list)):
        kind = type(args).__name__
        raise ArgumentError(f"{kernel_name}: args must be a tuple, not {kind}; for one argument write (x,)")
    if signature is None or len(signature) != len(parameters):
        signature = [None] * len(parameters)
    pairs = zip(parameters, signature, strict=True)
    slots = [_Slot(index, ptx, source, kernel_name) for index, (ptx, source) in enumerate(pairs)]
    if len(args) != len(slots):
        expected = ", ".join(slot.name if slot.known else slot.ctype for slot in slots)
        takes = f"{kernel_name} takes {len(slots)} argument{'s' * (len(slots) != 1)} ({expected})"
        raise ArgumentError(f"{takes}, but {len(args)} {'was' if len(args) == 1 else 'were'} given")
    return [_pack_one(value, slot) for value, slot in zip(args, slots, strict=True)]


def _pack_one(value: Any, slot: _Slot) -> bytes | np.ndarray:
    if isinstance(value, np.ndarray):
        return _array(value, slot)
    if hasattr(value, "__cuda_array_interface__"):
        raise slot.error("this array lives on a GPU; an emulated kernel takes NumPy arrays: cp.asnumpy(x)")
    if value is None:
        return _null(slot)
    if slot.pointer:
        return _address(value, slot)
    return _scalar(value, slot)


def _null(slot: _Slot) -> bytes:
    """CuPy makes None a null pointer."""
    if slot.pointer is False or slot.size != _POINTER_BYTES:
        raise slot.error("got None, but is passed by value")
    slot.warn("got None, which is passed as a null pointer; reading or writing through it is an error")
    return bytes(_POINTER_BYTES)


def _address(value: Any, slot: _Slot) -> bytes:
    """A pointer parameter that was not given an array."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value == 0:
        return bytes(_POINTER_BYTES)
    element = slot.element
    dtype, besides = (f", dtype=cp.{element.name}" if element else ""), ""
    if element and element.other:
        dtype, besides = f", dtype=ml_dtypes.{element.other}", f", or its bits as cp.{element.name}"
    advice = f"pass an array, such as cp.full(1, {_shown(value)}{dtype}){besides}"
    raise slot.error(f"is a pointer, but got {_described(value)}; {advice}")


def _array(array: np.ndarray, slot: _Slot) -> bytes | np.ndarray:
    if array.dtype.hasobject:
        raise slot.error("got an array of Python objects")
    if not array.dtype.isnative:
        native = array.dtype.newbyteorder("=")
        raise slot.error(
            f"got dtype {_named(array.dtype)}, of foreign byte order; pass x.astype({_named(native)})"
        )
    if slot.pointer is False or (slot.pointer is None and slot.size != _POINTER_BYTES):
        return _array_by_value(array, slot)
    if not slot.const and not array.flags.writeable:
        raise slot.error("got a read-only array, but the kernel may write through it; pass x.copy()")
    _warn_element(array.dtype, slot)
    if not array.flags.c_contiguous:
        slot.warn(
            f"got an array that is not C-contiguous (shape {array.shape}, strides {array.strides}). "
            "The kernel gets a bare pointer and sees the memory as it lies; pass cp.ascontiguousarray(x)"
        )
    return array


def _named(dtype: np.dtype) -> str:
    """As ``astype`` takes it; a structure by its fields."""
    return repr(dtype.str) if dtype.fields is None else str(dtype)


def _array_by_value(array: np.ndarray, slot: _Slot) -> bytes:
    """CuPy passes a one-element NumPy array by value; it is the way to pass a struct."""
    given = f"an array of shape {array.shape}, dtype {array.dtype}"
    name = slot.element.name if slot.element and slot.element.lanes == 1 else None
    if array.size != 1 or array.dtype.itemsize != slot.size:
        advice = f"write cp.{name}(n)" if name else f"pass a structured NumPy scalar of {slot.size} bytes"
        raise slot.error(f"is passed by value, but got {given}; {advice}")
    if array.dtype.kind != "V":
        advice = f"; write cp.{name}(x)" if name else ""
        slot.warn(f"is passed by value, but got {given}: a CuPy array would pass its pointer{advice}")
    return array.tobytes()


def _warn_element(dtype: np.dtype, slot: _Slot) -> None:
    wanted = slot.element
    if not slot.pointer or wanted is None or wanted.matches(dtype):
        return
    if wanted.other:
        slot.warn(
            f"got an array of dtype {dtype}, whose bytes the kernel reads as {slot.ctype[:-1]}; "
            f"pass x.astype(ml_dtypes.{wanted.other}), or its bits as cp.{wanted.name}"
        )
        return
    advice = f"pass x.astype(cp.{wanted.name})"
    if wanted.lanes == 1 and dtype.itemsize == wanted.dtype.itemsize and dtype.kind != "V":
        advice += f", or x.view(cp.{wanted.name}) if you mean the bits"
    slot.warn(f"got an array of dtype {dtype}, whose bytes the kernel reads as {slot.ctype[:-1]}; {advice}")


def _scalar(value: Any, slot: _Slot) -> bytes:
    """A scalar's own bytes, cut or zero-filled to the parameter's size."""
    scalar = _as_numpy(value, slot)
    raw = scalar.tobytes()
    passed = raw[: slot.size].ljust(slot.size, b"\0")
    element = slot.element
    if element is None or element.lanes > 1 or element.other or isinstance(scalar, np.void):
        if len(raw) != slot.size:
            slot.warn(f"has {slot.size} bytes, but {_described(value)} has {len(raw)}; {_scalar_of(slot)}")
        return passed
    instead = f"write cp.{element.name}({_shown(value)})"
    if len(raw) < slot.size:
        missing = "on a GPU the rest is whatever follows in memory, here zeros"
        slot.warn(f"has {slot.size} bytes, but {_described(value)} only {len(raw)} ({missing}); {instead}")
    elif not _same_value(scalar, passed, element):
        cut = "the bytes" if len(raw) == slot.size else f"the first {slot.size} bytes"
        passed_as = f"passed as {len(raw)}-byte {scalar.dtype}"
        reading = f"the kernel reads {cut} as {element.show(passed)}"
        slot.warn(f"got {_described(value)}, {passed_as}; {reading}; {instead}")
    return passed


def _scalar_of(slot: _Slot) -> str:
    """Advice: a scalar of the parameter's size."""
    element = slot.element
    if element is None or element.lanes > 1:
        return f"pass a structured NumPy scalar of {slot.size} bytes"
    return f"write {'ml_dtypes' if element.other else 'cp'}.{element.other or element.name}(x)"


def _as_numpy(value: Any, slot: _Slot) -> np.generic:
    """The NumPy scalar CuPy makes of ``value``."""
    if isinstance(value, np.generic):
        if value.dtype.kind not in "biufcV" or not value.dtype.isnative or value.dtype.hasobject:
            raise slot.error(f"cannot take {_described(value)}")
        return value
    if isinstance(value, bool):
        return np.bool_(value)
    if isinstance(value, int):
        if not -(2**63) <= value < 2**64:
            raise slot.error(f"{value} does not fit into 64 bits")
        return np.uint64(value) if value >= 2**63 else np.int64(value)
    if isinstance(value, float):
        return np.float64(value)
    if isinstance(value, complex):
        return np.complex128(value)
    raise slot.error(f"cannot take {_described(value)}; pass an array, a number or a NumPy scalar")


def _same_value(scalar: np.generic, passed: bytes, element: ElementType) -> bool:
    """Does the kernel read the value that was given, in a type of that kind?"""
    if not element.same_kind(scalar.dtype):
        return False
    if scalar.dtype.kind in "fc":
        return scalar.dtype.itemsize == element.size
    return any(int(reading) == int(scalar) for reading in element.readings(passed))


def _described(value: Any) -> str:
    kind = type(value).__name__
    if isinstance(value, np.generic):
        return f"{value.dtype} {value}"
    if isinstance(value, (bool, int, float, complex)):
        return f"the Python {kind} {value!r}"
    return f"a {kind}"


def _shown(value: Any) -> str:
    return str(value) if isinstance(value, (bool, int, float, complex, np.generic)) else "x"
