"""Chapter 00: the map of the course, its sweeps, pictures and sliders."""

import json
from pathlib import Path
from statistics import median

import numpy as np
import pytest
from matplotlib.text import Text

from course_lib import evidence
from course_lib import standin as cp
from course_lib.agreement import compare, modelled_sweep
from course_lib.chapters import start_clock, start_picture, start_timer
from course_lib.chapters import start_spread as spread
from course_lib.chapters import start_sweeps as sweeps
from course_lib.chapters import start_times as times
from course_lib.chapters import start_views as views
from course_lib.chapters.course_map import CHAPTERS, chapter
from course_lib.chapters.start_clock_picture import CLOCKS, clock_picture
from course_lib.chapters.start_kernels import WAYS
from course_lib.chapters.start_map import markdown_table
from course_lib.gpus import gpu, names
from course_lib.recorded import recorded


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


def test_the_mended_timer_is_accepted():
    assert start_timer.check_timer(timer(start_timer.SOLUTION)).solved
    assert start_timer.check_timer(another_good_timer).solved


def another_good_timer(cp, launch, flush, clock) -> float:
    launch()
    return median(start_clock.between_events(cp, launch, flush, clock) for _ in range(20))


def test_the_stub_of_the_timer_is_turned_down():
    assert start_timer.check_timer(timer(start_timer.STUB)).reason == "not waited for"


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


def test_the_picture_has_a_panel_for_each_clock_and_says_what_it_says():
    titles = [axes.get_title(loc="left") for axes in clock_picture(0.03).axes]
    assert len(titles) == len(CLOCKS)
    assert titles[0].endswith("says 4.5 µs, the kernel takes 30")


def test_hints_of_the_timer_come_one_by_one(capsys):
    exercise = start_timer.TimerExercise(("first",))
    exercise.hint()
    exercise.hint()
    assert capsys.readouterr().out.splitlines()[0] == "Hint 1 of 1: first"


# -- the machine, the roofline, and where to go next ---------------------------------------


@pytest.mark.parametrize("name", names())
def test_the_machine_is_drawn_for_every_gpu(name):
    figure, words = views.show_machine(name)
    shown = " ".join(text.get_text() for text in figure.axes[0].texts)
    assert f"{gpu(name).sms} SMs" in shown
    assert f"{gpu(name).memory.dram_gb_per_s:,.0f} GB/s" in shown
    assert f"{gpu(name).sms} SMs" in words


def test_rates_of_the_picture_by_hand():
    """Shared memory: 132 SMs x 128 bytes x 1.98 GHz. L2: what was recorded, and unknown on a T4."""
    assert start_picture.shared_gb_per_s(gpu("H200")) == pytest.approx(132 * 128 * 1.98)
    assert start_picture.l2_gb_per_s(gpu("H200")) == (8680, "recorded")
    assert start_picture.l2_gb_per_s(gpu("T4")) is None


@pytest.mark.parametrize("steps", [1, 16, 1024])
def test_the_roofline_of_steps_at_the_ends_of_its_slider(steps):
    figure, words = views.show_steps(steps)
    modelled = figure.roofline.points[0]
    assert modelled.intensity == pytest.approx(2 * steps / 12)
    assert modelled not in figure.roofline.above()
    assert words.startswith(f"{steps} multiply-adds")


def test_the_sum_by_hand():
    """Three arrays of 16,384 floats are 6,144 sectors. Pieces of 8 floats touch a sector for each lane."""
    near, pieces = (views.add_counts(way) for way in ("neighbours", "own pieces"))
    assert near[views.SECTORS] == near[views.FEWEST_SECTORS] == 3 * 16384 * 4 // 32
    assert pieces[views.SECTORS] == 8 * near[views.SECTORS]
    assert near["smsp__sass_thread_inst_executed_op_fadd_pred_on.sum"] == 16384


def test_a_small_sum_should_not_move_and_a_large_one_should_on_an_h200():
    verdicts = {(row[0].text, row[1].text): row[6].text for row in views.add_by_gpu().rows}
    assert verdicts["H200", "65,536"] == "no"
    assert verdicts["H200", "67,108,864"].startswith("yes")
    assert verdicts["T4", "67,108,864"] == "no"


def test_the_counters_send_to_coalescing_for_the_pieces_alone():
    rows = {row[3].text: row[4].text for row in views.where_next({w: views.add_counts(w) for w in WAYS}).rows}
    assert rows["01_coalescing"] == "own pieces"
    assert "02_tiling" not in rows
    assert {chapter.name for chapter in CHAPTERS} >= rows.keys() - {""}


# -- recorded times, and the clocks behind them ----------------------------------------------


CHARTS = {  # what each shows where nothing was recorded
    times.sizes_chart: "not recorded yet",
    times.every_chart: "modelled, H200",
    spread.runs_chart: "not recorded yet",
    spread.tail_chart: "not recorded yet",
}


@pytest.mark.parametrize("draw", CHARTS)
def test_charts_show_what_was_recorded(draw):
    assert "recorded, H200" in _words(draw())


