"""Predictions: what is printed with no guess (as committed) and with one."""

import pytest

from course_lib.predictions import predict, reveal


def shown(capsys, *lines):
    assert capsys.readouterr().out.splitlines() == list(lines)


def test_without_a_guess_the_value_is_still_revealed(capsys):
    guess = predict("How many sectors?")
    shown(
        capsys, "How many sectors?", "No prediction yet: replace None by your answer and run this cell again."
    )
    reveal(guess, 5, "sectors")
    shown(capsys, "counted: 5 sectors. You made no prediction.")


@pytest.mark.parametrize(
    ("guess", "verdict"), [(5, "right."), (5.0, "right."), (4, "too low."), (32, "too high.")]
)
def test_a_number(capsys, guess, verdict):
    prediction = predict("How many sectors?", guess)
    capsys.readouterr()
    reveal(prediction, 5)
    shown(capsys, f"counted: 5. You predicted {guess:g}: {verdict}")


def test_tolerance_and_label(capsys):
    prediction = predict("How many ms?", 1.05)
    capsys.readouterr()
    reveal(prediction, 1.0, "ms", tolerance=0.1, evidence="modelled")
    shown(capsys, "modelled: 1 ms. You predicted 1.05: right.")
    with pytest.raises(ValueError, match="unknown evidence"):
        reveal(prediction, 1.0, evidence="guessed")


def test_choices(capsys):
    prediction = predict("Faster or slower?", "faster", choices=("faster", "slower"))
    reveal(prediction, "slower")
    shown(
        capsys,
        "Faster or slower?",
        "Your prediction: faster",
        "counted: slower. You predicted faster: not so.",
    )
    predict("Faster or slower?", choices=("faster", "slower"))
    assert "replace None by one of 'faster', 'slower'" in capsys.readouterr().out
    with pytest.raises(ValueError, match="not one of the choices"):
        predict("Faster or slower?", "same", choices=("faster", "slower"))


def test_words_for_a_number(capsys):
    reveal(predict("How many sectors?", "thirty-two"), 32)
    assert capsys.readouterr().out.endswith(
        "counted: 32. You predicted 'thirty-two': give a number, to compare it.\n"
    )
