"""Named barriers whose numbers of threads do not fit together: findings, and threads in words."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from .fragment import Fragment
from .lanes import WARP

if TYPE_CHECKING:
    from .barriers import Early, Waiting
    from .chunk import Chunk

KIND = "barrier counts differ"
Here = list[tuple[np.ndarray, "int | None", int]]  # threads, the count they name, source line


def check_counts(
    chunk: Chunk, barrier: int, waiting: list[Waiting], early: list[Early], too_many: np.ndarray
) -> None:
    """Report threads that give one barrier different counts, or come to it once too often.

    Both are undefined (PTX ISA, "bar"). `too_many`: per block, whether more came than the barrier needs.
    """
    if chunk.hazards is None:
        return
    if len({_needed(chunk, one.count) for one in [*waiting, *early]}) > 1:
        _report(chunk, barrier, waiting, early, np.ones(chunk.blocks, bool), "is given different numbers")
    elif too_many.any():
        _report(chunk, barrier, waiting, early, too_many, "is reached by more threads than it names")


def _needed(chunk: Chunk, count: int | None) -> int:
    """The number an instruction names; without one, all warps of the block."""
    return -(-chunk.geometry.threads // WARP) * WARP if count is None else count


def _report(
    chunk: Chunk, barrier: int, waiting: list[Waiting], early: list[Early], rows: np.ndarray, what: str
) -> None:
    """The first of the blocks `rows` in which it is so."""
    for row in np.flatnonzero(rows):
        here = sorted(_threads_at(chunk, waiting, early, int(row)), key=lambda one: one[2])
        named = {_needed(chunk, count) for _, count, _ in here}
        if len(named) > 1 or what.startswith("is reached"):
            said = Counter(
                f"threads {ranges(threads)} in line {line} name {'all' if count is None else count}"
                for threads, count, line in here
            )
            told = "; ".join(
                text + (f" ({times} times)" if times > 1 else "") for text, times in said.items()
            )
            advice = "whoever comes again must first wait for an answer" if len(named) == 1 else (
                "all who wait there or arrive must name one number"
            )  # fmt: skip
            message = f"barrier {barrier} {what}: {told}; {advice}"
            block = chunk.first_block + int(row)
            chunk.hazards.add(KIND, message, here[0][2], block, int(here[0][0][0]))  # type: ignore[union-attr]
            return


def _threads_at(chunk: Chunk, waiting: list[Waiting], early: list[Early], row: int) -> Here:
    """Who waits at a barrier or has arrived there, in one block of the chunk."""
    program, block = chunk.program, chunk.first_block + row
    found = [
        (threads_of(one.fragment, block), one.count, program.barrier_line(one.fragment.pc)) for one in waiting
    ]
    found += [(one.threads[one.rows == row], one.count, program.line(one.site)) for one in early]
    return [one for one in found if len(one[0])]


def threads_of(fragment: Fragment, block: int) -> np.ndarray:
    """Linear numbers of a fragment's threads in one block."""
    return fragment.lanes.lane_threads[fragment.lanes.lane_blocks == block]


def ranges(threads: np.ndarray) -> str:
    """Sorted numbers as text: 0-3, 7, 9-12."""
    threads = np.unique(threads)
    breaks = np.flatnonzero(np.diff(threads) != 1)
    starts, ends = threads[np.r_[0, breaks + 1]], threads[np.r_[breaks, len(threads) - 1]]
    parts = [str(a) if a == b else f"{a}-{b}" for a, b in zip(starts, ends, strict=True)]
    return ", ".join(parts[:8]) + (", …" if len(parts) > 8 else "")
