"""Threads waiting at barriers, when a barrier completes, and who skipped it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .divergence import split
from .errors import DeadlockError
from .fragment import Fragment

if TYPE_CHECKING:
    from .run import Chunk


class Barriers:
    """The barriers of a chunk of blocks. A barrier is complete when all threads of the block that
    have not exited (or as many as the instruction names) wait at it."""

    def __init__(self, chunk: Chunk) -> None:
        self.chunk = chunk
        self.live = np.full(chunk.blocks, chunk.geometry.threads, np.int64)
        self.live_total = int(self.live.sum())
        self.parked: list[tuple[Fragment, int, int | None]] = []
        self.skipping: set[int] = set()
        self.early: dict[int, np.ndarray] = {}

    def arrive(self, fragment: Fragment, barrier: int, count: int | None) -> bool:
        """True when the fragment may go on at once; otherwise it is parked."""
        if count is None and not self.parked and not self.early and fragment.lanes.count == self.live_total:
            self._passed(None)
            return True
        self.parked.append((fragment, barrier, count))
        self.skipping |= self.chunk.program.after_barrier(fragment.pc)
        return False

    def arrive_early(self, fragment: Fragment, barrier: np.ndarray | np.generic) -> None:
        """`bar.arrive`: the lanes count as arrived, and go on."""
        numbers = np.broadcast_to(barrier, fragment.lanes.shape).ravel()
        for number in np.unique(numbers):
            rows = fragment.rows_of_lanes()[numbers == number]
            arrived = np.bincount(rows, minlength=self.chunk.blocks)
            self.early[int(number)] = self.early.get(int(number), 0) + arrived

    def exited(self, fragment: Fragment) -> None:
        """Threads that exit no longer count."""
        self.live -= np.bincount(fragment.rows_of_lanes(), minlength=self.chunk.blocks)
        self.live_total -= fragment.lanes.count

    def release(self) -> list[Fragment]:
        """Fragments whose barrier is complete, moved behind it."""
        released: list[Fragment] = []
        for barrier in sorted({number for _, number, _ in self.parked}):
            waiting = [entry for entry in self.parked if entry[1] == barrier]
            arrived = sum(np.bincount(f.rows_of_lanes(), minlength=self.chunk.blocks) for f, _, _ in waiting)
            arrived = arrived + self.early.get(barrier, 0)
            needed = self.live
            if waiting[0][2] is not None:
                needed = np.minimum(self.live, waiting[0][2])
            complete = (arrived >= needed) & (arrived > 0)
            if complete.any():
                self._report_different(waiting, complete)
                released += self._release(waiting, complete)
                if barrier in self.early:
                    self.early[barrier] = np.where(complete, 0, self.early[barrier])
                self._passed(np.flatnonzero(complete))
        if not self.parked:
            self.skipping = set()
        return released

    def _release(self, waiting: list, complete: np.ndarray) -> list[Fragment]:
        released = []
        for entry in waiting:
            fragment = entry[0]
            self.parked.remove(entry)
            rows = complete[fragment.rows_of_lanes()].reshape(fragment.lanes.shape)
            following = self.chunk.program.blocks[fragment.pc].following
            if rows.all():
                fragment.pc = following
                released.append(fragment)
                continue
            if rows.any():
                released.append(split(fragment, rows, following, *self.chunk.live(fragment, following)))
                fragment = split(fragment, ~rows, fragment.pc, *self.chunk.live(fragment, following))
            self.parked.append((fragment, *entry[1:]))
        return released

    def _passed(self, rows: np.ndarray | None) -> None:
        if self.chunk.shadow is not None:
            self.chunk.shadow.barrier(rows)

    def check_skipping(self, fragment: Fragment) -> None:
        """Report lanes that run on behind a barrier where others of their block wait."""
        if self.chunk.hazards is None:
            return
        mine = fragment.rows_of_lanes()
        for waiting, _, _ in self.parked:
            if fragment.pc not in self.chunk.program.after_barrier(waiting.pc):
                continue
            shared = np.isin(mine, waiting.rows_of_lanes())
            if shared.any():
                self._report_skip(fragment, waiting, shared)

    def _report_skip(self, fragment: Fragment, waiting: Fragment, shared: np.ndarray) -> None:
        at = int(np.argmax(shared))
        block = int(fragment.lanes.lane_blocks[at])
        skipped = fragment.lanes.lane_threads[shared & (fragment.lanes.lane_blocks == block)]
        line = self.chunk.program.barrier_line(waiting.pc)
        message = (
            f"threads {_ranges(skipped)} never reach the barrier in line {line} where "
            f"{int((waiting.lanes.lane_blocks == block).sum())} threads of their block wait; "
            "move the barrier out of the branch"
        )
        self.chunk.hazards.add("divergent barrier", message, line, block, int(skipped[0]), occurrences=len(skipped))

    def _report_different(self, waiting: list, complete: np.ndarray) -> None:
        if self.chunk.hazards is None or len({fragment.pc for fragment, _, _ in waiting}) == 1:
            return
        for row in np.flatnonzero(complete)[:1]:
            block = self.chunk.first_block + int(row)
            places = {f.pc: f.lanes.lane_threads[f.lanes.lane_blocks == block] for f, _, _ in waiting}
            lines = {self.chunk.program.barrier_line(pc): threads for pc, threads in places.items() if len(threads)}
            if len(places) > 1 and sum(len(t) > 0 for t in places.values()) > 1:
                told = "; ".join(f"threads {_ranges(threads)} in line {line}" for line, threads in lines.items())
                first = next(iter(lines))
                message = f"one barrier is completed from different places: {told}; let all threads meet at one"
                self.chunk.hazards.add("divergent barrier", message, first, block, int(lines[first][0]))

    def raise_deadlock(self) -> None:
        """Nothing can run and no barrier can complete."""
        fragment, barrier, count = self.parked[0]
        block = int(fragment.lanes.lane_blocks[0])
        told = []
        for other, number, _ in self.parked:
            threads = other.lanes.lane_threads[other.lanes.lane_blocks == block]
            if len(threads):
                line = self.chunk.program.barrier_line(other.pc)
                told.append(f"threads {_ranges(threads)} wait at barrier {number} in line {line}")
        wanted = "every thread of the block" if count is None else f"{count} threads"
        raise DeadlockError(
            f"{self.chunk.program.kernel}: block {self.chunk.geometry.block_index(block)} is stuck: "
            f"{'; '.join(told)}. Barrier {barrier} needs {wanted}."
        )


def _ranges(threads: np.ndarray) -> str:
    """Sorted numbers as text: 0-3, 7, 9-12."""
    threads = np.unique(threads)
    breaks = np.flatnonzero(np.diff(threads) != 1)
    starts, ends = threads[np.r_[0, breaks + 1]], threads[np.r_[breaks, len(threads) - 1]]
    parts = [str(a) if a == b else f"{a}-{b}" for a, b in zip(starts, ends, strict=True)]
    return ", ".join(parts[:8]) + (", …" if len(parts) > 8 else "")
