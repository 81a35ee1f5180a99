"""The reader commits to a value before the cell that reveals it: ``predict`` first, ``reveal`` later."""

from collections.abc import Sequence
from dataclasses import dataclass

from .pictures.style import evidence_style, number_text


@dataclass(frozen=True)
class Prediction:
    """A question and what the reader answered; None means no answer yet."""

    question: str
    value: object = None


def predict(question: str, guess: object = None, *, choices: Sequence = ()) -> Prediction:
    """Print the question and the guess, and keep it for ``reveal``.

    A notebook is committed with the guess None. ``choices``: what may be answered; anything else is a
    ValueError.
    """
    if guess is not None and choices and guess not in choices:
        raise ValueError(f"{guess!r} is not one of the choices: {', '.join(map(repr, choices))}")
    print(question)
    if guess is None:
        allowed = f"one of {', '.join(map(repr, choices))}" if choices else "your answer"
        print(f"No prediction yet: replace None by {allowed} and run this cell again.")
    else:
        print(f"Your prediction: {guess}")
    return Prediction(question, guess)


def reveal(
    prediction: Prediction,
    actual: object,
    unit: str = "",
    *,
    tolerance: float = 0.0,
    evidence: str = "counted",
) -> None:
    """Print the actual value and how the prediction compares.

    ``tolerance``: relative error up to which a number counts as right. ``evidence``: the label of the
    actual value.
    """
    evidence_style(evidence)
    print(
        f"{evidence}: {_show(actual)} {unit}".rstrip() + ". " + _compare(prediction.value, actual, tolerance)
    )


def _compare(guess: object, actual: object, tolerance: float) -> str:
    """One sentence about the guess."""
    if guess is None:
        return "You made no prediction."
    if _is_number(actual) and isinstance(guess, str):
        return f"You predicted {guess!r}: give a number, to compare it."
    if not (_is_number(guess) and _is_number(actual)):
        return f"You predicted {guess}: {'right' if guess == actual else 'not so'}."
    if abs(guess - actual) <= tolerance * abs(actual):
        return f"You predicted {_show(guess)}: right."
    return f"You predicted {_show(guess)}: too {'low' if guess < actual else 'high'}."


def _is_number(value: object) -> bool:
    return hasattr(value, "__float__") and not isinstance(value, bool)


def _show(value: object) -> str:
    return number_text(value) if _is_number(value) else str(value)
