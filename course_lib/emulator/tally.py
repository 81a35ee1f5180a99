"""Counting while a kernel runs: executions per basic block, memory traffic per instruction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from .address import Address, Value
from .counters import count_global, count_shared
from .l1 import SampledL1, bypasses_l1, load_wavefronts, pairs
from .lanes import WARP

if TYPE_CHECKING:
    from .fragment import Fragment
    from .request import Request
    from .trace import Trace

SECTOR = 32
Counts = tuple[tuple[str, int], ...]


@dataclass
class SiteTally:
    """Sums of one memory instruction; `wavefronts` are shared memory's, `l1_wavefronts` global loads'."""

    space: str
    store: bool
    requests: int = 0
    sectors: int = 0
    sectors_ideal: int = 0
    tags: int = 0
    l1_wavefronts: int = 0
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
    l1: SampledL1 | None = None
    trace: Trace | None = None  # of one warp, where somebody wants it
    in_flight: int = 0  # most bytes of a block's asynchronous copies while it loads from shared memory

    def __post_init__(self) -> None:
        self.warps = [0] * self.block_count
        self.lanes = [0] * self.block_count
        self.divergent = [0] * self.block_count

    def block(self, pc: int, fragment: Fragment) -> None:
        """A basic block was executed once by the fragment's warps."""
        self.warps[pc] += fragment.lanes.warp_count
        self.lanes[pc] += fragment.lanes.count
        if self.trace is not None:
            self.trace.note(pc, fragment.lanes)

    def diverged(self, pc: int, fragment: Fragment, taken: np.ndarray) -> None:
        """Lanes disagreed at the branch that ends block `pc`."""
        rows = fragment.lanes.to_warps(taken)
        active = fragment.lanes.active if not fragment.lanes.whole_warps else True
        self.divergent[pc] += int(((rows & active).any(1) & (~rows & active).any(1)).sum())

    def access(self, fragment: Fragment, request: Request) -> None:
        """One memory instruction was executed by the fragment's lanes."""
        space, address, offset, width, site, store, _, _ = request
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

    def _counted(
        self, fragment: Fragment, space: str, address: Value, offset: int, width: int, store: bool
    ) -> Counts:
        if type(address) is not Address:
            return _count(
                fragment, np.asarray(address + address.dtype.type(offset & 0x7F)), space, width, store, {}
            )
        base = address.base
        moved = (address.offset + offset) & 127
        key = ("count", fragment.lanes, moved, space, width, store)
        found = base.notes.get(key)
        if found is None:
            array = base.array if moved == 0 else base.array + base.array.dtype.type(moved)
            found = base.notes[key] = _count(fragment, array, space, width, store, base.notes, moved & 3)
        return found

    def touch(self, fragment: Fragment, request: Request) -> None:
        """Note which sectors of a region were read or written at all, and what L1 would miss."""
        _, address, offset, _, site, store, _, region = request
        if not store:
            self.l1 = self.l1 or SampledL1(fragment.lanes.geometry.blocks)
            self.l1.load(fragment.lanes, address, offset, region, site)
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

    def touched_pairs_bytes(self) -> int:
        """As `touched_bytes` of loads, if both sectors of an aligned pair are fetched when one is read."""
        found = [marks for (store, _), marks in self.touched.items() if not store and len(marks)]
        return 2 * SECTOR * sum(int(np.logical_or.reduceat(m, range(0, len(m), 2)).sum()) for m in found)

    def l2_pairs(self, opcode: Callable[[int], str]) -> int:
        """Pairs of sectors that L2 handles: for stores, atomics, and the loads that an L1 cannot serve.

        `opcode` gives the opcode of a site. Loads are estimated (see `SampledL1`), between their distinct
        sectors and those of all their requests. A store takes up its whole line, however little it writes.
        """
        loads, others = 0, 0
        for site, tally in self.sites.items():
            if tally.space != "global" or tally.store:
                others += 2 * tally.tags
            elif bypasses_l1(opcode(site)) or self.l1 is None:
                loads += pairs(tally.tags, tally.sectors)
            else:
                loads += min(pairs(tally.tags, tally.sectors), self.l1.estimate(site))
        return loads + others


def _count(
    fragment: Fragment,
    addresses: np.ndarray,
    space: str,
    width: int,
    store: bool,
    notes: dict,
    shift: int = 0,
) -> Counts:
    """Counts of one access as (name, number) pairs, over all warps of the fragment.

    `notes` keeps what does not change when all addresses move by a multiple of 4 bytes; `shift` is the rest.
    """
    lanes, times = fragment.lanes, 1
    if lanes.product and len(lanes.blocks) > 1 and (addresses.ndim == 0 or addresses.shape[0] == 1):
        lanes, times = lanes.one_block, len(lanes.blocks)
    rows = lanes.to_warps(addresses)
    active = None if lanes.whole_warps else lanes.active
    assert rows.shape[1] == WARP
    if space.endswith("shared"):
        counted = count_shared(rows, active, width, store)
        names = ("requests", "wavefronts", "conflicts", "wavefronts_ideal")
        shared = [(name, getattr(counted, name) * times) for name in names]
        return (*shared, ("ways", counted.ways))
    counted = count_global(rows, active, width)
    names = ("requests", "sectors", "sectors_ideal", "tags")
    pairs = tuple((name, getattr(counted, name) * times) for name in names)
    if store or space != "global":
        return pairs
    key = ("l1 wavefronts", fragment.lanes, width, shift)
    if key not in notes:
        notes[key] = load_wavefronts(rows, active, width, counted) * times
    return (*pairs, ("l1_wavefronts", notes[key]))
