"""Kernel arguments -> the bytes and arrays a launch gets, exactly as CuPy passes them.

An array passes its pointer (strides, dtype and shape do not travel). A scalar passes its
own bytes, and the kernel reads as many as its parameter has: a Python int is an int64, a
Python float a double, a bool one byte. Nothing is converted. Where that cannot be what
the author meant, an ArgumentWarning says so.
"""

import warnings
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from .ctype import ElementType, element_type, of_ptx
from .errors import ArgumentError, ArgumentWarning
from .signature import SourceParameter

_POINTER_BYTES = 8
Signature = Sequence[SourceParameter] | None


class PtxParameter(Protocol):
    """What the PTX says of a parameter; size and alignment in bytes."""

    name: str
    ptx_type: str
    size: int
    align: int


class _Slot:
    """One parameter: PTX facts, source facts where known, and how messages name it."""

    def __init__(self, index: int, ptx: PtxParameter, source: SourceParameter | None, kernel: str) -> None:
        self.size = ptx.size
        self.kernel = kernel
        self.ctype = source.ctype if source else of_ptx(ptx.ptx_type, ptx.size)
        self.pointer = source.pointer if source else None
        self.const = source.const if source else True
        self.element = element_type(source.base if source else "") or element_type(
            of_ptx(ptx.ptx_type, ptx.size)
        )
        label = f"{self.ctype} {source.name}".strip() if source else f"number {index + 1}, {self.ctype}"
        self.label = f"{kernel}: parameter {label!r}" if source else f"{kernel}: parameter {label}"
        self.name = source.name if source and source.name else f"number {index + 1}"

    def warn(self, text: str) -> None:
        warnings.warn(f"{self.label}: {text}", ArgumentWarning, stacklevel=5)

    def error(self, text: str) -> ArgumentError:
        return ArgumentError(f"{self.label}: {text}")


def pack(
    args: Sequence[Any], parameters: Sequence[PtxParameter], signature: Signature, kernel_name: str
) -> list[bytes | np.ndarray]:
    """One entry per parameter: bytes of the parameter's size, or the array a pointer points to.

    ``parameters`` come from the PTX, ``signature`` from the source (None: unknown). Raises
    ArgumentError for a wrong count or an object that cannot be passed; warns with ArgumentWarning.
    """
    if isinstance(args, np.ndarray) or not isinstance(args, (tuple, list)):
        raise ArgumentError(
            f"{kernel_name}: args must be a tuple, not {type(args).__name__}; for one argument write (x,)"
        )
    if signature is not None and len(signature) != len(parameters):
        signature = None
    sources = signature or [None] * len(parameters)
    slots = [_Slot(i, p, s, kernel_name) for i, (p, s) in enumerate(zip(parameters, sources, strict=True))]
    if len(args) != len(parameters):
        expected = ", ".join(f"{slot.ctype} {slot.name}" if signature else slot.ctype for slot in slots)
        raise ArgumentError(
            f"{kernel_name} takes {len(parameters)} arguments ({expected}), but {len(args)} were given"
        )
    return [_pack_one(value, slot) for value, slot in zip(args, slots, strict=True)]


def _pack_one(value: Any, slot: _Slot) -> bytes | np.ndarray:
    if isinstance(value, np.ndarray):
        return _array(value, slot)
    if hasattr(value, "__cuda_array_interface__"):
        raise slot.error(
            "this array lives on a GPU; an emulated kernel takes NumPy arrays: pass cp.asnumpy(x)"
        )
    if value is None:
        return _null(slot)
    if slot.pointer:
        return _address(value, slot)
    return _scalar(value, slot)


def _null(slot: _Slot) -> bytes:
    if slot.pointer is False or slot.size != _POINTER_BYTES:
        raise slot.error("got None")
    slot.warn("got None, which is passed as a null pointer; using it is an error")
    return bytes(_POINTER_BYTES)


