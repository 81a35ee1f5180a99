"""Exercises: a specification in NumPy, a stub to fill in, and ``check``, which judges the reader's kernel.

A kernel is judged by the emulator on every machine, GPU or not, so the verdict is the same everywhere.
"""

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .emulator import RawKernel
from .emulator.errors import ArgumentWarning, EmulatorError, HazardWarning
from .emulator.signature import parse_signature
from .pictures.style import number_text
from .profile import profile
from .promises import Kept, Promise
from .verdicts import Verdict, error_verdict, hazard_verdict, size_text, verdict_of

STEP_BUDGET = 200_000  # ten times what the longest solution takes


@dataclass(frozen=True)
class Launch:
    """One run of the reader's kernel: ``kernel(grid, block, args, shared_mem=shared_mem)``.

    ``output``: the array among ``args`` that the kernel fills. ``inputs``: what the specification is called
    with; it returns what ``output`` must hold. ``promised``: whether the counter promises hold for this
    shape.
    """

    grid: tuple
    block: tuple
    args: tuple
    output: np.ndarray
    inputs: tuple
    shared_mem: int = 0
    promised: bool = True


class Hints:
    """Hints that come one by one, of a class with `hints`."""

    hints: Sequence[str]
    _shown = 0

    def hint(self) -> None:
        """Print the next hint."""
        if self._shown == len(self.hints):
            print("No more hints. The solutions are in notebooks/solutions.")
            return
        self._shown += 1
        print(f"Hint {self._shown} of {len(self.hints)}: {self.hints[self._shown - 1]}")


@dataclass
class Exercise(Hints):
    """What the reader must write and how it is judged.

    ``name``: unique, also the folder of its wrong kernels. ``task``: one or two sentences. ``entry``: the
    kernel's name. ``spec``: NumPy function of ``Launch.inputs``. ``launch``: function from the sizes of a
    case to a `Launch`. ``cases``: sizes, ragged ones too, such as ``{"rows": 33, "columns": 65}``.
    ``stub``: source the reader starts from; ``solution``: one that passes. ``promises``: bounds on
    counters. ``hints``: shown one by one by ``hint()``. ``rtol``: relative and absolute tolerance of a
    floating-point answer. ``picture``: optional function that draws what is asked for.
    """

    name: str
    task: str
    entry: str
    spec: Callable
    launch: Callable[..., Launch]
    cases: Sequence[Mapping]
    stub: str
    solution: str
    promises: Sequence[Promise] = ()
    hints: Sequence[str] = ()
    rtol: float = 1e-5
    options: tuple[str, ...] = ()
    picture: Callable | None = None
    takes = "a CUDA source string or a RawKernel"
    place = ""  # where a notebook has it, such as "exercises."
    unwritten = "NaN marks what was never written: does some thread write this element?"
    wrong = "Work out by hand which thread writes this element, and what it reads."

    def source_of(self, answer: object) -> str | None:
        """The source of what `check` was given; None where that is nothing it takes."""
        return answer if isinstance(answer, str) else getattr(answer, "code", None)

    def is_stub(self, source: str) -> bool:
        """Whether the source does what the stub does: equal but for comments and white space."""
        return code_only(source) == code_only(self.stub)

    def judge(self, source: str, answer: object) -> "Verdict":
        """Run every case on the emulator; `answer` may be a kernel with options of its own."""
        options = getattr(answer, "options", ()) or self.options
        emulated = RawKernel(source, getattr(answer, "name", self.entry), options)
        emulated.step_budget = getattr(answer, "step_budget", None) or STEP_BUDGET
        verdict = judged(self, lambda case, report: _judge_case(self, emulated, case, report))
        if not verdict.solved:
            verdict = replace(verdict, message=verdict.message + _other_parameters(self, source))
        return verdict

    def __repr__(self) -> str:
        lines = [f"Exercise {self.name}: {self.task}", f"  kernel: {self.entry}"]
        lines += [f"  shapes: {'; '.join(size_text(case) for case in self.cases)}"]
        lines += [f"  promise: {p.text} {p.relation} {_bound_text(p)}" for p in self.promises]
        return "\n".join(lines)


def _bound_text(promise: Promise) -> str:
    return "the ideal" if callable(promise.bound) or isinstance(promise.bound, str) else f"{promise.bound:g}"


def unwritten_array(*shape: int) -> np.ndarray:
    """A float32 array of this shape for a launch to write: NaN marks every element that no thread writes."""
    return np.full(shape, np.nan, np.float32)


def check(exercise: Exercise, kernel: object) -> Verdict:
    """Judge a kernel (a source string, or a RawKernel of CuPy or the emulator), print what to do next.

    It must give the right answer for every case, without hazards, and keep the promises. Never raises for
    what the kernel does wrong.
    """
    source = exercise.source_of(kernel)
    if not isinstance(source, str):
        raise TypeError(f"check takes {exercise.takes}, not {type(kernel).__name__}")
    if exercise.is_stub(source):
        message = f"not solved yet: fill in {exercise.entry!r}, then run this cell again.\n{exercise.task}"
        stuck = f"\nStuck? Call {exercise.place}{exercise.name}.hint()."
        verdict = Verdict(False, "unsolved", message + stuck)
    else:
        verdict = exercise.judge(source, kernel)
    print(verdict.message)
    return verdict


