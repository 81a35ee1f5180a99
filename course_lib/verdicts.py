"""Verdicts on exercises: what stopped a kernel, in words, and what to do next."""

from collections.abc import Mapping
from dataclasses import dataclass

from .emulator.errors import (
    CompileError,
    DeadlockError,
    EmulatorError,
    MemoryAccessError,
    StepBudgetError,
)

# kind of hazard -> what to try
NEXT_STEP = {
    "shared race": "Put a barrier between the store and what another thread does with the same word.",
    "global race": "Let one thread only write each element. Where several change one word, use atomicAdd: it "
    "reads and writes in one.",
    "uninitialised read": "Write every element before any thread reads it; check the loop that does.",
    "divergent barrier": "Move the barrier out of the branch, so that every thread of the block reaches it.",
    "inactive lane": "Let all 32 lanes take part in the shuffle or vote, and mask its result afterwards.",
    "division by zero": "Guard the division, or the threads that need not do it.",
    "barrier counts differ": "Name one number wherever the barrier is used: who waits plus who arrives.",
    "named barrier never completes": "Write down who waits at each barrier, who arrives there, and how "
    "often; the number of threads is those who wait plus those who arrive.",
    "asynchronous copy not waited for": "Wait for the copy, then put a barrier before its words are used.",
}


@dataclass(frozen=True)
class Verdict:
    """What ``check`` found; a reason is solved, unsolved, error, hazard, wrong answer or counter."""

    solved: bool
    reason: str
    message: str

    def _ipython_display_(self) -> None:
        """Nothing: ``check`` has printed the message already."""


def size_text(case: Mapping) -> str:
    """{"rows": 3, "columns": 4} -> "rows=3, columns=4"."""
    return ", ".join(f"{name}={value}" for name, value in case.items())


def verdict_of(reason: str, case: Mapping, what: str, then: str = "") -> Verdict:
    """What is wrong, for which sizes, and what to do next."""
    lines = [f"{reason}, for {size_text(case)}: {what}"] + ([f"Next: {then}"] if then else [])
    return Verdict(False, reason, "\n".join(lines))


def error_verdict(error: EmulatorError, case: Mapping) -> Verdict:
    """What stopped the kernel: a fault a GPU would have too is a hazard, anything else an error."""
    if isinstance(error, StepBudgetError) and error.hazards:  # the likely reason that it did not end
        stopped = str(error).split(": ", 1)[1].split(";")[0]
        return hazard_verdict(error.hazards, case, f"\nThe kernel did not end, either: {stopped}.")
    if isinstance(error, MemoryAccessError):
        step = "Guard the access or check the index expression: only an index inside the array may be used."
        return verdict_of("hazard", case, str(error), step)
    if isinstance(error, DeadlockError):
        kind = "divergent barrier" if error.whole else "named barrier never completes"
        return verdict_of("hazard", case, str(error), NEXT_STEP[kind])
    if isinstance(error, CompileError):
        step = "Mend the first error; later ones often follow from it."
        return Verdict(False, "error", f"error, CompileError: {error}\nNext: {step}")
    step = (
        "Look at the loop: does each turn bring its end nearer?" if isinstance(error, StepBudgetError) else ""
    )
    return verdict_of("error", case, f"{type(error).__name__}: {error}", step)


def hazard_verdict(hazards: list, case: Mapping, besides: str = "") -> Verdict:
    """The first finding, and how many more there are; a copy not waited for looks like a race, too."""
    first = min(hazards, key=lambda hazard: not hazard.kind.startswith("asynchronous"))
    more = f" ({len(hazards) - 1} more)" if len(hazards) > 1 else ""
    return verdict_of("hazard", case, f"{first}{more}{besides}", NEXT_STEP.get(first.kind, ""))
