"""Which threads a fragment of execution holds, and how their values are laid out.

A set of lanes is either a *product* (some blocks x some threads of each, values of
shape (blocks, threads)) or *irregular* (a plain list, values of shape (lanes,)).
Values need only broadcast to that shape: a thread index is stored once per thread
as (1, threads), a block index once per block as (blocks, 1), a uniform value as one
scalar. Lanes are always sorted by block, then thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

WARP = 32


@dataclass(frozen=True)
class Geometry:
    """Grid and block dimensions (x, y, z) of a launch."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]

    @property
    def threads(self) -> int:
        """Threads in a block."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def blocks(self) -> int:
        """Blocks in the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    def thread_index(self, thread: int) -> tuple[int, int, int]:
        """threadIdx of a linear thread number."""
        x, y, _ = self.block
        return thread % x, thread // x % y, thread // (x * y)

    def block_index(self, block: int) -> tuple[int, int, int]:
        """blockIdx of a linear block number."""
        x, y, _ = self.grid
        return block % x, block // x % y, block // (x * y)


@dataclass(frozen=True)
class Selector:
    """How values of a smaller set of lanes are taken out of, or put into, a larger one's.

    `kind` is "threads" (columns of a product), "blocks" (rows) or "flat" (any lanes).
    """

    kind: str
    index: np.ndarray
    rows: np.ndarray | None = None
    columns: np.ndarray | None = None

    def take(self, value: np.ndarray) -> np.ndarray:
        """The chosen lanes' part of `value` (an array that broadcasts to the larger set)."""
        if value.ndim == 0:
            return value
        if self.kind == "threads":
            return value if value.shape[1] == 1 else value[:, self.index]
        if self.kind == "blocks":
            return value if value.shape[0] == 1 else value[self.index]
        if value.ndim == 2:
            rows = 0 if value.shape[0] == 1 else self.rows
            return value[rows, 0 if value.shape[1] == 1 else self.columns]
        return value[self.index]

    def put(self, target: np.ndarray, value: np.ndarray) -> None:
        """Write `value` (in the smaller set's full shape) into `target` (in the larger set's)."""
        if self.kind == "threads":
            target[:, self.index] = value
        elif self.kind == "blocks":
            target[self.index] = value
        else:
            target.reshape(-1)[self.index] = value.ravel()


