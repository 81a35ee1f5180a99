"""What comes before what: barriers, warp barriers and fences among the threads of a chunk of blocks.

An access carries a *stamp*, a time and the number of its instruction in one integer, so that
comparing stamps compares times. Time advances at barriers and fences only. Two accesses are
ordered when a barrier that both threads took part in, or a fence of the earlier thread, has a
stamp between them (PTX ISA, "Memory Consistency Model"; a fence is taken at its word, whether
or not the later thread looked at a flag).
"""

from __future__ import annotations

import numpy as np

from .lanes import WARP, LaneSet

SITE_BITS = 20
FULL_MASK = 0xFFFF_FFFF
MOST_MASKS = 64
Rows = np.ndarray | int


def site_of(stamp: int) -> int:
    """Number of the instruction that a stamp names."""
    return stamp & ((1 << SITE_BITS) - 1)


class Order:
    """Last barrier of each block, last `__syncwarp` of each warp by the lanes that took part, last fences.

    Arrays have a row per block of the chunk; while `uniform`, all rows are equal and row 0 speaks for all.
    """

    def __init__(self, first_block: int, blocks: int, threads: int) -> None:
        self.first_block, self.blocks, self.threads = first_block, blocks, threads
        self.warps = -(-threads // WARP)
        self.now = 1
        self.uniform = True
        self.block = np.zeros(blocks, np.int64)
        self.masks: dict[int, np.ndarray] = {}
        self.groups: np.ndarray | None = None
        self.fenced: np.ndarray | None = None

    def stamp(self, site: int) -> int:
        """Stamp of an access that instruction number `site` makes now."""
        return self.now << SITE_BITS | site

    def tick(self) -> int:
        """A stamp that all accesses so far do not exceed and all later ones do."""
        bound = self.stamp((1 << SITE_BITS) - 1)
        self.now += 1
        return bound

    def rows_of(self, lanes: LaneSet) -> Rows:
        """Row of every lane's block: one number while it makes no difference."""
        return 0 if self.uniform else lanes.lane_blocks - self.first_block

    # -- events ---------------------------------------------------------------

    def barrier(self, rows: np.ndarray | None) -> None:
        """All threads of the given rows (None: of every block) met at a barrier."""
        bound = self.tick()
        if rows is None or len(rows) == self.blocks:
            self.block[:] = bound
            self.masks, self.groups, self.fenced, self.uniform = {}, None, None, True
        else:
            self.block[rows] = bound
            self.uniform = False

    def group_barrier(self, row: int, threads: np.ndarray, early: list[tuple[np.ndarray, int]]) -> None:
        """Some threads of a block met at a barrier. They know too what `early` threads did up to a stamp."""
        if self.groups is None:
            self.groups = np.zeros((self.blocks, self.warps, self.warps), np.int64)
        warps = np.unique(threads // WARP)
        self.groups[row, warps[:, None], warps] = self.tick()
        for others, stamp in early:
            known = self.groups[row, warps[:, None], np.unique(others // WARP)]
            self.groups[row, warps[:, None], np.unique(others // WARP)] = np.maximum(known, stamp)
        self.uniform = False

    def warp_barrier(self, warps: np.ndarray, masks: np.ndarray) -> None:
        """`__syncwarp` of launch-wide `warps`: `masks` has a bit for every lane that takes part."""
        bound = self.tick()
        every = len(warps) == self.blocks * self.warps
        for mask in np.unique(masks):
            times = self.masks.get(int(mask))
            if times is None:
                times = self._new_mask(int(mask))
            chosen = masks == mask
            if every and chosen.all():
                times[:] = bound
            else:
                self.uniform = False
                times.ravel()[warps[chosen] - self.first_block * self.warps] = bound

    def _new_mask(self, mask: int) -> np.ndarray:
        if len(self.masks) == MOST_MASKS:
            del self.masks[min(self.masks, key=lambda known: self.masks[known].max())]
        return self.masks.setdefault(mask, np.zeros((self.blocks, self.warps), np.int64))

    def fence(self, lanes: LaneSet) -> int:
        """`__threadfence` and the like: what these threads did so far counts as seen. Returns its stamp."""
        if self.fenced is None:
            self.fenced = np.zeros((self.blocks, self.threads), np.int64)
        self.uniform = False
        bound = self.tick()
        self.fenced[lanes.lane_blocks - self.first_block, lanes.lane_threads] = bound
        return bound

    # -- questions ------------------------------------------------------------

    def unordered(self, rows: Rows, threads: np.ndarray, other: np.ndarray, when: np.ndarray) -> np.ndarray:
        """Where an access by thread `other` of the same block at `when` is not ordered before one now."""
        after = when > self.block[rows]
        if not after.any():
            return after
        warp, other_warp = threads // WARP, other // WARP
        same = warp == other_warp
        for mask, times in self.masks.items():
            bits = np.int64(mask)
            both = (bits >> threads % WARP) & (bits >> other % WARP) & 1 != 0
            after = after & ~(same & both & (when <= times[rows, warp]))
        if self.groups is not None:
            after = after & (when > self.groups[rows, warp, other_warp])
        if self.fenced is not None:
            after = after & (when > self.fenced[rows, other])
        return after
