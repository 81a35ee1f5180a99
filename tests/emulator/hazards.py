"""Profiling small kernels in tests of findings."""

import numpy as np

from course_lib.emulator.hazards import Hazard
from course_lib.profile import profile

from .cuda import kernel


def findings(
    body: str,
    *arguments: object,
    parameters: str = "int *out",
    before: str = "",
    grid: int = 1,
    block: int = 64,
    seed: int | None = None,
    **settings: object,
) -> list[Hazard]:
    """What profiling `k(parameters) { int t = threadIdx.x; body }` finds; `out` has an element per thread."""
    arguments = arguments or (np.zeros(grid * block, np.int32),)
    made = kernel(f"int t = threadIdx.x;\n{body}", parameters, before, **settings)
    return profile(made, (grid,), (block,), arguments, seed=seed).hazards


def kinds(body: str, *arguments: object, **settings: object) -> set[str]:
    """Their kinds."""
    return {hazard.kind for hazard in findings(body, *arguments, **settings)}
