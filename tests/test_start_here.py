"""Chapter 00: the map of the course, its sweeps, pictures and sliders."""

import pytest

from course_lib.chapters import start_clock, start_timer
from course_lib.chapters.course_map import CHAPTERS, chapter


def test_the_map_has_every_chapter_once_in_order():
    assert [one.number for one in CHAPTERS] == list(range(14))
    assert len({one.topic for one in CHAPTERS}) == 14
    assert chapter("tiling").notebook == "02_tiling.ipynb"
    assert chapter("tiling").link("notebooks/") == "[02_tiling](notebooks/02_tiling.ipynb)"
    with pytest.raises(KeyError, match="coalescing"):
        chapter("nothing")


# -- the simulated clock and the exercise on it ------------------------------------------


def timer(source: str):
    space: dict = {}
    exec(source, space)
    return space["my_time"]


EVENTS = """    start, stop = cp.cuda.Event(), cp.cuda.Event()
    start.record()
    launch()
    stop.record()
"""
LOOP = """    times = []
    for _ in range(20):
        start, stop = cp.cuda.Event(), cp.cuda.Event()
        BEFORE
        start.record()
        launch()
        stop.record()
        stop.synchronize()
        times.append(cp.cuda.get_elapsed_time(start, stop))
"""
WRONG_TIMERS = {
    "not waited for": start_timer.STUB.split("\n", 2)[2],
    "not ready": "    launch()\n" + EVENTS + "    return cp.cuda.get_elapsed_time(start, stop)",
    "compile": EVENTS + "    stop.synchronize()\n    return cp.cuda.get_elapsed_time(start, stop)",
    "one run": "    launch()\n    flush()\n"
    + EVENTS
    + "    stop.synchronize()\n    return cp.cuda.get_elapsed_time(start, stop)",
    "warm": "    launch()\n" + LOOP.replace("BEFORE", "pass") + "    return sorted(times)[10]",
    "disturbed": "    launch()\n" + LOOP.replace("BEFORE", "flush()") + "    return sum(times) / 20",
    "unit": "    launch()\n" + LOOP.replace("BEFORE", "flush()") + "    return sorted(times)[10] / 1000",
    "error": "    return None",
}


@pytest.mark.parametrize("reason", WRONG_TIMERS)
def test_each_wrong_timer_is_turned_down_for_its_reason(reason, capsys):
    verdict = start_timer.check_timer(
        timer(f"def my_time(cp, launch, flush, clock):\n{WRONG_TIMERS[reason]}")
    )
    assert (verdict.solved, verdict.reason) == (False, reason)
    assert capsys.readouterr().out.startswith("not solved yet")


def test_the_mended_timer_is_accepted():
    assert start_timer.check_timer(timer(start_timer.SOLUTION)).solved
    assert start_timer.check_timer(start_clock.between_events_of_many).solved


def test_the_simulated_clock_is_misled_as_a_real_one():
    """By hand: a launch of 4.5 µs, a kernel of 0.2 ms."""
    fresh = lambda: start_clock.SimulatedGpu(0.2, launches=1)  # noqa: E731
    by = {}
    for one in (start_clock.host_unsynchronised, start_clock.host_synchronised, start_clock.between_events):
        gpu = fresh()
        by[one.__name__] = one(gpu, gpu.launch, gpu.flush, gpu.clock)
    assert by["host_unsynchronised"] == pytest.approx(0.0045)
    assert by["host_synchronised"] == pytest.approx(0.2045)
    assert by["between_events"] == pytest.approx(0.2)


def test_hints_of_the_timer_come_one_by_one(capsys):
    exercise = start_timer.TimerExercise(("first",))
    exercise.hint()
    exercise.hint()
    assert capsys.readouterr().out.splitlines()[0] == "Hint 1 of 1: first"
