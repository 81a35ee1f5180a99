"""A trace of one warp: which basic blocks it ran, in order, and with which lanes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from .lanes import WARP

if TYPE_CHECKING:
    from .lanes import LaneSet


@dataclass
class Trace:
    """What a warp of a block ran, in order: `steps` are (basic block, active lanes of shape (32,))."""

    block: int
    warp: int
    steps: list[tuple[int, np.ndarray]] = field(default_factory=list)

    def note(self, pc: int, lanes: LaneSet) -> None:
        """Basic block `pc` was executed once by some lanes of the launch."""
        if lanes.product:
            threads = lanes.threads if self.block in lanes.blocks else lanes.threads[:0]
        else:
            threads = lanes.threads[lanes.blocks == self.block]
        active = np.zeros(WARP, np.bool_)
        active[threads[threads // WARP == self.warp] % WARP] = True
        if active.any():
            self.steps.append((pc, active))
