"""Counting while a kernel runs: executions per basic block, memory traffic per instruction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from .address import Address
from .counters import count_global, count_shared
from .lanes import WARP

if TYPE_CHECKING:
    from .fragment import Fragment
    from .memory import Region

SECTOR = 32


@dataclass
class SiteTally:
    """Sums of one memory instruction. Global memory fills sectors and tags, shared memory wavefronts."""

    space: str
    store: bool
    requests: int = 0
    sectors: int = 0
    sectors_ideal: int = 0
    tags: int = 0
    wavefronts: int = 0
    conflicts: int = 0
    wavefronts_ideal: int = 0
    ways: int = 0
    lanes: int = 0


@dataclass
class Tally:
    """All counts of one launch."""

    block_count: int
    widths: dict[int, int] = field(default_factory=dict)  # accesses that ptxas joined or dropped (merged.py)
    sites: dict[int, SiteTally] = field(default_factory=dict)
    touched: dict[tuple[bool, int], np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.warps = [0] * self.block_count
        self.lanes = [0] * self.block_count
        self.divergent = [0] * self.block_count

    def block(self, pc: int, fragment: Fragment) -> None:
        """A basic block was executed once by the fragment's warps."""
        self.warps[pc] += fragment.lanes.warp_count
        self.lanes[pc] += fragment.lanes.count

    def diverged(self, pc: int, fragment: Fragment, taken: np.ndarray) -> None:
        """Lanes disagreed at the branch that ends block `pc`."""
        rows = fragment.lanes.to_warps(taken)
        active = fragment.lanes.active if not fragment.lanes.whole_warps else True
        self.divergent[pc] += int(((rows & active).any(1) & (~rows & active).any(1)).sum())

    def access(self, fragment: Fragment, space: str, address, offset: int, width: int, site: int, store: bool) -> None:  # noqa: ANN001
        """One memory instruction was executed by the fragment's lanes."""
        if site in self.widths:
            width = self.widths[site]
            if width == 0:
                return
            first = address.base.low + address.offset if type(address) is Address else int(address)
            offset -= (first + offset) % width
        tally = self.sites.get(site)
        if tally is None:
            tally = self.sites[site] = SiteTally(space, store)
        tally.lanes += fragment.lanes.count
        if space.endswith("local"):
            tally.requests += fragment.lanes.warp_count
            return
        counted = self._counted(fragment, space, address, offset, width, store)
        for name, number in counted:
            if name == "ways":
                tally.ways = max(tally.ways, number)
            else:
                setattr(tally, name, getattr(tally, name) + number)

    def _counted(self, fragment: Fragment, space: str, address, offset: int, width: int, store: bool) -> tuple:  # noqa: ANN001
        if type(address) is not Address:
            return _count(fragment, np.asarray(address + address.dtype.type(offset & 0x7F)), space, width, store)
        base = address.base
        moved = (address.offset + offset) & 127
        key = ("count", fragment.lanes, moved, space, width, store)
        found = base.notes.get(key)
        if found is None:
            array = base.array if moved == 0 else base.array + base.array.dtype.type(moved)
            found = base.notes[key] = _count(fragment, array, space, width, store)
        return found

    def touch(self, address, offset: int, region: Region, store: bool) -> None:  # noqa: ANN001
        """Note which sectors of a region were read or written at all."""
        key = (store, region.start)
        marks = self.touched.get(key)
        if marks is None:
            marks = self.touched[key] = np.zeros(-(-len(region.buffer) // SECTOR), np.bool_)
        if type(address) is not Address:
            marks[(int(address) + offset - region.start) // SECTOR] = True
            return
        base = address.base
        first = base.low + address.offset + offset - region.start
        phase = first % SECTOR
        sectors = base.notes.get(("touch", phase))
        if sectors is None:
            flat = ((base.indices(0) + phase) // SECTOR).ravel()
            sectors = base.notes[("touch", phase)] = flat[np.r_[True, flat[1:] != flat[:-1]]]
        marks[first // SECTOR :][sectors] = True

    def touched_bytes(self, store: bool) -> int:
        """Bytes of distinct sectors read (or written) by the launch."""
        return SECTOR * sum(int(marks.sum()) for (kind, _), marks in self.touched.items() if kind == store)


def _count(fragment: Fragment, addresses: np.ndarray, space: str, width: int, store: bool) -> tuple:
    """Counts of one access as (name, number) pairs, over all warps of the fragment."""
    lanes, times = fragment.lanes, 1
    if lanes.product and len(lanes.blocks) > 1 and (addresses.ndim == 0 or addresses.shape[0] == 1):
        lanes, times = lanes.one_block, len(lanes.blocks)
    rows = lanes.to_warps(addresses)
    active = None if lanes.whole_warps else lanes.active
    assert rows.shape[1] == WARP
    if space.endswith("shared"):
        counted = count_shared(rows, active, width, store)
        names = ("requests", "wavefronts", "conflicts", "wavefronts_ideal")
        pairs = [(name, getattr(counted, name) * times) for name in names]
        return (*pairs, ("ways", counted.ways))
    counted = count_global(rows, active, width)
    return tuple((name, getattr(counted, name) * times) for name in ("requests", "sectors", "sectors_ideal", "tags"))