@pytest.mark.parametrize("draw", CHARTS)
def test_charts_without_a_record_do_not_show_one(draw, nothing_recorded):
    words = _words(draw())
    assert CHARTS[draw] in words
    assert "recorded, H200" not in words


def _words(figure) -> str:
    """All texts of a figure: titles, labels, legends and notes."""
    return " | ".join(text.get_text() for text in figure.findobj(Text))


@pytest.mark.parametrize(
    "say", [times.sizes_words, times.every_words, spread.runs_words, spread.tail_words, spread.repeat_words]
)
def test_words_without_a_record_say_how_to_get_one(say, nothing_recorded):
    assert "python -m course_lib.record start_" in say()


def test_a_sum_from_l2_is_above_the_roof_and_the_caption_says_why():
    figure = spread.above_roof()
    assert [point.label for point in figure.roofline.above()] == ["from L2"]
    assert "the data came from L2" in figure.roofline.caption()


def test_what_nobody_waits_for_is_refused(capsys):
    times.refusals()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "simulated, get_elapsed_time: NotReadyError: cudaErrorNotReady: device not ready"
    assert all("Error: " in line for line in lines)


def test_the_clocks_of_the_host_run_and_return_milliseconds():
    for row in sweeps.clock(1 << 12)[1:]:
        read = row.launcher(cp)
        assert 0 < read() < 60_000


def test_every_launch_of_the_sums_is_right():
    for point in (*sweeps.add(1 << 12), *sweeps.sizes(1 << 12), *sweeps.steps(1 << 10)[:1]):
        args = point.arguments(cp)
        point.kernel.compile(cp)(point.grid, point.block, args)
        out, a, b = args[:3]
        expected = a * b + b if "steps" in point.columns else a + b
        np.testing.assert_allclose(out, expected, rtol=1e-6)


def test_twenty_launches_are_one_graph_with_the_same_answer():
    args = []
    launch = lambda: args.append(1)  # noqa: E731
    assert sweeps.several(cp, launch, 1) is launch
    point = sweeps.add_point("neighbours", 1 << 12, {})
    made = point.arguments(cp)
    kernel = point.kernel.compile(cp)
    several = sweeps.several(cp, lambda: kernel(point.grid, point.block, made), 3)
    made[0][:] = 0
    several()
    np.testing.assert_array_equal(made[0], made[1] + made[2])


def test_the_model_is_farthest_off_near_the_ridge():
    """Two resources almost equally slow hinder each other: the chapter says so of the record."""
    found = compare(recorded("h200", "start_steps"), modelled_sweep("start_steps"))
    steps = [point.columns["steps"] for point in sweeps.steps(1 << 12)]
    assert steps[int(found.ratio.argmin())] in (32, 64, 128)


def test_a_tail_has_one_block_more_than_20_waves():
    blocks = [point.columns["blocks"] for point in sweeps.tail(1)]
    assert {20 * 1056, 20 * 1056 + 1} <= set(blocks)
    assert blocks == sorted(blocks)


# -- the notebooks -----------------------------------------------------------------------


def cells(name: str) -> list[str]:
    path = Path(__file__).parents[1] / "notebooks" / name
    return ["".join(cell["source"]) for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]]


def test_the_map_in_the_notebook_is_the_map_of_the_course_and_its_links_lead_somewhere():
    path = Path(__file__).parents[1] / "notebooks/00_start_here.ipynb"
    shown = [
        "".join(output["data"].get("text/markdown", ""))
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
        for output in cell.get("outputs", [])
        if "data" in output
    ]
    assert shown.count(markdown_table()) == 1
    assert all((path.parent / one.notebook).exists() for one in CHAPTERS)


def test_the_timer_is_in_the_notebook_and_mended_in_its_twin():
    assert sum(start_timer.STUB.strip() in cell for cell in cells("00_start_here.ipynb")) == 1
    assert sum(start_timer.SOLUTION.strip() in cell for cell in cells("solutions/00_start_here.ipynb")) == 1


def test_on_a_gpu_the_table_of_gpus_ends_in_this_machine(monkeypatch):
    monkeypatch.setattr(evidence.backend, "on_gpu", lambda: True)
    monkeypatch.setattr(evidence, "device", lambda: gpu("H200"))
    assert str(views.add_by_gpu()).splitlines()[-1].startswith("H200, this machine")


@pytest.mark.parametrize("wait", ["Device().synchronize()", "runtime.deviceSynchronize()"])
def test_a_timer_may_wait_for_the_whole_device(wait):
    names: dict = {}
    exec(start_timer.SOLUTION.replace("stop.synchronize()", f"cp.cuda.{wait}"), names)
    assert start_timer.check_timer(names["my_time"]).solved


@pytest.mark.parametrize(
    ("name", "said"), [("cuda.Strem", "no Strem, only Event"), ("zeros", "no zeros, only")]
)
def test_what_the_simulated_gpu_lacks_is_named(name, said):
    names: dict = {}
    exec(f"def my_time(cp, launch, flush, clock):\n    return cp.{name}(3)\n", names)
    assert said in start_timer.check_timer(names["my_time"]).message
