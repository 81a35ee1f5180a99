"""The timeline of one warp: every instruction it issued, in order, with the lanes that took part.

Counted from the PTX, like everything of `profile`. The order of the two sides of a branch is the
emulator's: the side that comes first in the PTX runs first. A GPU may take them the other way round; the
cost is the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .emulator.run import launch
from .emulator.trace import Trace
from .profile import as_emulated, on_host


@dataclass(frozen=True)
class Step:
    """`instructions` in a row from one CUDA source line (0: unknown); `active` lanes, shape (32,)."""

    line: int
    instructions: int
    active: np.ndarray


@dataclass(frozen=True)
class Timeline:
    """The steps of one warp in the order they were issued, and the text of the kernel's source lines."""

    kernel: str
    steps: tuple[Step, ...]
    source: tuple[str, ...]

    @property
    def instructions(self) -> int:
        """Warp instructions issued."""
        return sum(step.instructions for step in self.steps)

    @property
    def active_lanes(self) -> float:
        """Average number of active lanes per instruction."""
        lanes = sum(step.instructions * int(step.active.sum()) for step in self.steps)
        return lanes / self.instructions if self.steps else 0.0

    def text(self, line: int) -> str:
        """A line of the CUDA source, without its indentation."""
        return self.source[line - 1].strip() if 0 < line <= len(self.source) else "(no source line)"


def timeline(
    kernel: Any,
    grid: tuple,
    block: tuple,
    args: Sequence[Any],
    shared_mem: int = 0,
    *,
    warp: tuple[int, int] = (0, 0),
) -> Timeline:
    """What one warp of a launch issued; `warp` is (block, warp within it), both counted from 0.

    `kernel`: a RawKernel of the emulator or of CuPy. `args` are not changed. Raises what a launch raises.
    """
    emulated = as_emulated(kernel)
    trace, program = Trace(*warp), emulated.program
    launch(
        emulated.prepare(grid, block, on_host(args), shared_mem), observe={}, trace=trace, scratch=True
    )
    steps: list[Step] = []
    for pc, active in trace.steps:
        for instruction in program.blocks[pc].instructions:
            if instruction.opcode.startswith("param."):
                continue
            last = steps[-1] if steps else None
            if last is not None and last.line == instruction.line and np.array_equal(last.active, active):
                steps[-1] = Step(last.line, last.instructions + 1, active)
            else:
                steps.append(Step(instruction.line, 1, active))
    return Timeline(emulated.name, tuple(steps), tuple(emulated.code.split("\n")))