class LaneSet:
    """A sorted set of lanes of one launch."""

    def __init__(self, geometry: Geometry, blocks: np.ndarray, threads: np.ndarray, product: bool) -> None:
        self.geometry = geometry
        self.blocks = blocks
        self.threads = threads
        self.product = product
        self.shape = (len(blocks), len(threads)) if product else (len(blocks),)
        self.count = len(blocks) * len(threads) if product else len(blocks)
        self._specials: dict[str, np.ndarray | np.generic] = {}

    # -- identities -----------------------------------------------------------

    @cached_property
    def lane_blocks(self) -> np.ndarray:
        """Linear block number of every lane, shape (lanes,)."""
        return np.repeat(self.blocks, len(self.threads)) if self.product else self.blocks

    @cached_property
    def lane_threads(self) -> np.ndarray:
        """Linear thread number of every lane, shape (lanes,)."""
        return np.tile(self.threads, len(self.blocks)) if self.product else self.threads

    @cached_property
    def ids(self) -> np.ndarray:
        """One sorted number per lane: block * threads per block + thread."""
        return self.lane_blocks * self.geometry.threads + self.lane_threads

    def special(self, name: str) -> np.ndarray | np.generic:
        """Value of a special register (`tid.x`, `ctaid.y`, `laneid`, ...), as narrow as it can be."""
        if name not in self._specials:
            self._specials[name] = self._compute_special(name)
        return self._specials[name]

    def _compute_special(self, name: str) -> np.ndarray | np.generic:
        register, _, axis = name.partition(".")
        which = "xyz".find(axis) if axis else 0
        threads, blocks = self.geometry.block, self.geometry.grid
        if register == "tid":
            inner = int(np.prod(threads[:which], dtype=np.int64))
            return self._per_thread(self.threads // inner % threads[which])
        if register == "ctaid":
            inner = int(np.prod(blocks[:which], dtype=np.int64))
            return self._per_block(self.blocks // inner % blocks[which])
        if register == "ntid":
            return np.uint32(threads[which])
        if register == "nctaid":
            return np.uint32(blocks[which])
        if register == "laneid":
            return self._per_thread(self.threads % WARP)
        if register == "warpid":
            return self._per_thread(self.threads // WARP)
        lane = self._per_thread(self.threads % WARP).astype(np.uint32)
        one = np.uint32(1)
        masks = {
            "lanemask_eq": one << lane,
            "lanemask_lt": (one << lane) - one,
            "lanemask_le": (one << lane) | ((one << lane) - one),
            "lanemask_gt": ~((one << lane) | ((one << lane) - one)),
            "lanemask_ge": ~((one << lane) - one),
        }
        return masks[register]

    def _per_thread(self, values: np.ndarray) -> np.ndarray | np.generic:
        return _narrow(values, (1, -1) if self.product else (-1,))

    def _per_block(self, values: np.ndarray) -> np.ndarray | np.generic:
        return _narrow(values, (-1, 1) if self.product else (-1,))

    # -- subsets --------------------------------------------------------------

    def subset(self, mask: np.ndarray) -> tuple[LaneSet, Selector]:
        """Lanes where `mask` (broadcastable to `shape`) holds, and how to take their values."""
        if self.product:
            rows, columns = mask.shape
            if rows == 1 or (columns > 1 and np.array_equal(mask.any(0), mask.all(0))):
                index = np.flatnonzero(mask[0])
                return LaneSet(self.geometry, self.blocks, self.threads[index], True), Selector(
                    "threads", index
                )
            if columns == 1 or np.array_equal(mask.any(1), mask.all(1)):
                index = np.flatnonzero(mask[:, 0])
                return LaneSet(self.geometry, self.blocks[index], self.threads, True), Selector(
                    "blocks", index
                )
            rows, columns = np.nonzero(mask)
            lanes = LaneSet(self.geometry, self.blocks[rows], self.threads[columns], False)
            return lanes, Selector("flat", rows * len(self.threads) + columns, rows, columns)
        index = np.flatnonzero(mask)
        return LaneSet(self.geometry, self.blocks[index], self.threads[index], False), Selector("flat", index)

    def selector_of(self, smaller: LaneSet) -> Selector:
        """The selector that takes `smaller`, a subset of these lanes, out of them."""
        if self.product and smaller.product:
            if len(smaller.blocks) == len(self.blocks):
                return Selector("threads", np.searchsorted(self.threads, smaller.threads))
            if len(smaller.threads) == len(self.threads):
                return Selector("blocks", np.searchsorted(self.blocks, smaller.blocks))
        index = np.searchsorted(self.ids, smaller.ids)
        if self.product:
            return Selector("flat", index, index // len(self.threads), index % len(self.threads))
        return Selector("flat", index)

    @staticmethod
    def union(parts: list[LaneSet]) -> LaneSet:
        """Disjoint sets joined; a product where they share their blocks or their threads."""
        first = parts[0]
        if all(part.product for part in parts):
            if all(np.array_equal(part.blocks, first.blocks) for part in parts):
                threads = np.sort(np.concatenate([part.threads for part in parts]))
                return LaneSet(first.geometry, first.blocks, threads, True)
            if all(np.array_equal(part.threads, first.threads) for part in parts):
                blocks = np.sort(np.concatenate([part.blocks for part in parts]))
                return LaneSet(first.geometry, blocks, first.threads, True)
        ids = np.sort(np.concatenate([part.ids for part in parts]))
        threads = first.geometry.threads
        return LaneSet(first.geometry, ids // threads, ids % threads, False)

    @cached_property
    def one_block(self) -> LaneSet:
        """A product's lanes in its first block only."""
        return LaneSet(self.geometry, self.blocks[:1], self.threads, True)

    # -- warps ----------------------------------------------------------------

    @cached_property
    def whole_warps(self) -> bool:
        """True when the lanes are all 32 of each of their warps, so that rows of 32 are warps."""
        if self.count % WARP or (self.product and len(self.threads) % WARP):
            return False
        threads = self.threads.reshape(-1, WARP)
        if not (threads % WARP == np.arange(WARP)).all():
            return False
        same_block = self.product or (self.blocks.reshape(-1, WARP) == self.blocks[::WARP, None]).all()
        return bool(same_block and (threads // WARP == threads[:, :1] // WARP).all())

    @cached_property
    def warp_numbers(self) -> np.ndarray:
        """Launch-wide warp number of every lane, shape (lanes,)."""
        per_block = -(-self.geometry.threads // WARP)
        return self.lane_blocks * per_block + self.lane_threads // WARP

    @cached_property
    def warps(self) -> np.ndarray:
        """Sorted launch-wide numbers of the warps with a lane here."""
        numbers = self.warp_numbers
        return numbers[np.r_[True, numbers[1:] != numbers[:-1]]]

    @cached_property
    def warp_count(self) -> int:
        """Number of warps with a lane here."""
        if self.product:
            return len(self.blocks) * len(np.unique(self.threads // WARP))
        return len(self.warps)

    @cached_property
    def warp_slots(self) -> np.ndarray:
        """Position of every lane in an array of shape (warps, 32), flattened."""
        return np.searchsorted(self.warps, self.warp_numbers) * WARP + self.lane_threads % WARP

    @cached_property
    def active(self) -> np.ndarray:
        """Active mask of shape (warps, 32)."""
        mask = np.zeros(self.warp_count * WARP, np.bool_)
        mask[self.warp_slots] = True
        return mask.reshape(-1, WARP)

    @cached_property
    def full_mask(self) -> np.ndarray:
        """Active mask where all lanes of every warp are here."""
        return np.ones((self.warp_count, WARP), np.bool_)

    def to_warps(self, value: np.ndarray | np.generic) -> np.ndarray:
        """`value` as (warps, 32); inactive places hold zero."""
        full = np.broadcast_to(value, self.shape)
        if self.whole_warps:
            return full.reshape(-1, WARP)
        rows = np.zeros(self.warp_count * WARP, full.dtype)
        rows[self.warp_slots] = full.ravel()
        return rows.reshape(-1, WARP)

    def from_warps(self, rows: np.ndarray) -> np.ndarray:
        """Inverse of `to_warps`."""
        if self.whole_warps:
            return rows.reshape(self.shape)
        return rows.ravel()[self.warp_slots].reshape(self.shape)


def _narrow(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray | np.generic:
    """uint32 values as one scalar when all are equal, else in `shape`."""
    values = values.astype(np.uint32)
    return values[0] if (values == values[0]).all() else values.reshape(shape)
