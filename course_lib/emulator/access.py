"""Loads, stores and atomics of a fragment's lanes: from register values to NumPy indexing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .address import Address, Plain, Value
from .atomics import serialise
from .faults import ScatteredError, fault, refuse_store
from .memory import LOCAL_WINDOW, SHARED_WINDOW, WINDOW_SIZE, Region
from .request import Request
from .scatter import atomic_parts, load_parts, store_parts

if TYPE_CHECKING:
    from .chunk import Chunk
    from .lanes import LaneSet

_WRAP = 1 << 64
_WINDOWS = (("shared", SHARED_WINDOW), ("local", LOCAL_WINDOW))
_UNCOUNTED = ("const", "param")


class Place(NamedTuple):
    """Where an access goes: `view[first + indices]`, with the state space and the address within it."""

    space: str
    address: Value
    view: np.ndarray
    first: int
    indices: np.ndarray | int
    region: Region | None


class MemoryAccess:
    """The part of a Fragment that touches memory."""

    __slots__ = ()
    chunk: Chunk
    lanes: LaneSet
    row_offsets: dict

    # -- locating -------------------------------------------------------------

    def _global(
        self, address: Value, offset: int, dtype: np.dtype, count: int, site: int
    ) -> tuple[Region, int, np.ndarray | int]:
        """(region, first element, element indices) of a checked global access."""
        size, shift = dtype.itemsize * count, dtype.itemsize.bit_length() - 1
        if type(address) is Address:
            base = address.base
            first, span, bits = (base.low + address.offset + offset) % _WRAP, base.span, base.bits
        else:
            base, first, span, bits = None, (int(address) + offset) % _WRAP, 0, 0
        region = self.chunk.launch.memory.find(first)
        if region is None or first + span + size > region.end or (bits | first) & (size - 1):
            fault(self, address, offset, size, site, "global")
        region.touch(first, first + span + size)
        return region, (first - region.start) >> shift, 0 if base is None else base.indices(shift)

    def _window(
        self, address: Value, offset: int, dtype: np.dtype, count: int, site: int, local: bool
    ) -> tuple[int, np.ndarray | int]:
        """(first element, element indices over all rows) of a checked shared or local access."""
        size, shift = dtype.itemsize * count, dtype.itemsize.bit_length() - 1
        limit, row = self._extent(local)
        if type(address) is Address:
            base = address.base
            wrap = 1 << (8 * base.array.dtype.itemsize)
            first, span, bits = (base.low + address.offset + offset) % wrap, base.span, base.bits
        else:
            base, span, bits = None, 0, 0
            first = (int(address) + offset) % (1 << (8 * address.dtype.itemsize))
        if first + span + size > limit or (bits | first) & (size - 1):
            fault(self, address, offset, size, site, "local" if local else "shared")
        if local:
            self.chunk.local.touch(first, first + span + size)
        rows = self._rows(row >> shift, local)
        if base is None:
            return first >> shift, rows
        key = (local, shift, row)
        known = base.notes.get(key)
        if known is None or known[0] is not self.lanes:
            known = base.notes[key] = (self.lanes, base.indices(shift) + rows)
        return first >> shift, known[1]

    def _extent(self, local: bool) -> tuple[int, int]:
        """(bytes that may be accessed, bytes of a row) of local or shared memory."""
        chunk = self.chunk
        return (chunk.local_size, chunk.local.row) if local else (chunk.shared_size, chunk.shared_row)

    def _rows(self, stride: int, per_lane: bool) -> np.ndarray | int:
        """Start of each lane's block (or, for local memory, lane) in units of which a row has `stride`."""
        key = (stride, per_lane)
        found = self.row_offsets.get(key)
        if found is None:
            chunk = self.chunk
            if per_lane:
                ids = self.lanes.ids - chunk.first_block * chunk.geometry.threads
                found = (ids * stride).reshape(self.lanes.shape)
            elif chunk.blocks == 1:
                found = 0
            else:
                rows = (self.lanes.blocks - chunk.first_block) * stride
                found = rows[:, None] if self.lanes.product else rows
            self.row_offsets[key] = found
        return found

    def _locate(
        self, space: str, address: Value, offset: int, dtype: np.dtype, count: int, site: int
    ) -> Place:
        """Raises MemoryAccessError, or ScatteredError where the lanes need different memories."""
        if space == "generic":
            space, address = resolve(address)
        if space in ("shared", "local"):
            first, indices = self._window(address, offset, dtype, count, site, space == "local")
            memory = self.chunk.local.memory if space == "local" else self.chunk.shared_memory
            return Place(space, address, memory.view(dtype), first, indices, None)
        region, first, indices = self._global(address, offset, dtype, count, site)
        return Place(space, address, region.view(dtype), first, indices, region)

    # -- reading and writing --------------------------------------------------

    def load(self, space: str, address: Value, offset: int, dtype: np.dtype, count: int, site: int,
             observe: bool = True) -> Plain | list[Plain]:  # fmt: skip
        """`count` neighbouring elements per lane: one value, or a list for vector loads."""
        try:
            place = self._locate(space, address, offset, dtype, count, site)
        except ScatteredError:
            return load_parts(self, space, address, offset, dtype, count, site)
        observer = self.chunk.observer
        if observe and observer is not None and place.space not in _UNCOUNTED:
            width = dtype.itemsize * count
            observer.access(
                self, Request(place.space, place.address, offset, width, site, False, None, place.region)
            )
        view, first, indices = place.view, place.first, place.indices
        if type(indices) is int:
            values = [view[first + indices + k] for k in range(count)]
        else:
            values = [view[first + k :].take(indices) for k in range(count)]
        return values[0] if count == 1 else values

    def store(
        self, space: str, address: Value, offset: int, values: list[Plain], dtype: np.dtype, site: int
    ) -> None:
        """Write one or several neighbouring elements per lane; of equal places the highest lane wins."""
        try:
            place = self._locate(space, address, offset, dtype, len(values), site)
        except ScatteredError:
            store_parts(self, space, address, offset, values, dtype, site)
            return
        region, view, first, indices = place.region, place.view, place.first, place.indices
        if region is not None and not region.writable:
            refuse_store(self, address, offset, region.name, site)
        if region is not None:
            region.store()
        if self.chunk.observer is not None:
            width = dtype.itemsize * len(values)
            self.chunk.observer.access(
                self, Request(place.space, place.address, offset, width, site, True, values, region)
            )
        for k, value in enumerate(values):
            if type(indices) is int and np.ndim(value) == 0:
                view[first + indices + k] = value
            else:
                shape = np.broadcast_shapes(np.shape(indices), np.shape(value))
                view[first + k :][np.broadcast_to(indices, shape)] = value

    def atomic(self, space: str, address: Value, offset: int, function: Callable, operands: list[Plain],
               dtype: np.dtype, site: int, wanted: bool = True) -> np.ndarray:  # fmt: skip
        """Read-modify-write, lane after lane where lanes share a word; returns the old values if `wanted`."""
        try:
            place = self._locate(space, address, offset, dtype, 1, site)
        except ScatteredError:
            return atomic_parts(self, space, address, offset, function, operands, dtype, site)
        region = place.region
        if region is not None and not region.writable:
            refuse_store(self, address, offset, region.name, site)
        if region is not None:
            region.store()
        if self.chunk.observer is not None:
            space, width = "atomic " + place.space, dtype.itemsize
            self.chunk.observer.access(
                self, Request(space, place.address, offset, width, site, True, None, region)
            )
        places = np.broadcast_to(place.indices, self.lanes.shape).ravel() + place.first
        values = [np.broadcast_to(value, self.lanes.shape).ravel() for value in operands]
        return serialise(place.view, places, function, values).reshape(self.lanes.shape)


def resolve(address: Value) -> tuple[str, Value]:
    """State space of generic addresses and the addresses within it. Raises ScatteredError."""
    if type(address) is Address:
        low = (address.base.low + address.offset) % _WRAP
        high = low + address.base.span
    else:
        low = high = int(address)
    for space, window in _WINDOWS:
        if window <= low and high < window + WINDOW_SIZE:
            if type(address) is Address:
                return space, Address(address.base, address.offset - window)
            return space, address - np.uint64(window)
    if low < SHARED_WINDOW + WINDOW_SIZE and high >= LOCAL_WINDOW and low != high:
        raise ScatteredError
    return "global", address
