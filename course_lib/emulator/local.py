"""The local memory of a launch's threads: poisoned once, and mended where a chunk of blocks wrote to it."""

from __future__ import annotations

import numpy as np

from .memory import POISON, poisoned


class LocalMemory:
    """Rows of `row` bytes, one a thread; some thread may have written bytes `low` .. `high` of its row."""

    def __init__(self, rows: int, row: int) -> None:
        self.memory = poisoned((rows * row,))
        self.row, self.low, self.high = row, row, 0

    def touch(self, low: int, high: int) -> None:
        """Some threads read or write bytes between `low` and `high` of their rows."""
        self.low, self.high = min(self.low, low), max(self.high, high)

    def fresh(self, rows: int, row: int) -> bool:
        """Make it as good as new for other threads; False where it has not that many rows of that size."""
        if row != self.row or rows * row > len(self.memory):
            return False
        if self.low < self.high:
            words = self.memory.view(np.uint32).reshape(-1, row // 4)
            words[:, self.low // 4 : -(-self.high // 4)] = POISON
            self.low, self.high = row, 0
        return True
