"""Findings: races, uninitialised reads and barriers that not every thread reaches.

Shared memory is watched through a shadow: per word, who wrote last and when, which
threads read it and when. Time advances at barriers only, so "after the last barrier"
is one comparison. Two accesses by different threads, one of them a store, are a race
unless a block barrier, or a warp barrier for threads of one warp, lies between them
(CUDA C++ Programming Guide, "Memory Fence and Synchronization Functions").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .fragment import Fragment
    from .lanes import Geometry

WARP = 32


@dataclass(frozen=True)
class Hazard:
    """One finding. `line` is a CUDA source line (0: unknown); `block` and `thread` are 3-D indices.

    `kind` is "shared race", "global race", "uninitialised read", "divergent barrier",
    "inactive lane" or "division by zero"; `occurrences` counts the lanes concerned.
    """

    kind: str
    message: str
    kernel: str
    line: int
    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    address: int | None
    occurrences: int = 1

    def __str__(self) -> str:
        where = f"{self.kernel}, line {self.line}, block {self.block}, thread {self.thread}"
        return f"{self.kind}: {self.message} ({where})"


class HazardLog:
    """Collects findings; equal ones (same kind, same line) are counted, not repeated."""

    def __init__(self, kernel: str, geometry: Geometry) -> None:
        self.kernel = kernel
        self.geometry = geometry
        self._found: dict[tuple[str, int, str], Hazard] = {}

    def add(self, kind: str, message: str, line: int, block: int, thread: int,
            address: int | None = None, occurrences: int = 1, variant: str = "") -> None:  # fmt: skip
        """Note a finding at linear `block` and `thread` numbers."""
        key = (kind, line, variant)
        earlier = self._found.get(key)
        if earlier is not None:
            object.__setattr__(earlier, "occurrences", earlier.occurrences + occurrences)
            return
        self._found[key] = Hazard(kind, message, self.kernel, line, self.geometry.block_index(block),
                                  self.geometry.thread_index(thread), address, occurrences)  # fmt: skip

    @property
    def findings(self) -> list[Hazard]:
        """All findings, by source line."""
        return sorted(self._found.values(), key=lambda h: (h.line, h.kind))


class SharedShadow:
    """Last writer and readers of every `grain` bytes of the shared memory of a chunk of blocks.

    While all blocks use the same addresses in step, one row of shadow serves them all.
    """

    def __init__(self, blocks: int, size: int, grain: int, threads: int, log: HazardLog) -> None:
        self.blocks, self.width, self.grain, self.log = blocks, size // grain, grain, log
        self.rows = 1
        self.now = 1
        self.block_sync = np.zeros(1, np.int64)
        self.warp_sync = np.zeros((1, -(-threads // WARP)), np.int64)
        shape = (1, self.width)
        self.writer, self.low, self.high = (np.full(shape, -1, np.int32) for _ in range(3))
        self.written, self.read = np.zeros(shape, np.int64), np.zeros(shape, np.int64)

    def expand(self) -> None:
        """Give every block a row of its own."""
        if self.rows == self.blocks:
            return
        self.rows = self.blocks
        for name in ("writer", "low", "high", "written", "read", "warp_sync", "block_sync"):
            setattr(self, name, np.repeat(getattr(self, name), self.blocks, axis=0))

    def barrier(self, rows: np.ndarray | None) -> None:
        """A block barrier completed in the given blocks of the chunk (None: in all)."""
        if rows is not None:
            self.expand()
        self.block_sync[slice(None) if rows is None else rows] = self.now
        self.now += 1

    def warp_barrier(self, fragment: Fragment) -> None:
        """The fragment's warps synchronised (`__syncwarp`, shuffles and votes of all their lanes)."""
        lanes = fragment.lanes
        if fragment.covers_chunk:
            self.warp_sync[:] = self.now
        else:
            self.expand()
            self.warp_sync[fragment.rows_of_lanes(), lanes.lane_threads // WARP] = self.now
        self.now += 1

    def access(self, fragment: Fragment, offset: np.ndarray | int, width: int, store: bool, line: int,
               value: np.ndarray | None, old: np.ndarray | None) -> None:  # fmt: skip
        """Check and note one load or store of `width` bytes at byte offsets within the block.

        `offset` is (1, threads) or a number when all blocks of a product agree, else one per lane.
        """
        lanes = fragment.lanes
        alike = lanes.product and np.ndim(offset) == 2 and np.shape(offset)[0] == 1 or np.ndim(offset) == 0
        if alike and lanes.product and fragment.covers_blocks and self.rows == 1:
            threads = lanes.threads
            rows: np.ndarray | int = 0
            offsets = np.broadcast_to(offset, (1, len(threads)))[0]
        else:
            self.expand()
            threads, rows = lanes.lane_threads, fragment.rows_of_lanes()
            offsets = np.broadcast_to(offset, lanes.shape).ravel()
        first = offsets.astype(np.int64) // self.grain
        for word in range(max(1, width // self.grain)):
            place = (rows, first + word)
            check = self._store if store else self._load
            check(place, threads.astype(np.int32), line, fragment, value, old)

    def _unsynchronised(self, when: np.ndarray, other: np.ndarray, threads: np.ndarray,
                        rows: np.ndarray | int) -> np.ndarray | None:  # fmt: skip
        """Lanes for which another thread's access at `when` is not ordered before this one."""
        recent = when > self.block_sync[rows]
        if not recent.any():
            return None
        warp = threads // WARP
        ordered = (other // WARP == warp) & (when <= self.warp_sync[rows, warp])
        racing = recent & (other != threads) & (other >= 0) & ~ordered
        return racing if racing.any() else None

    def _load(self, place: tuple, threads: np.ndarray, line: int, fragment: Fragment, *_: object) -> None:
        written, writer = self.written[place], self.writer[place]
        if (written == 0).any():
            self._report("uninitialised read", written == 0, place, threads, None, line, fragment)
        racing = self._unsynchronised(written, writer, threads, place[0])
        if racing is not None:
            self._report("shared race", racing, place, threads, writer, line, fragment, "reads what", "wrote")
        when, warp = self.read[place], threads // WARP
        own = (self.low[place] // WARP == warp) & (self.high[place] // WARP == warp)
        fresh = (when <= self.block_sync[place[0]]) | (own & (when <= self.warp_sync[place[0], warp]))
        low = np.where(fresh, threads, np.minimum(self.low[place], threads))
        high = np.where(fresh, threads, np.maximum(self.high[place], threads))
        backwards = (place[0] if np.ndim(place[0]) == 0 else place[0][::-1], place[1][::-1])
        self.low[backwards] = low[::-1]  # lanes ascend: of equal places the last written stays
        self.high[place] = high
        self.read[place] = self.now

    def _store(self, place: tuple, threads: np.ndarray, line: int, fragment: Fragment,
               value: np.ndarray | None, old: np.ndarray | None) -> None:  # fmt: skip
        writer = self.writer[place]
        racing = self._unsynchronised(self.written[place], writer, threads, place[0])
        if racing is not None and not _same(value, old, racing):
            self._report("shared race", racing, place, threads, writer, line, fragment, "writes where", "wrote")
        for reader in (self.low[place], self.high[place]):
            racing = self._unsynchronised(self.read[place], reader, threads, place[0])
            if racing is not None:
                self._report("shared race", racing, place, threads, reader, line, fragment, "overwrites what", "reads")
                break
        self.writer[place] = threads
        self.written[place] = self.now
        last = self.writer[place]
        clash = last != threads
        if clash.any() and not _equal_stores(value, place, fragment, clash):
            self._report("shared race", clash, place, threads, last, line, fragment, "writes where", "writes in the same instruction")

    def _report(self, kind: str, lanes: np.ndarray, place: tuple, threads: np.ndarray, other: np.ndarray | None,
                line: int, fragment: Fragment, verb: str = "", did: str = "") -> None:  # fmt: skip
        at = int(np.argmax(lanes))
        row = 0 if np.ndim(place[0]) == 0 else int(place[0][at])
        address = int(place[1][at]) * self.grain
        if other is None:
            message = f"shared memory at byte {address} is read before any thread wrote it; its value is undefined"
        else:
            fix = "put a __syncwarp() between them" if other[at] // WARP == threads[at] // WARP and "same" not in did \
                else "let one thread only write each word" if "same" in did else "put a __syncthreads() between them"  # fmt: skip
            message = f"thread {threads[at]} {verb} thread {other[at]} {did} (shared byte {address}); {fix}"
        block = fragment.chunk.first_block + row
        self.log.add(kind, message, line, block, int(threads[at]), address, int(lanes.sum()), verb + did)


def _same(value: np.ndarray | None, old: np.ndarray | None, lanes: np.ndarray) -> bool:
    """True when every racing lane stores what is there already (a harmless rewrite)."""
    if value is None or old is None:
        return False
    size = lanes.size
    if value.size % size or old.size % size or value.size < size or old.size < size:
        return False
    return bool((value.reshape(-1, size) == old.reshape(-1, size))[:, lanes].all())


def _equal_stores(value: np.ndarray | None, place: tuple, fragment: Fragment, clash: np.ndarray) -> bool:
    """True when lanes that store to one word in one instruction all store the same value."""
    if value is None:
        return False
    full = np.broadcast_to(value, fragment.lanes.shape)
    if full.size != clash.size:
        full = full[0] if full.ndim == 2 and (full == full[:1]).all() else full
    if full.size != clash.size:
        return False
    flat, words = full.ravel(), place[1]
    rows = np.broadcast_to(place[0], words.shape)
    order = np.lexsort((words, rows))
    same_word = (np.diff(words[order]) == 0) & (np.diff(rows[order]) == 0)
    return bool((np.diff(flat[order].view(f"u{flat.dtype.itemsize}"))[same_word] == 0).all())
