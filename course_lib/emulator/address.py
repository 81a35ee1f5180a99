"""Addresses as registers hold them: a lane array plus a uniform offset.

Kernels walk through memory by adding the same number to every lane's address. Kept
apart, that number costs nothing to add, and everything learnt about the lane array
(its span, its alignment, the element indices, the sectors it touches) stays valid.
"""

from __future__ import annotations

import numpy as np


class AddressBase:
    """A lane array of byte addresses and what is known of it (all computed when first asked for)."""

    __slots__ = ("_bits", "_indices", "_low", "_relative", "_span", "array", "notes")

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self._low: int | None = None
        self._indices: dict[int, np.ndarray] = {}
        self.notes: dict = {}

    def _analyse(self) -> None:
        # signed: where the array's start is kept apart as offset, an index below 0 is the lowest address
        signed = self.array.view(f"i{self.array.dtype.itemsize}")
        low = signed.min()
        self._relative = signed - low
        self._span = int(self._relative.max())
        self._bits = int(np.bitwise_or.reduce(self._relative, axis=None))
        self._low = int(low)

    @property
    def low(self) -> int:
        """Smallest address."""
        if self._low is None:
            self._analyse()
        return self._low  # type: ignore[return-value]

    @property
    def span(self) -> int:
        """Largest address minus smallest."""
        if self._low is None:
            self._analyse()
        return self._span

    @property
    def bits(self) -> int:
        """OR of all addresses relative to `low`: its low bits tell the common alignment."""
        if self._low is None:
            self._analyse()
        return self._bits

    def indices(self, shift: int) -> np.ndarray:
        """Element indices relative to `low` for elements of 2**shift bytes."""
        found = self._indices.get(shift)
        if found is None:
            if self._low is None:
                self._analyse()
            found = (self._relative >> shift).astype(np.intp, copy=False)
            self._indices[shift] = found
        return found


class Address:
    """`base.array + offset`, wrapping at the register's width."""

    __slots__ = ("base", "offset")

    def __init__(self, base: AddressBase, offset: int) -> None:
        self.base = base
        self.offset = offset

    def lanes(self) -> np.ndarray:
        """The plain array of addresses."""
        array = self.base.array
        if self.offset == 0:
            return array
        kind = array.dtype.type
        return array + kind(self.offset & np.iinfo(kind).max)


Value = np.ndarray | np.generic | Address
"""What a register holds: an array that broadcasts to the lanes' shape, one scalar for all, or an Address."""

Plain = np.ndarray | np.generic
"""A Value that is no Address."""


def lanes(value: Value) -> Plain:
    """A register's plain value: an Address becomes its array, all else stays."""
    return value.lanes() if type(value) is Address else value


def address(value: Value) -> Value:
    """A register about to be used as an address: arrays become an Address, scalars stay."""
    return Address(AddressBase(value), 0) if type(value) is np.ndarray and value.ndim else value


def add_address(left: Value, right: Value) -> Value:
    """left + right of one width, kept as base and offset where one side is uniform."""
    if type(right) is Address or (type(left) is not Address and np.ndim(left) == 0):
        left, right = right, left
    if type(left) is Address:
        if type(right) is not Address and np.ndim(right) == 0:
            return Address(left.base, left.offset + _signed(right))
        left = left.lanes()
    if type(right) is Address:
        right = right.lanes()
    if np.ndim(left) and np.ndim(right) == 0:
        return Address(AddressBase(left), _signed(right))
    total = np.add(left, right)
    return Address(AddressBase(total), 0) if total.ndim else total


def _signed(value: np.generic) -> int:
    bits = value.dtype.itemsize * 8
    number = int(value)
    return number - (1 << bits) if number >> (bits - 1) else number
