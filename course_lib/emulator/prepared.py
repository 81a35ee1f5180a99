"""A launch that was checked and is ready to run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .limits import Dim3
    from .program import Program


@dataclass(frozen=True)
class Prepared:
    """What `run.launch` runs: `grid` x `block` threads of a program.

    `parameters`: per kernel parameter the raw bytes of its exact size, or a NumPy array, passed as a
    pointer to its first element and changed in place. `shared_mem`: dynamic shared memory in bytes.
    `names` are the parameters' names for messages; `cooperative` allows a barrier of the grid.
    `step_budget`: how many steps blocks that run together may take (None: the usual number); one is an
    instruction for 2,048 threads. `plain_barriers`: source lines of barriers outside every branch.
    """

    program: Program
    grid: Dim3
    block: Dim3
    parameters: list[bytes | np.ndarray]
    shared_mem: int = 0
    names: list[str] = field(default_factory=list)
    cooperative: bool = False
    step_budget: int | None = None
    plain_barriers: frozenset[int] = frozenset()
