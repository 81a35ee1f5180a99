"""Chapter 10: every way of getting a pipeline's barriers wrong, and what the emulator finds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ..emulator.errors import DeadlockError, EmulatorError, MemoryAccessError, StepBudgetError
from ..kernels import Kernel
from ..profile import profile
from ..report import ALARM, Cell, Table
from . import pipeline_kernels as k

TILE, STAGES, TILES = 256, 3, 8
NOT_WAITED, RACE = "asynchronous copy not waited for", "shared race"
COUNTS, DEADLOCK, MISALIGNED = "barrier counts differ", "deadlock", "misaligned access"
ENDLESS, STEPS = "never ends", 12_000  # steps: some times what the right kernels need


@dataclass(frozen=True)
class Case:
    """A kernel with one line `old` made `new`; `expected`: the kinds of findings, one of them or all."""

    cause: str
    kernel: Kernel
    old: str
    new: str
    expected: tuple[str, ...]

    def source(self) -> str:
        """The source with the mistake in it. Raises ValueError where the line is not there once."""
        if self.kernel.source.count(self.old) != 1:
            raise ValueError(
                f"{self.kernel.name} has {self.old!r} {self.kernel.source.count(self.old)} times"
            )
        return self.kernel.source.replace(self.old, self.new)


@dataclass(frozen=True)
class Found:
    """What a run reported: kinds, and the line and words of the first finding."""

    kinds: tuple[str, ...]
    line: str
    message: str


_BUFFER = partial(Case, kernel=k.ONE_BUFFER)
_TWICE = partial(Case, kernel=k.REGISTERS)
_STAGED = partial(Case, kernel=k.STAGED)
_WARPS = partial(Case, kernel=k.WARPS)
_COUNTED = partial(Case, kernel=k.MBARRIER)
_STORE = "        for (int j = 0; j < TILE; j += 256) tile[stage][j + t] = next[j / 256];\n"
_FETCH = "        fetch(tile[(stage + STAGES - 1) % STAGES], x, ahead, tiles);\n"
_MEET = "        __syncthreads();     // everyone's is, and nobody uses the tile before it any more\n"
_USE = "            use(y + i * TILE, tile[s], c);\n"
_EMPTY = "            if (i + STAGES * step < tiles) arrive(empty + s);\n"
_WAIT = "        wait<STAGES - 2>();  // my part of the oldest tile is here\n"

CASES: Sequence[Case] = (
    _BUFFER("one buffer: no barrier before the tile is used", old="__syncthreads();  // the", new="// the",
            expected=(RACE,)),
    _BUFFER("one buffer: no barrier before the next tile", old="__syncthreads();  // nobody", new="// nobody",
            expected=(RACE,)),
    _TWICE("no barrier", old="        __syncthreads();\n", new="", expected=(RACE,)),
    _TWICE("the barrier before the store", old=_STORE + "        __syncthreads();\n",
           new="        __syncthreads();\n" + _STORE, expected=(RACE,)),
    _TWICE("always the same buffer: 'stage ^= 1' is missing", old="        stage ^= 1;\n", new="",
           expected=(RACE,)),
    _STAGED("no wait for the copies", old=_WAIT, new="", expected=(NOT_WAITED,)),
    _STAGED("wait off by one: the oldest group is left out", old="wait<STAGES - 2>()",
            new="wait<STAGES - 1>()", expected=(NOT_WAITED, RACE)),
    _STAGED("no commit where there is nothing to fetch: the count is wrong at the end",
            old="    commit();  // a", new="    if (i < tiles) commit();  // a", expected=(NOT_WAITED,)),
    _STAGED("no barrier after the wait", old=_MEET, new="", expected=(RACE,)),
    _STAGED("the barrier before the wait", old=_WAIT + _MEET, new=_MEET + _WAIT, expected=(RACE,)),
    _STAGED("fetch before the barrier: others still use that buffer", old=_WAIT + _MEET + _FETCH,
            new=_FETCH + _WAIT.replace("2", "1") + _MEET, expected=(RACE,)),
    _STAGED("a source that is not a multiple of 16 bytes", old="&x[i * TILE + j + t]",
            new="(const float4*)((const float*)&x[i * TILE + j + t] + 1)", expected=(MISALIGNED,)),
    _WARPS("the producer does not wait for 'empty'", old="if (i >= STAGES * step) await(empty + s);", new="",
           expected=(COUNTS, DEADLOCK)),
    _WARPS("the producer says 'full' before its copies are there", old="            wait<0>();\n", new="",
           expected=(NOT_WAITED,)),
    _WARPS("the consumers read before 'full'", old="            await(full + s);\n", new="",
           expected=(RACE, COUNTS, DEADLOCK)),
    _WARPS("the consumers say 'empty' before they have used the tile", old=_USE + _EMPTY, new=_EMPTY + _USE,
           expected=(RACE,)),
    _WARPS("the consumers never say 'empty'", old="if (i + STAGES * step < tiles) arrive(empty + s);", new="",
           expected=(DEADLOCK,)),
    _WARPS("'full' waits for one warp too many", old="await(full + s);",
           new='asm volatile("bar.sync %0, 320;" :: "r"(full + s) : "memory");', expected=(COUNTS, DEADLOCK)),
    _COUNTED("the producer does not wait for 'empty'", new="",
             old="            if (round > 0) await(&empty[s], (round - 1) % 2);\n", expected=(ENDLESS,)),
    _COUNTED("the consumers wait for the wrong parity of 'full'", old="await(&full[s], round % 2);",
             new="await(&full[s], (round + 1) % 2);", expected=(ENDLESS,)),
)  # fmt: skip


def run(case: Case, steps: int = STEPS) -> Found:
    """Run it, for so many steps at most, and say what the emulator found."""
    from .. import standin as cp

    warps = 8 + {k.WARPS.name: STAGES, k.MBARRIER.name: 1}.get(case.kernel.name, 0)
    options = k.tiled(case.kernel, TILE, STAGES).options
    kernel = cp.RawKernel(case.source(), case.kernel.name, options=options)
    kernel.step_budget = steps
    x, w = cp.ones((TILES * TILE + 1, 4), cp.float32), cp.ones((64, 16), cp.float32)
    y = cp.zeros(TILES * TILE, cp.float32)
    error = None
    try:
        found = profile(kernel, (1,), (32 * warps,), (y, x, w, np.int32(TILES))).hazards
    except EmulatorError as raised:
        error, found = raised, getattr(raised, "hazards", [])
    kinds = dict.fromkeys(hazard.kind for hazard in found)
    if error is not None:
        return Found((*kinds, _kind(error)), "", str(error))
    return Found(tuple(kinds), str(found[0].line), found[0].message) if found else Found((), "", "")


def _kind(error: EmulatorError) -> str:
    if isinstance(error, DeadlockError | StepBudgetError):
        return DEADLOCK if isinstance(error, DeadlockError) else ENDLESS
    if isinstance(error, MemoryAccessError):
        return MISALIGNED if "aligned" in str(error) else "access out of bounds"
    return type(error).__name__


def hazard_table(cases: Sequence[Case] = CASES, finder: Callable[[Case], Found] = run) -> Table:
    """One row a mistake: the kernel, the cause, what was found."""
    rows = []
    for case in cases:
        found = finder(case)
        kinds = ", ".join(found.kinds) or "nothing"
        rows.append([Cell(case.kernel.name), Cell(case.cause), Cell(kinds, ALARM, 0.5 * bool(found.kinds))])
    return Table(["kernel", "cause", "found by the emulator"], rows, {0, 1, 2})
