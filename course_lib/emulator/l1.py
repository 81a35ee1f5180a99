"""The L1 cache as the time model needs it: what a load costs in it, and what it still asks of L2.

Both rules come from tables in `data/recorded/h200`. `rate_l1_lines`: loads that hit L1 take as many cycles as
their busiest bank has words, exactly as in shared memory, which is the same memory; besides, four 128-byte
lines are looked up in a cycle. `rate_l2_lines`: L2 delivers two sectors of a line in the time of one. How
many pairs it is asked for is an estimate: an L1 that never evicts, followed for a few blocks of the grid.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from .address import Address
from .counters import GlobalCount, count_shared

if TYPE_CHECKING:
    from .lanes import LaneSet
    from .memory import Region

SAMPLED_BLOCKS = 4
SECTOR, LINE = 32, 128  # bytes
_PAST_L1 = {"cg", "cv", "volatile", "relaxed", "acquire", "mmio"}


def load_wavefronts(addresses: NDArray, active: NDArray | None, width: int, counted: GlobalCount) -> int:
    """Cycles that the data stage of L1 spends on a global load, summed over the warps.

    Arguments as in `counters.count_global`, whose result for them is `counted`. The rule is that of shared
    loads. Moving all addresses by one multiple of 4 bytes changes nothing.
    """
    if width <= 4 and counted.tags == counted.requests:
        return counted.requests  # the words of one line are all in different banks
    return count_shared(addresses, active, width, store=False).wavefronts


def pairs(lines: int, sectors: int) -> int:
    """Pairs that L2 delivers for so many sectors spread evenly over so many lines."""
    return max(lines, -(-sectors // 2))


def bypasses_l1(opcode: str) -> bool:
    """Whether a PTX load goes to L2 even if L1 has the line: `ld.global.cg`, volatile, relaxed, acquire."""
    return not _PAST_L1.isdisjoint(opcode.split("."))


class SampledL1:
    """The pairs of sectors that some blocks ask L2 for, if L1 keeps every sector that a block has loaded.

    Up to `SAMPLED_BLOCKS` blocks, spread evenly over the grid, stand for all. A load asks for each
    sector that its block has not loaded yet, two of a line at a time; warps that run it together ask once.
    """

    def __init__(self, grid_blocks: int) -> None:
        count = min(grid_blocks, SAMPLED_BLOCKS)
        self.share = count / grid_blocks
        self.blocks = (2 * np.arange(count) + 1) * grid_blocks // (2 * count)
        self.pairs: dict[int, int] = {}
        self._loaded: dict[int, tuple[int, np.ndarray]] = {}
        self._slots: WeakKeyDictionary[LaneSet, tuple[np.ndarray, np.ndarray]] = WeakKeyDictionary()

    def load(self, lanes: LaneSet, address: Address | int, offset: int, region: Region, site: int) -> None:
        """One load of the lanes, all from `region`; `site` is its number."""
        row, loaded = self._loaded.get(region.start) or self._start(region)
        if type(address) is Address:
            first = address.base.low + address.offset + offset - region.start
            at = self._pattern(address, lanes, first % SECTOR, row) + first // SECTOR
        else:
            at = np.unique(self._chosen(lanes)[1]) * row + (int(address) + offset - region.start) // SECTOR
        seen = loaded[at]
        if np.count_nonzero(seen) < seen.size:
            fresh = at[~seen]
            loaded[fresh] = True
            line = fresh >> 2
            lines = 1 + int(np.count_nonzero(line[1:] != line[:-1]))
            self.pairs[site] = self.pairs.get(site, 0) + pairs(lines, len(fresh))

    def estimate(self, site: int) -> int:
        """Pairs of sectors that all blocks of the launch ask L2 for at this load."""
        return round(self.pairs.get(site, 0) / self.share)

    def _start(self, region: Region) -> tuple[int, np.ndarray]:
        """(sectors in the region's lines, a mark for each per sampled block, one block after another)."""
        row = -(-len(region.buffer) // LINE) * (LINE // SECTOR)
        found = self._loaded[region.start] = (row, np.zeros(row * len(self.blocks), np.bool_))
        return found

    def _pattern(self, address: Address, lanes: LaneSet, phase: int, row: int) -> np.ndarray:
        """Sorted distinct marks of the sampled lanes, relative to the sector of the base's lowest address."""
        notes, key = address.base.notes, ("l1", lanes, phase, row)
        found = notes.get(key)
        if found is None:
            index, slot = self._chosen(lanes)
            relative = np.broadcast_to(address.base.indices(0), lanes.shape)[index] + phase
            start = (slot if relative.ndim == 1 else slot[:, None]) * row
            found = notes[key] = np.unique(relative // SECTOR + start)
        return found

    def _chosen(self, lanes: LaneSet) -> tuple[np.ndarray, np.ndarray]:
        """Places of the sampled blocks in `lanes` (a product's rows, else lanes); which sample each is."""
        found = self._slots.get(lanes)
        if found is None:
            slot = np.searchsorted(self.blocks, lanes.blocks) % len(self.blocks)
            index = np.flatnonzero(self.blocks[slot] == lanes.blocks)
            found = self._slots[lanes] = (index, slot[index])
        return found