def _address(value: Any, slot: _Slot) -> bytes:
    """A pointer parameter that was not given an array."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value == 0:
        return bytes(_POINTER_BYTES)
    written = f"cp.asarray({_shown(value)}, dtype=cp.{slot.element.name})" if slot.element else "an array"
    raise slot.error(f"is a pointer and needs an array, but got {_described(value)}; pass {written}")


def _array(array: np.ndarray, slot: _Slot) -> bytes | np.ndarray:
    if array.dtype.hasobject:
        raise slot.error("got an array of Python objects")
    if not array.dtype.isnative:
        raise slot.error(
            f"got an array of dtype {array.dtype} in foreign byte order; pass x.astype({array.dtype.newbyteorder('=')})"
        )
    if slot.pointer is False or (slot.pointer is None and slot.size != _POINTER_BYTES):
        return _array_by_value(array, slot)
    if slot.pointer and not slot.const and not array.flags.writeable:
        raise slot.error(
            "got a read-only array, but the kernel may write through this pointer; pass x.copy()"
        )
    _warn_element(array.dtype, slot)
    if not array.flags.c_contiguous:
        slot.warn(
            f"got an array that is not C-contiguous (shape {array.shape}, strides {array.strides} bytes). The kernel gets a "
            "bare pointer and sees memory order; pass cp.ascontiguousarray(x)"
        )
    return array


def _array_by_value(array: np.ndarray, slot: _Slot) -> bytes:
    """CuPy passes a one-element NumPy array by value; it is the way to pass a struct."""
    if array.size != 1 or array.dtype.itemsize != slot.size:
        advice = (
            f"cp.{slot.element.name}(n)"
            if slot.element and not slot.element.lanes > 1
            else "a structured scalar"
        )
        raise slot.error(
            f"is passed by value, but got an array of shape {array.shape}, dtype {array.dtype}; write {advice}"
        )
    if array.dtype.kind != "V":
        slot.warn(
            f"got an array of one {array.dtype}; a CuPy array would pass its pointer here. Write cp.{array.dtype}(x)"
        )
    return array.tobytes()


def _warn_element(dtype: np.dtype, slot: _Slot) -> None:
    wanted = slot.element if slot.pointer else None
    if wanted is None or wanted.matches(dtype):
        return
    advice = f"pass x.astype(cp.{wanted.name})"
    if wanted.lanes == 1 and dtype.itemsize == wanted.dtype.itemsize and dtype.kind != "V":
        advice += f", or x.view(cp.{wanted.name}) if you mean the bits"
    slot.warn(
        f"got an array of dtype {dtype}. The kernel reads its bytes as {slot.ctype.rstrip('*')}; {advice}"
    )


def _scalar(value: Any, slot: _Slot) -> bytes:
    """A scalar's own bytes, cut or zero-filled to the parameter's size."""
    scalar = _as_numpy(value, slot)
    raw = scalar.tobytes()
    passed = raw[: slot.size].ljust(slot.size, b"\0")
    element = slot.element
    if isinstance(scalar, np.void) or element is None or element.lanes > 1:
        if len(raw) != slot.size:
            slot.warn(f"has {slot.size} bytes, but got {_described(value)} with {len(raw)} bytes")
        return passed
    if len(raw) < slot.size:
        slot.warn(
            f"has {slot.size} bytes, but {_described(value)} has only {len(raw)}: a GPU reads what happens to follow "
            f"(here: zeros). Write cp.{element.name}({_shown(value)})"
        )
    elif not _same_value(scalar, passed, element):
        slot.warn(
            f"got {_described(value)}, passed as {scalar.dtype} ({len(raw)} bytes). The kernel reads "
            f"{_cut(raw, slot.size)} as {element.show(passed)}; write cp.{element.name}({_shown(value)})"
        )
    return passed


def _as_numpy(value: Any, slot: _Slot) -> np.generic:
    """The NumPy scalar CuPy makes of ``value``."""
    if isinstance(value, np.generic):
        if value.dtype.kind not in "biufcV":
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
    if scalar.dtype.itemsize == element.dtype.itemsize and scalar.dtype.kind == element.dtype.kind:
        return True  # the very bytes, NaN included
    return any(int(v) == int(scalar) for v in element.readings(passed))


def _cut(raw: bytes, size: int) -> str:
    return "them" if len(raw) == size else f"the first {size}"


def _described(value: Any) -> str:
    kind = type(value).__name__
    if isinstance(value, (bool, int, float, complex, str)):
        return f"the Python {kind} {value!r}"
    if isinstance(value, np.generic):
        return f"{value.dtype} {value}"
    return f"a {kind}"


def _shown(value: Any) -> str:
    return str(value) if isinstance(value, (bool, int, float, complex, np.generic)) else "x"
