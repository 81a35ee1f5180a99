"""The address space: regions of global memory, and the windows of shared and local memory.

Every region starts 512-byte aligned, as CuPy's allocations do, with unmapped guard
space around it; variables of a module keep their addresses from launch to launch.
Shared and local addresses are offsets; adding a window's base makes them generic
(PTX ISA, "Generic Addressing").
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field, replace

import numpy as np

from .errors import ArgumentError
from .kept import keep, kept

GLOBAL_START = 0x7F00_0000_0000
STATIC_START = 0x7E80_0000_0000
ALIGNMENT = 512
GUARD = 1 << 16
SHARED_WINDOW = 0x7E00_0000_0000
LOCAL_WINDOW = 0x7D00_0000_0000
WINDOW_SIZE = 1 << 32
EARLIER = "an array of an earlier launch"
NOWHERE = (1 << 64, 0)
POISON = 0x7FFF7FFF  # a NaN as f16, bf16, f32 and f64, and a conspicuous integer


@dataclass
class Region:
    """One allocation: bytes `start` .. `end` of the address space over a host buffer.

    `space` is "global", "const" or "param"; all three share the generic address space.
    """

    name: str
    start: int
    buffer: np.ndarray
    writable: bool = True
    space: str = "global"
    views: dict[np.dtype, np.ndarray] = field(default_factory=dict)
    touched: tuple[int, int] = field(default=NOWHERE, init=False)  # lowest byte, and behind the highest
    stored: tuple[int, int] = field(default=NOWHERE, init=False)
    last: tuple[int, int] = field(default=NOWHERE, init=False)  # the bytes of the last access

    @property
    def end(self) -> int:
        """First address behind the region."""
        return self.start + len(self.buffer)

    def touch(self, first: int, end: int) -> None:
        """An access to the bytes `first` to `end`, which are in the region."""
        low, high = self.touched
        self.last = first, end
        if first < low or end > high:
            self.touched = min(first, low), max(end, high)

    def store(self) -> None:
        """The last access is a store."""
        (first, end), (low, high) = self.last, self.stored
        if first < low or end > high:
            self.stored = min(first, low), max(end, high)

    def copied(self) -> Region:
        """The same addresses over a copy of the buffer."""
        return replace(self, buffer=self.buffer.copy(), views={})

    def view(self, dtype: np.dtype) -> np.ndarray:
        """The whole buffer as elements of `dtype` (a ragged tail is left out)."""
        found = self.views.get(dtype)
        if found is None:
            found = self.buffer[: len(self.buffer) // dtype.itemsize * dtype.itemsize].view(dtype)
            self.views[dtype] = found
        return found


class GlobalMemory:
    """All regions of one launch, in ascending address order.

    With `scratch` they are over copies, so that the launch changes nothing outside.
    """

    def __init__(self, scratch: bool = False) -> None:
        self.scratch = scratch
        self.regions: list[Region] = []
        self.starts: list[int] = []
        self._owners: dict[int, Region] = {}
        self._parameters: Region | None = None
        self._next = GLOBAL_START

    def add(self, name: str, buffer: np.ndarray, writable: bool = True, space: str = "global") -> Region:
        """Map a one-dimensional uint8 buffer at the next free aligned address."""
        region = Region(name, self._next, buffer, writable, space)
        self.regions.append(region)
        self.starts.append(region.start)
        self._next = behind(region.end)
        return region

    def add_variables(self, regions: list[Region]) -> None:
        """Map the variables of a module at their own addresses; in ascending order, before any array."""
        self.regions += [one.copied() if self.scratch and one.writable else one for one in regions]
        self.starts += [region.start for region in regions]

    def add_kept(self) -> list[tuple[Region, np.ndarray]]:
        """Map the arrays that keep their addresses, before all others; returns them with their owners."""
        found = []
        for address, owner in kept():
            self._next = address
            found.append((self._add_owner(EARLIER, owner), owner))
        return found

    def add_array(self, name: str, array: np.ndarray) -> int:
        """Map the memory that owns `array` (once) and return the address of its first element."""
        owner = owner_of(array)
        low, high = _bounds(owner)
        region = self._owners.get(low)
        if region is None or len(region.buffer) < high - low:
            region = self._add_owner(name, owner)
        elif region.name == EARLIER:
            region.name = name
        return region.start + array.__array_interface__["data"][0] - low

    def _add_owner(self, name: str, owner: np.ndarray) -> Region:
        content = _bytes_of(owner)
        region = self.add(name, content.copy() if self.scratch else content, owner.flags.writeable)
        self._owners[_bounds(owner)[0]] = region
        return region

    def keep(self, array: np.ndarray) -> None:
        """The memory that owns `array`, which is mapped, keeps its address in later launches."""
        owner = owner_of(array)
        if not self.scratch:
            keep(owner, self._owners[_bounds(owner)[0]].start)

    def parameters(self, values: bytes) -> int:
        """Map the kernel's parameters, for kernels that take the address of one; returns their address."""
        if self._parameters is None:
            buffer = np.frombuffer(values, np.uint8)
            self._parameters = self.add("the kernel's parameters", buffer, False, "param")
        return self._parameters.start

    def is_in(self, space: str, address: np.ndarray | np.generic) -> np.ndarray | np.bool_:
        """Whether addresses lie in "const" or "param" memory, or else ("global") outside every window."""
        inside = np.zeros(np.shape(address), np.bool_)
        others = (
            (r.start, r.end)
            for r in self.regions
            if r.space in (("const", "param") if space == "global" else space)
        )
        for start, end in others:
            inside |= (address >= np.uint64(start)) & (address < np.uint64(end))
        if space == "global":
            for window in (SHARED_WINDOW, LOCAL_WINDOW):
                inside |= address - np.uint64(window) < np.uint64(WINDOW_SIZE)
            inside = ~inside
        return inside[()]

    def region_of(self, owner: np.ndarray) -> Region | None:
        """The region over the memory of an array that owns it, or None if it is not mapped."""
        return self._owners.get(_bounds(owner)[0])

    def find(self, address: int) -> Region | None:
        """The region that holds `address`, or None."""
        index = bisect_right(self.starts, address) - 1
        if index < 0 or address >= self.regions[index].end:
            return None
        return self.regions[index]

    def nearest(self, address: int) -> Region | None:
        """The region whose bounds are closest to `address` (for error messages)."""
        return min(self.regions, key=lambda r: max(r.start - address, address - r.end, 0), default=None)