def _other_parameters(exercise: Exercise, source: str) -> str:
    """A line of advice if the kernel's parameters are of other types than the stub's."""
    stub, own = (parse_signature(text, exercise.entry) for text in (exercise.stub, source))
    if not stub or not own or [p.ctype for p in stub] == [p.ctype for p in own]:
        return ""
    return f"\nKeep the parameters of the stub: {', '.join(f'{p.ctype} {p.name}' for p in stub)}."


def code_only(source: str) -> str:
    """The source without comments and white space."""
    return re.sub(r"\s+", "", re.sub(r"//[^\n]*|/\*.*?\*/", "", source, flags=re.DOTALL))


def judged(exercise: Exercise, judge_case: Callable[[Mapping, list[Kept]], Verdict | None]) -> Verdict:
    """The first thing that is wrong, or a verdict that it is solved.

    It then has each promise, for the shape that came closest to its bound.

    `judge_case` judges one shape, and adds the promises that were kept to its second argument.
    """
    report: list[Kept] = []
    for case in exercise.cases:
        wrong = judge_case(case, report)
        if wrong is not None:
            return wrong
    shapes = f"{len(exercise.cases)} shape{'s' * (len(exercise.cases) != 1)}"
    closest: dict[Promise, Kept] = {}
    for kept in report:
        if kept.promise not in closest or kept.share > closest[kept.promise].share:
            closest[kept.promise] = kept
    lines = [f"solved: right answer for {shapes}, no hazard.", *(kept.text for kept in closest.values())]
    return Verdict(True, "solved", "\n".join(lines))


def _judge_case(exercise: Exercise, kernel: RawKernel, case: Mapping, report: list[Kept]) -> Verdict | None:
    """Judge one shape; kept promises are added to ``report``."""
    launch = exercise.launch(**case)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HazardWarning)  # reported below, as a verdict
            warnings.simplefilter("ignore", ArgumentWarning)  # the parameters are compared with the stub's
            counted = profile(kernel, launch.grid, launch.block, launch.args, launch.shared_mem)
            if counted.hazards:
                return hazard_verdict(counted.hazards, case)
            expected = np.array(exercise.spec(*launch.inputs))  # a copy: it may be a view of an input
            kernel(launch.grid, launch.block, launch.args, shared_mem=launch.shared_mem)
    except EmulatorError as error:
        return error_verdict(error, case)
    wrong = compare(exercise, launch.output, expected, case)
    if wrong is not None or not launch.promised:
        return wrong
    return keeps_promises(exercise, counted, case, report)


def compare(exercise: Exercise, got: np.ndarray, expected: np.ndarray, case: Mapping) -> Verdict | None:
    """None if the output is right, else the first element that is not."""
    if expected.shape != got.shape:
        raise ValueError(
            f"{exercise.name}: the specification gives shape {expected.shape}, the output has {got.shape}"
        )
    tolerance = exercise.rtol if got.dtype.kind == "f" else 0
    bad = ~np.isclose(got, expected, rtol=tolerance, atol=tolerance, equal_nan=True)
    if not bad.any():
        return None
    where = np.unravel_index(int(bad.argmax()), bad.shape)
    index = ", ".join(map(str, where))
    what = (
        f"{number_text(bad.sum())} of {number_text(bad.size)} elements differ; "
        f"first at [{index}]: expected {float(expected[where]):g}, got {float(got[where]):g}."
    )
    return verdict_of("wrong answer", case, what, _answer_advice(exercise, got[where], expected[where], case))


def _answer_advice(exercise: Exercise, got: np.generic, expected: np.generic, case: Mapping) -> str:
    """What a wrong element hints at."""
    if np.isnan(got):
        return exercise.unwritten
    if got.dtype.kind == "f" and np.isinf(got) and np.isfinite(expected):
        return "A number became too large for its format: in which format is the product, in which the sum?"
    if got.dtype.kind == "f" and abs(got - expected) < 0.005 * abs(expected):
        return "Nearly right: a rounding is too coarse. In which format is the product, in which the sum?"
    if case is not exercise.cases[0]:
        return f"{size_text(exercise.cases[0])} was right: look at the threads at the edge of this shape."
    return exercise.wrong


def keeps_promises(exercise: Exercise, counted: Mapping, case: Mapping, report: list[Kept]) -> Verdict | None:
    """None if every promise is kept for this shape, else the first broken one."""
    for promise in exercise.promises:
        value, bound, kept = promise.read(counted)
        said = (
            f"{promise.text}: counted {number_text(value)}, promised {promise.relation} {number_text(bound)}"
        )
        if not kept:
            return verdict_of("counter", case, f"the answer is right, but {said}.", promise.advice)
        share = bound / value if promise.relation == "at least" else value / bound if bound else 1.0
        report.append(Kept(promise, f"{said} ({size_text(case)})", share))
    return None
