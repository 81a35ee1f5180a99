"""Judging functions of the host: what the notebook left open, what a function leaves behind and calls."""

import functools

import pytest

from course_lib import standin as cp
from course_lib.chapters import all_exercises
from course_lib.exercises import check

IN_CHUNKS, REPLAY = (all_exercises()[name] for name in ("in_chunks", "replay"))


def blocks(n):
    return (n + 127) // 128


def logged(function):
    @functools.wraps(function)
    def inner(*args):
        return function(*args)

    return inner


@logged
def in_chunks(cp, square, x, y, device, size, streams):
    given, made = device
    for turn, low in enumerate(range(0, x.size, size)):
        stream, high = streams[turn % len(streams)], min(low + size, x.size)
        with stream:
            given[low:high].set(x[low:high])
            n = np.int32(high - low)  # noqa: F821
            square((blocks(high - low),), (128,), (made[low:high], given[low:high], n))
            made[low:high].get(out=y[low:high], blocking=False)
    for stream in streams:
        stream.synchronize()


@pytest.fixture(autouse=True)
def _as_before():
    before = cp.cuda.get_current_stream()
    yield
    cp.work.abandon_captures()
    before.use()


def test_a_function_may_use_what_is_around_it():
    assert check(IN_CHUNKS, in_chunks).solved


def test_a_capture_left_open_before():
    stream = cp.cuda.Stream(non_blocking=True).use()
    stream.begin_capture()
    assert check(IN_CHUNKS, IN_CHUNKS.solution).solved
    assert not stream.is_capturing()


def test_the_current_stream_is_the_readers_again():
    mine = cp.cuda.Stream(non_blocking=True).use()
    source = IN_CHUNKS.solution.replace("with stream:", "if stream.use():")
    assert check(IN_CHUNKS, source).solved
    assert cp.cuda.get_current_stream() is mine


@pytest.mark.parametrize("source", ["raise SystemExit", "def replay(*args):\n    raise SystemExit('bye')"])
def test_leaving_python_is_an_error_of_the_answer(source):
    assert check(REPLAY, source).reason == "error"


def test_a_function_without_a_source():
    names = {}
    exec("def replay(*args): pass", names)
    with pytest.raises(TypeError, match="the source of 'replay' is not known: define it in a cell"):
        check(REPLAY, names["replay"])
    with pytest.raises(TypeError, match="check takes a Python function or its source, not int"):
        check(REPLAY, 3)


def test_an_answer_of_the_host_is_no_answer(capsys):
    verdict = check(IN_CHUNKS, IN_CHUNKS.solution.replace("stream.synchronize()", "y[:] = x * x"))
    assert verdict.reason == "counter"
    assert "1,024 of its elements did not come from the GPU" in capsys.readouterr().out


def test_a_graph_counts_its_kernels_only(capsys):
    source = REPLAY.solution.replace(
        "stream.begin_capture()", "stream.begin_capture()\n        rods[1].fill(0)"
    )
    assert check(REPLAY, source).solved


@pytest.mark.filterwarnings("error")
def test_a_hazard_that_shows_in_the_last_wait_is_in_the_verdict():
    early = "with streams[0]:\n        device[0].set(x)\n    x[:] = 0\n"
    verdict = check(IN_CHUNKS, f"def in_chunks(cp, square, x, y, device, size, streams):\n    {early}")
    assert verdict.reason == "hazard"
    assert "the host changed pinned memory before the copy" in verdict.message
    assert "\nNext: Change the numbers after the wait for the copy" in verdict.message


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["x[:] = 1", "1 / 0"], ", streams=2: line 3, ZeroDivisionError: division by zero\n"),
        (["def f():", "    int('a')", "f()"], ": line 3, ValueError: invalid literal"),
        (["device[0].set(", "    x.no)"], ": line 3, AttributeError: "),
        (["with streams[0] as s:", "    s.begin_capture()", "    cp.zeros(3)"], ": line 4, RuntimeError: "),
        (["x = ("], "error, line 2, SyntaxError: '(' was never closed\n"),
    ],
)
def test_an_error_names_the_line_to_mend(lines, said):
    body = "".join(f"    {line}\n" for line in lines)
    verdict = check(IN_CHUNKS, f"def in_chunks(cp, square, x, y, device, size, streams):\n{body}")
    assert verdict.reason == "error"
    assert said in verdict.message
    number = said.split("line ")[1].split(",")[0]
    assert verdict.message.endswith(f"\nNext: Mend line {number} of in_chunks, then check again.")


@pytest.mark.parametrize(
    ("source", "said"),
    [("def in_chunks(cp): pass", "in_chunks() takes 1 positional"), ("def chunks(): pass", "no function")],
)
def test_a_call_that_does_not_fit_points_to_the_stub(source, said):
    verdict = check(IN_CHUNKS, source)
    assert verdict.reason == "error"
    assert said in verdict.message
    assert verdict.message.endswith(
        "\nNext: Keep the name and the parameters of the stub, in_chunks, then check again."
    )
