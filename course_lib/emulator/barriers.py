"""Threads waiting at barriers, when a barrier completes, and who skipped it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from .address import Plain
from .barrier_counts import check_counts, ranges, threads_of
from .divergence import split
from .errors import DeadlockError, EmulatorError
from .fragment import Fragment
from .lanes import WARP

if TYPE_CHECKING:
    from .chunk import Chunk


@dataclass(eq=False)
class Waiting:
    """A fragment that waits at a barrier; `count`: how many threads the barrier needs (None: the block)."""

    fragment: Fragment
    barrier: int
    count: int | None


@dataclass
class Early:
    """Threads (with the rows of their blocks) that arrived at a barrier without waiting, and when.

    `count`: how many threads the barrier needs, they say, in the instruction `site`.
    """

    rows: np.ndarray
    threads: np.ndarray
    stamp: int
    count: int
    site: int

    def without(self, complete: np.ndarray) -> Early:
        """Those whose blocks did not complete the barrier."""
        left = ~complete[self.rows]
        return replace(self, rows=self.rows[left], threads=self.threads[left])


class Barriers:
    """The barriers of a chunk of blocks.

    A barrier is complete when all threads of the block that have not exited, or as many as the
    instruction names, wait at it (PTX ISA, "bar").
    """

    def __init__(self, chunk: Chunk) -> None:
        self.chunk = chunk
        self.live = np.full(chunk.blocks, chunk.geometry.threads, np.int64)
        self.live_total = int(self.live.sum())
        self.parked: list[Waiting] = []
        self.skipping: set[int] = set()
        self.early: dict[int, list[Early]] = {}

    def arrive(self, fragment: Fragment, barrier: int, count: int | None) -> bool:
        """True when the fragment may go on at once; otherwise it is parked."""
        self._check(barrier, count, self.chunk.program.barrier_line(fragment.pc))
        if count is None and not self.parked and not self.early and fragment.lanes.count == self.live_total:
            self._completed(None if fragment.covers_blocks else np.unique(fragment.rows_of_lanes()))
            return True
        self.parked.append(Waiting(fragment, barrier, count))
        self.skipping |= self.chunk.program.after_barrier(fragment.pc)
        return False

    def arrive_early(self, fragment: Fragment, barrier: Plain, count: Plain, site: int) -> None:
        """`bar.arrive`: the lanes count as arrived, and go on."""
        numbers, counts = (
            np.broadcast_to(value, fragment.lanes.shape).ravel().astype(np.int64)
            for value in (barrier, count)
        )
        stamp = self.chunk.observer.arrival() if self.chunk.observer is not None else 0
        rows, threads = fragment.rows_of_lanes(), fragment.lanes.lane_threads
        for number, needed in np.unique([numbers, counts], axis=1).T.tolist():
            self._check(number, needed, self.chunk.program.line(site))
            mine = (numbers == number) & (counts == needed)
            arrived = Early(rows[mine], threads[mine], stamp, needed, site)
            self.early.setdefault(number, []).append(arrived)

    def _check(self, barrier: int, count: int | None, line: int) -> None:
        """PTX ISA, "bar": operand a is 0 to 15, b a multiple of the warp size. Raises EmulatorError."""
        where = f"{self.chunk.program.kernel}, line {line}"
        if not 0 <= barrier <= 15:
            raise EmulatorError(f"{where}: barrier {barrier}: a block has barriers 0 to 15")
        if count is not None and (count < WARP or count % WARP):
            raise EmulatorError(f"{where}: barrier {barrier} for {count} threads: name a multiple of {WARP}")

    def exited(self, fragment: Fragment) -> None:
        """Threads that exit no longer count."""
        self.live -= self._per_block(fragment)
        self.live_total -= fragment.lanes.count

    def _per_block(self, fragment: Fragment) -> np.ndarray:
        """How many threads of each block of the chunk a fragment holds."""
        return np.bincount(fragment.rows_of_lanes(), minlength=self.chunk.blocks)

    # -- completing -----------------------------------------------------------

    def release(self) -> list[Fragment]:
        """Fragments whose barrier is complete, moved behind it."""
        released: list[Fragment] = []
        for barrier in sorted({one.barrier for one in self.parked}):
            waiting = [one for one in self.parked if one.barrier == barrier]
            early = self.early.pop(barrier, [])
            arrived = sum(self._per_block(one.fragment) for one in waiting)
            arrived = arrived + sum(np.bincount(one.rows, minlength=self.chunk.blocks) for one in early)
            count = waiting[0].count
            needed = self.live if count is None else np.full(self.chunk.blocks, count)
            complete = (arrived >= needed) & (arrived > 0)
            if any(one.count is not None for one in [*waiting, *early]):
                check_counts(self.chunk, barrier, waiting, early, (arrived > needed) & (count is not None))
            if complete.any():
                self._report_different(waiting, complete)
                self._completed_by(waiting, early, complete, arrived)
                released += self._release(waiting, complete)
            early = [one for one in (each.without(complete) for each in early) if len(one.rows)]
            if early:
                self.early[barrier] = early
        if not self.parked:
            self.skipping = set()
        return released

    def _completed_by(
        self, waiting: list[Waiting], early: list[Early], complete: np.ndarray, arrived: np.ndarray
    ) -> None:
        """Tell the observer: a barrier of all threads of a block, or of some of them."""
        whole = complete & (arrived == self.live) & (not early)
        if whole.any():
            self._completed(None if whole.all() else np.flatnonzero(whole))
        for row in np.flatnonzero(complete & ~whole):
            block = self.chunk.first_block + int(row)
            threads = [threads_of(one.fragment, block) for one in waiting]
            came = [(one.threads[one.rows == row], one.stamp) for one in early]
            if self.chunk.observer is not None:
                self.chunk.observer.group_barrier(int(row), np.concatenate(threads), came)

    def _completed(self, rows: np.ndarray | None) -> None:
        if self.chunk.observer is not None:
            self.chunk.observer.barrier(rows)

    def _release(self, waiting: list[Waiting], complete: np.ndarray) -> list[Fragment]:
        released = []
        for one in waiting:
            fragment = one.fragment
            self.parked.remove(one)
            rows = complete[fragment.rows_of_lanes()].reshape(fragment.lanes.shape)
            following = self.chunk.program.blocks[fragment.pc].following
            if rows.all():
                fragment.pc = following
                released.append(fragment)
                continue
            if rows.any():
                live = self.chunk.live(fragment, following)
                released.append(split(fragment, rows, following, *live))
                fragment = split(fragment, ~rows, fragment.pc, *live)
            self.parked.append(replace(one, fragment=fragment))
        return released

    # -- findings -------------------------------------------------------------

    def check_skipping(self, fragment: Fragment) -> None:
        """Report lanes that run on behind a barrier where others of their block wait.

        Not where the barrier names its number of threads: then some may have no part in it, or meet at
        another barrier that the same instruction names. Nor where the source shows that who skips it has
        returned.
        """
        if self.chunk.hazards is None:
            return
        mine, program, plain = fragment.rows_of_lanes(), self.chunk.program, self.chunk.launch.plain_barriers
        for one in self.parked:
            if program.barrier_line(one.fragment.pc) in plain:
                continue
            if one.count is None and fragment.pc in program.after_barrier(one.fragment.pc):
                shared = np.isin(mine, one.fragment.rows_of_lanes())
                if shared.any():
                    self._report_skip(fragment, one.fragment, shared)

    def _report_skip(self, fragment: Fragment, waiting: Fragment, shared: np.ndarray) -> None:
        block = int(fragment.lanes.lane_blocks[np.argmax(shared)])
        skipped = fragment.lanes.lane_threads[shared & (fragment.lanes.lane_blocks == block)]
        line = self.chunk.program.barrier_line(waiting.pc)
        message = (
            f"threads {ranges(skipped)} run past the barrier in line {line} while "
            f"{len(threads_of(waiting, block))} threads of their block wait there; "
            "move the barrier out of the branch, so that every thread of the block reaches it"
        )
        self.chunk.hazards.add(
            "divergent barrier", message, line, block, int(skipped[0]), occurrences=len(skipped)
        )

    def _report_different(self, waiting: list[Waiting], complete: np.ndarray) -> None:
        """Threads that complete a barrier of the whole block from different instructions."""
        if self.chunk.hazards is None or len({one.fragment.pc for one in waiting}) == 1:
            return
        if any(one.count is not None for one in waiting):  # roles that meet, each in its own code
            return
        for row in np.flatnonzero(complete):
            places = self._places([one.fragment for one in waiting], self.chunk.first_block + int(row))
            if len(places) > 1:
                told = "; ".join(f"threads {ranges(threads)} in line {line}" for _, line, threads in places)
                message = (
                    f"one barrier is completed from different places: {told}; let all threads meet at one"
                )
                _, line, threads = places[0]
                block = self.chunk.first_block + int(row)
                self.chunk.hazards.add("divergent barrier", message, line, block, int(threads[0]))
                return

    def _places(self, fragments: list[Fragment], block: int) -> list[tuple[int, int, np.ndarray]]:
        """(pc, source line, threads) of each instruction at which threads of a block wait."""
        found: dict[int, list[np.ndarray]] = {}
        for fragment in fragments:
            threads = threads_of(fragment, block)
            if len(threads):
                found.setdefault(fragment.pc, []).append(threads)
        line = self.chunk.program.barrier_line
        return [(pc, line(pc), np.concatenate(threads)) for pc, threads in sorted(found.items())]

    def raise_deadlock(self) -> None:
        """Nothing can run and no barrier can complete. Raises DeadlockError."""
        first = self.parked[0]
        block = int(first.fragment.lanes.lane_blocks[0])
        told = [
            f"threads {ranges(threads)} wait at barrier {one.barrier} in line "
            f"{self.chunk.program.barrier_line(one.fragment.pc)}"
            for one in self.parked
            if len(threads := threads_of(one.fragment, block))
        ]
        row = block - self.chunk.first_block
        told += [
            f"threads {ranges(one.threads[one.rows == row])} arrived at barrier {number} in line "
            f"{self.chunk.program.line(one.site)}, for {one.count} threads"
            for number, early in sorted(self.early.items())
            for one in early
            if (one.rows == row).any()
        ]
        told = list(dict.fromkeys(told))
        whole = first.count is None
        wanted = "every thread of the block" if whole else f"{first.count} threads"
        raise DeadlockError(
            f"{self.chunk.program.kernel}: block {self.chunk.geometry.block_index(block)} is stuck: "
            f"{'; '.join(told)}. Barrier {first.barrier} needs {wanted}.",
            self.chunk.found(),
            whole=whole,
        )
