"""Exercises in which the reader writes a Python function of the host, judged on the stand-in everywhere.

The function's source is run again with the stand-in as `cp`, whatever `cp` is in the notebook. It gets
everything else as arguments. What it calls is counted, and what its streams leave without order is a hazard.
"""

import ast
import inspect
import textwrap
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import standin
from .emulator.errors import ArgumentWarning, EmulatorError, HazardWarning
from .exercises import Exercise, Verdict, compare, judged, keeps_promises, verdict_of
from .pictures.style import number_text
from .promises import Kept
from .standin.copies import CHANGED
from .standin.ledger import arrivals, counted_calls, operations, stream_hazards

ORDER = "Let the stream wait for an event that the other has recorded, or give both to one stream."
WAIT = "Change the numbers after the wait for the copy, or put the new ones into memory of their own."


@dataclass(frozen=True)
class Program:
    """One run of the reader's function: ``entry(cp, *args)``, after which ``output`` is looked at.

    ``inputs``: what the specification is called with; it returns what ``output`` must hold. ``promised``:
    whether the promises hold for this shape.
    """

    args: tuple
    output: np.ndarray
    inputs: tuple
    promised: bool = True


@dataclass
class HostExercise(Exercise):
    """As an `Exercise`, but ``stub`` and ``solution`` are Python functions named ``entry``.

    ``launch`` gives a `Program` of the sizes of a case, with arrays of the stand-in. Promises are about
    the numbers that `counted_calls` gives, and the sizes of the case.
    """

    takes = "a Python function or its source"
    place = "exercises."  # its own name is the function's
    unwritten = "NaN marks what never arrived: was every part ordered, and was it waited for?"
    wrong = "Which data did the kernels read for this element, and were they there in time?"

    def is_stub(self, source: str) -> bool:
        """Whether the source does what the stub does; a docstring or a comment makes no difference."""
        try:
            return _meaning(source) == _meaning(self.stub)
        except SyntaxError:
            return False

    def source_of(self, answer: object) -> str | None:
        """The source of a function, or of a string.

        Raises:
            TypeError: a function that was not read from a file or a cell.
        """
        if not inspect.isfunction(answer):
            return answer if isinstance(answer, str) else None
        try:
            return textwrap.dedent(inspect.getsource(answer))
        except OSError as error:
            text = f"the source of {answer.__name__!r} is not known: define it in a cell, or pass its source"
            raise TypeError(text) from error

    def judge(self, source: str, answer: object) -> Verdict:
        """Run every case; the first thing that is wrong, or a verdict that it is solved."""
        try:
            function = _defined(source, self.entry, answer)
        except (Exception, SystemExit) as error:
            what, then = _error_text(error, self.entry)
            return Verdict(False, "error", f"error, {what}\nNext: {then}")
        return judged(self, lambda case, report: self._judge_case(function, case, report))

    def _judge_case(self, function: Callable, case: Mapping, report: list[Kept]) -> Verdict | None:
        _clean_up()
        program: Program = self.launch(**case)
        expected = np.array(self.spec(*program.inputs))
        standin.cuda.Device().synchronize()
        with _hazards() as hazards:  # what is left of the copies is waited for in it: a hazard may show late
            try:
                with _watched() as (done, arrived):
                    function(standin, *program.args)
                    got = np.array(program.output)
            except (Exception, EmulatorError, SystemExit) as error:
                return verdict_of("error", case, *_error_text(error, self.entry))
            finally:
                _clean_up()
        if hazards:
            more = f" ({len(hazards) - 1} more)" if len(hazards) > 1 else ""
            then = WAIT if hazards[0] == CHANGED else ORDER
            return verdict_of("hazard", case, f"{hazards[0]}{more}", then)
        wrong = compare(self, got, expected, case) or _by_the_host(got, arrived, case)
        if wrong is not None or not program.promised:
            return wrong
        return keeps_promises(self, counted_calls(done) | dict(case), case, report)


@contextmanager
def _hazards() -> Iterator[list[str]]:
    """What the streams of the block leave without order: for a verdict, so nothing warns of it."""
    with warnings.catch_warnings(), stream_hazards() as hazards:
        warnings.simplefilter("ignore", HazardWarning)
        warnings.simplefilter("ignore", ArgumentWarning)
        yield hazards


@contextmanager
def _watched() -> Iterator[tuple]:
    """What the block does with the stand-in: operations, and what copies bring to the host.

    The current stream is the default one, and afterwards whichever it was before.
    """
    with standin.work.own_current_stream(), operations() as done, arrivals() as arrived:
        yield done, arrived


def _by_the_host(got: np.ndarray, arrived: Sequence[np.ndarray], case: Mapping) -> Verdict | None:
    """A verdict where an element of the answer is nothing that a copy has brought from the GPU."""
    brought = np.concatenate([np.zeros(0, got.dtype), *(one.ravel() for one in arrived)])
    own = ~np.isin(got, brought) & ~np.isnan(got)
    if not own.any():
        return None
    what = f"the answer is right, but {number_text(own.sum())} of its elements did not come from the GPU."
    return verdict_of(
        "counter", case, what, "Let the kernels compute, and get copy, and wait before you return."
    )


def _defined(source: str, entry: str, answer: object) -> Callable:
    """The function of that name in the source; it sees what the reader's own function sees."""
    around = inspect.unwrap(answer).__globals__ if inspect.isfunction(answer) else {}
    names: dict[str, Any] = {**around, "np": np}
    exec(compile(source, f"<{entry}>", "exec"), names)
    if not callable(names.get(entry)):
        raise NameError(f"there is no function {entry!r}")
    return names[entry]


def _error_text(error: BaseException, entry: str) -> tuple[str, str]:
    """What was raised and in which line of the answer, and what to do next."""
    file, what = f"<{entry}>", f"{type(error).__name__}: {error}"
    lines = [
        line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == file
    ]
    if isinstance(error, SyntaxError) and error.filename == file and error.lineno:
        what, lines = f"{type(error).__name__}: {error.msg}", [error.lineno]
    if not lines:  # the call itself did not fit
        return what, f"Keep the name and the parameters of the stub, {entry}, then check again."
    return f"line {lines[-1]}, {what}", f"Mend line {lines[-1]} of {entry}, then check again."


def _meaning(source: str) -> str:
    """The syntax tree without docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree)


def _clean_up() -> None:
    """End captures that an error left open, and wait for what is left."""
    standin.work.abandon_captures()
    standin.cuda.Device().synchronize()