def behind(end: int) -> int:
    """Where the next region may start after one that ends at `end`."""
    return -(-(end + GUARD) // ALIGNMENT) * ALIGNMENT


def owner_of(array: np.ndarray) -> np.ndarray:
    """The array at the end of the `.base` chain (as_strided hides one behind a dummy object)."""
    while True:
        base = array.base if isinstance(array.base, np.ndarray) else getattr(array.base, "base", None)
        if not isinstance(base, np.ndarray):
            return array
        array = base


def _bounds(owner: np.ndarray) -> tuple[int, int]:
    """First byte of the host's memory, and the one behind the last."""
    return np.lib.array_utils.byte_bounds(owner) if owner.size else (owner.ctypes.data,) * 2


def _bytes_of(owner: np.ndarray) -> np.ndarray:
    """The owner's memory as one-dimensional uint8, without a copy. ArgumentError if it has holes."""
    if not owner.flags.forc:
        raise ArgumentError(
            "an array whose own memory has holes cannot be a kernel argument; pass cp.ascontiguousarray(x)"
        )
    return owner.view(np.ndarray).ravel(order="K").view(np.uint8)


def poisoned(shape: tuple[int, ...]) -> np.ndarray:
    """uint8 array whose every 4-byte word is POISON; the last axis is a multiple of 16."""
    words = np.full((*shape[:-1], shape[-1] // 4), POISON, np.uint32)
    return words.view(np.uint8).reshape(shape)
