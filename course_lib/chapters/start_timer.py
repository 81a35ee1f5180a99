"""Chapter 00: the exercise of mending a timing function, judged on a simulated GPU.

`check_timer` runs the reader's function against `SimulatedGpu`, whose true time is known.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass

from ..exercises import Hints, Verdict
from .start_clock import COMPILE_MS, NotReadyError, SimulatedGpu

KERNELS_MS = (2.0, 0.2, 0.02)
TOLERANCE = 0.03
FEWEST = 5

STUB = """
def my_time(cp, launch, flush, clock):
    start = clock()
    launch()
    return 1e3 * (clock() - start)
"""

SOLUTION = """
def my_time(cp, launch, flush, clock):
    launch()  # compiles
    times = []
    for _ in range(20):
        start, stop = cp.cuda.Event(), cp.cuda.Event()
        flush()  # empties L2
        start.record()
        launch()
        stop.record()
        stop.synchronize()
        times.append(cp.cuda.get_elapsed_time(start, stop))
    return sorted(times)[len(times) // 2]
"""


@dataclass
class TimerExercise(Hints):
    """`my_time(cp, launch, flush, clock)` must return the kernel's milliseconds with an empty L2."""

    hints: tuple[str, ...]
    name = "mend_clock"  # the folder of its wrong answers


mend_clock = TimerExercise(
    (
        "Two events mark the queue of the GPU: start.record(), launch(), stop.record(). Wait for the second.",
        "The first launch compiles: make one that is not timed. Call flush() before each start.record().",
        "Do it 20 times, keep the times in a list, and return the one in the middle of the sorted list.",
    )
)


def check_timer(function: Callable) -> Verdict:
    """Judge a timing function by what it says of kernels whose time is known; print what to do next."""
    verdict = next(filter(None, (_judge(function, ms) for ms in KERNELS_MS)), None)
    if verdict is None:
        said = ", ".join(f"{ms:g}" for ms in KERNELS_MS)
        verdict = Verdict(True, "solved", f"solved: right within {TOLERANCE:.0%} for kernels of {said} ms.")
    print(verdict.message)
    return verdict


def _judge(function: Callable, kernel_ms: float) -> Verdict | None:
    """None if the function is right about a kernel that takes `kernel_ms`, else what is wrong."""
    cp = SimulatedGpu(kernel_ms)
    try:
        said = function(cp, cp.launch, cp.flush, cp.clock)
    except NotReadyError as error:
        return _wrong("not ready", f"{error}. The GPU had not reached the second event: wait for it first.")
    except Exception as error:  # the reader's own mistake: it is told, not raised
        return _wrong("error", f"{type(error).__name__}: {error}")
    if not isinstance(said, int | float):
        return _wrong("error", f"it returned {said!r}, not a number of milliseconds")
    if abs(said / kernel_ms - 1) <= TOLERANCE and cp.launches > FEWEST:
        return None
    reason, advice = _diagnosis(cp, float(said), kernel_ms)
    return _wrong(reason, f"a kernel of {kernel_ms:g} ms was said to take {said:.4g} ms. {advice}")


def _diagnosis(cp: SimulatedGpu, said: float, kernel_ms: float) -> tuple[str, str]:
    """The most likely mistake behind a wrong time: (reason, advice)."""
    if abs(1e3 * said / kernel_ms - 1) < 0.2:
        return "unit", "Is that in seconds? Milliseconds are asked for."
    if cp.busy_until > cp.now:
        return (
            "not waited for",
            "The GPU was still working then: that is compiler and launch. Wait for the GPU.",
        )
    if said > kernel_ms + COMPILE_MS / 50:
        return "compile", "The first launch compiles. Make one before you time any."
    if cp.launches <= FEWEST:
        return "one run", "A single run may be a disturbed one. Time 20, and take the median."
    if said < kernel_ms:
        return (
            "warm",
            "From the second launch on, the arrays are in L2. Call flush() before each timed launch.",
        )
    return "disturbed", "Disturbed runs, or launches, are in it: take the median of times between two events."


def _wrong(reason: str, what: str) -> Verdict:
    return Verdict(False, reason, f"not solved yet: {what}\nStuck? Call mend_clock.hint().")


def source(function: Callable) -> str:
    """The source of a function, as the library has it."""
    return inspect.getsource(function).rstrip()
