"""`bar.red`: a barrier that also counts the threads whose predicate holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .errors import EmulatorError

if TYPE_CHECKING:
    from .address import Plain
    from .chunk import Chunk
    from .fragment import Fragment


BARRIERS = 16


class BarrierVotes:
    """Predicates that the threads of each block bring to a barrier.

    A thread votes before it waits and reads the result behind the barrier. Two ballots are open in turn:
    a fast thread may vote for the next one while a slow one has not read the last.
    """

    def __init__(self, chunk: Chunk) -> None:
        self.chunk = chunk
        self.turn = np.zeros(0, np.uint8)  # (barrier, block, thread): the ballot a thread votes in next
        self.counts = np.zeros(0, np.int64)  # (barrier, ballot, block, [ayes, voters, readers])

    def vote(self, fragment: Fragment, number: Plain, predicate: Plain) -> None:
        """The lanes of a fragment bring their predicates to a barrier."""
        if not self.turn.size:
            blocks = self.chunk.blocks
            self.turn = np.zeros((BARRIERS, blocks, self.chunk.geometry.threads), np.uint8)
            self.counts = np.zeros((BARRIERS, 2, blocks, 3), np.int64)
        place = _lanes(fragment, number)
        ballot = self.turn[place]
        ayes = np.broadcast_to(predicate, fragment.lanes.shape).ravel()
        np.add.at(self.counts, (place[0], ballot, place[1], 0), ayes)
        np.add.at(self.counts, (place[0], ballot, place[1], 1), 1)
        self.turn[place] = 1 - ballot

    def result(self, fragment: Fragment, number: Plain, operation: str) -> np.ndarray:
        """What the lanes get behind the barrier: "popc" a number, "and" and "or" a predicate."""
        place = _lanes(fragment, number)
        ballot = 1 - self.turn[place]
        ayes, voters, _ = self.counts[place[0], ballot, place[1]].T
        np.add.at(self.counts, (place[0], ballot, place[1], 2), 1)
        self.counts[self.counts[..., 1] == self.counts[..., 2]] = 0
        results = {"popc": ayes.astype(np.uint32), "and": ayes == voters, "or": ayes > 0}
        return results[operation].reshape(fragment.lanes.shape)


def _lanes(fragment: Fragment, number: Plain) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(barrier, block, thread) of every lane."""
    numbers = np.broadcast_to(number, fragment.lanes.shape).ravel().astype(np.intp)
    if numbers.max() >= BARRIERS:
        raise EmulatorError(
            f"{fragment.chunk.program.kernel}: there is no barrier {numbers.max()}, only 0 to 15"
        )
    return numbers, fragment.rows_of_lanes(), fragment.lanes.lane_threads
