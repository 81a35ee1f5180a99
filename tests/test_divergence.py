"""Chapter 04: its recorded kernels, its views at the ends of every slider, and its notebooks."""

import ast
import json
from pathlib import Path

import numpy as np
import pytest

from course_lib import standin as cp
from course_lib.agreement import modelled_sweep
from course_lib.chapters import divergence_sweeps as sweeps
from course_lib.chapters import divergence_views as views
from course_lib.chapters.divergence_picture import lane_timeline, line_colours
from course_lib.emulator import RawKernel
from course_lib.points import Point
from course_lib.profile import profile
from course_lib.recorded import PROVENANCE, TIMES, Table
from course_lib.sliders import explore
from course_lib.sweeps import sweep
from course_lib.timeline import Step, Timeline

ROOT = Path(__file__).parents[1]
CHAPTER = ROOT / "notebooks" / "04_divergence.ipynb"

LANES = "smsp__thread_inst_executed_per_inst_executed.ratio"
DIVERGENT = "course__branches_divergent.sum"


def cells(path: Path) -> dict[str, str]:
    """Cell id -> source."""
    book = json.loads(path.read_text(encoding="utf-8"))
    return {cell["id"]: "".join(cell["source"]) for cell in book["cells"]}


def source(kernel: str) -> str:
    """The CUDA source of the chapter that defines a kernel."""
    texts = [text for id_, text in cells(CHAPTER).items() if not id_.endswith("text") and "RawKernel" in text]
    strings = [n.value for text in texts for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Constant)]
    return next(s for s in strings if isinstance(s, str) and f"void {kernel}(" in s)


def run(point: Point) -> list[np.ndarray]:
    """The arguments after the launch; the output comes first."""
    arguments = point.arguments(cp)
    point.kernel.compile(cp)(point.grid, point.block, arguments)
    return [np.asarray(argument) for argument in arguments]


def counted(point: Point):
    return profile(point.kernel.compile(cp), point.grid, point.block, point.arguments(cp))


def iterate(v: np.ndarray, rounds: np.ndarray | int, first: bool) -> np.ndarray:
    """The kernels' two recurrences in float64; both forget small errors."""
    v, rounds = v.astype(float), np.broadcast_to(rounds, v.shape)
    for k in range(int(rounds.max())):
        v = np.where(k < rounds, v * v - 0.5 if first else 0.75 - 0.25 * v, v)
    return v


def after(x: np.ndarray, trips: np.ndarray) -> np.ndarray:
    """64 steps v -> a v + b for every trip, in closed form; a trip more or less changes x = 0 by 3 %."""
    a, b = float(np.float32(0.9995)), float(np.float32(0.0005))
    limit = b / (1 - a)
    return limit + (x - limit) * a ** (64.0 * trips)


def test_every_group_size_gives_the_same_answer():
    points = sweeps.parity(512)
    outputs = [run(point)[0] for point in points]
    x = run(points[0])[1]
    np.testing.assert_allclose(outputs[0][::2], iterate(x[::2], sweeps.ROUNDS, True), rtol=1e-5)
    np.testing.assert_allclose(outputs[0][1::2], iterate(x[1::2], sweeps.ROUNDS, False), rtol=1e-5)
    for output in outputs[1:]:
        np.testing.assert_array_equal(output, outputs[0])


def test_groups_of_a_warp_or_more_never_diverge():
    divergent = {p.columns["group"]: counted(p)[DIVERGENT] for p in sweeps.parity(512)}
    assert divergent == {1: 16, 2: 16, 4: 16, 8: 16, 16: 16, 32: 0, 64: 0}  # 512 threads are 16 warps


@pytest.mark.parametrize("taken", [0, 1, 31, 32])
def test_the_first_lanes_take_the_branch(taken):
    point = sweeps.taken(256)[taken]
    y, x = run(point)[:2]
    lane = np.arange(256) % 32
    rounds = sweeps.ROUNDS // 2
    expected = np.where(lane < taken, iterate(x, 2 * rounds, True), iterate(x, rounds, False))
    np.testing.assert_allclose(y, expected, rtol=1e-5)
    assert counted(point)[DIVERGENT] == (8 if 0 < taken < 32 else 0)


@pytest.mark.parametrize("differ", ["lane", "warp"])
@pytest.mark.parametrize("spread", [0, 6, 60])
def test_a_spread_keeps_the_total_and_has_the_range(differ, spread):
    trips = sweeps.spread_trips(cp, 2048, differ, spread)
    assert trips.dtype == np.int32
    assert trips.mean() == sweeps.MEAN
    assert trips.max() - trips.min() == spread
    assert (trips[:32] == trips[0]).all() == (differ == "warp" or spread == 0)


def test_uneven_loops_run_as_often_as_told():
    for point in sweeps.trips(1024)[::7]:
        y, x, trips = run(point)[:3]
        np.testing.assert_allclose(y, after(x, trips), rtol=1e-3)


def test_only_a_spread_over_lanes_costs_lanes():
    by_lane, by_warp = (counted(point) for point in sweeps.trips(2048)[10::11])
    assert by_warp[LANES] == 32
    assert by_lane[LANES] == pytest.approx(32 * 32 / 62, rel=0.02)  # 32 trips on average, 62 at most


def test_every_order_gives_the_same_answer_and_names_every_element_once():
    points = sweeps.regroup(1024)
    first = run(points[0])
    for point in points[1:3]:
        y, _, trips, order, _ = run(point)
        np.testing.assert_array_equal(np.sort(order), np.arange(1024))
        np.testing.assert_array_equal(y, first[0])
        np.testing.assert_array_equal(trips, first[2])
        np.testing.assert_allclose(y, after(first[1], trips), rtol=1e-3)
    assert (np.diff(run(points[3])[2]) <= 0).all()
    lanes = [counted(point)[LANES] for point in points]
    assert lanes == sorted(lanes)
    assert (first[2].min(), first[2].max()) == (1, 128)


def test_the_calls_beside_them_sort_and_move():
    argsort, move = (call.launcher(cp)() for call in sweeps.regroup_calls(512))
    trips = sweeps.random_trips(cp, 512)
    assert (np.diff(trips[argsort]) >= 0).all()
    assert move.shape == (512,)


# By hand: two sides in turn take the time of both, and the longest lane decides for its warp.
def test_modelled_times_follow_the_masks():
    names = ("parity", "taken", "trips")
    ms = {name: [time.ms for time in modelled_sweep(f"divergence_{name}")] for name in names}
    assert ms["parity"][0] / ms["parity"][-1] == pytest.approx(2, rel=0.05)
    none, some, every = ms["taken"][0], ms["taken"][1], ms["taken"][32]
    assert some == pytest.approx(none + every, rel=0.03)
    assert max(ms["taken"][1:32]) == min(ms["taken"][1:32])
    assert ms["trips"][10] / ms["trips"][0] == pytest.approx(62 / 32, rel=0.02)
    assert ms["trips"][21] == ms["trips"][11]


def test_the_arrays_are_larger_than_the_l2_cache():
    for name in ("parity", "rounds", "taken", "trips", "regroup"):
        chosen = sweep(f"divergence_{name}")
        assert all(point.useful_bytes > 60 << 20 for point in chosen.points(chosen.size)[:1])


# -- views, picture and notebook ---------------------------------------------------


SOME_LANES, UNEVEN = (kernel.compile(cp) for kernel in (sweeps.SOME_LANES, sweeps.UNEVEN))


# By hand, in blocks of 16 rounds: 4 of the long side, 2 of the short one, both where the lanes disagree.
@pytest.mark.parametrize("taken", [0, 8, 32])
def test_taken_slider(taken):
    text = views.taken_view(SOME_LANES)(taken)[1]
    divergent = 8 if 0 < taken < 32 else 0
    assert text.startswith(f"{taken} of 32 lanes in the branch: ")
    assert f"{divergent} divergent of" in text


@pytest.mark.parametrize(("spread", "ends"), [(0, "32 to 32"), (24, "20 to 44"), (62, "1 to 63")])
def test_spread_slider(spread, ends):
    text = views.spread_view(UNEVEN)(spread)[1]
    assert text.startswith(f"{ends} trips, 32 on average: ")
    assert ("32 active lanes" in text) == (spread == 0)


@pytest.mark.parametrize(
    ("view", "values"),
    [
        (views.taken_view(SOME_LANES), {"taken": range(33)}),
        (views.spread_view(UNEVEN), {"spread": range(0, 63, 2)}),
    ],
)
def test_sliders_run_at_start_first_and_last(view, values, capsys):
    explorer = explore(view, **values)
    assert capsys.readouterr().out
    for chosen in explorer.extremes():
        figure, text = view(**chosen)
        assert figure.axes
        assert "warp instructions" in text


def test_one_lane_costs_what_31_cost():
    none, one, most, every = (views.instructions_by_taken(SOME_LANES, taken) for taken in (0, 1, 31, 32))
    assert one == most
    assert one > every > none


def test_the_picture_has_a_box_for_every_stretch_of_every_lane():
    half = np.arange(32) < 16
    steps = (Step(3, 4, np.ones(32, bool)), Step(4, 10, half), Step(4, 6, half), Step(5, 5, ~half))
    found = Timeline("k", steps, ("", "", "a;", "b;", "c;"))
    figure = lane_timeline(found, "k", lines=(4, 5), room=100)
    busy, idle = figure.axes[0].collections[:2]
    assert (len(busy.get_paths()), len(idle.get_paths())) == (32 + 16 + 16, 16 + 16)
    assert figure.axes[0].get_xlim() == (0, 100)
    # 4 x 32 + 16 x 16 + 5 x 16 lanes over 25 instructions
    assert figure.axes[0].get_title() == "k: 25 instructions, 18.6 of 32 lanes active on average"
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert words == ["line 4: b;", "line 5: c;", "other lines", "idle lane"]


def test_lines_with_little_share_get_no_colour_and_nothing_is_drawn_of_nothing():
    every = np.ones(32, bool)
    found = Timeline("k", (Step(1, 1, every), Step(2, 50, every), Step(3, 49, every)), ("a", "b", "c"))
    assert list(line_colours(found)) == [2, 3]
    assert lane_timeline(Timeline("k", (), ())).axes


def test_branches_in_ptx_and_sass():
    kernels = {name: RawKernel(source(name), name) for name in ("light", "even")}
    kernels["by_lane"] = sweeps.TWO_SIDES.define(GROUP=1).compile(cp)
    rows = {row[0].text: [cell.text for cell in row[1:3]] for row in views.branch_table(kernels).rows}
    assert (rows["light"], rows["even"]) == (["0", "1"], ["1", "0"])
    assert views.with_branches(kernels) == "by_lane"
    assert "@P0 STG" in views.around_branch(kernels["even"], 5)


def test_idle_lanes_keep_the_fp32_units_busy():
    ffma = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"
    by_lane, by_warp = (counted(sweeps.parity(512)[k]) for k in (0, 5))
    assert by_lane[ffma] == by_warp[ffma] == by_warp["course__fp32_lanes.sum"] == 512 * sweeps.ROUNDS
    assert by_lane["course__fp32_lanes.sum"] == 2 * 512 * sweeps.ROUNDS


def test_a_branch_moves_the_time_only_where_issue_slots_are_the_limit():
    rows = {row[0].text: [cell.text for cell in row] for row in views.rounds_by_gpu().rows}
    assert (rows["H200"][3], rows["H200"][6]) == ("no", "yes, 2.0 times faster")
    assert rows["T4"][6] == "yes, 2.0 times faster"


def test_charts_show_the_model_and_what_was_recorded():
    figure = views.two_curves("divergence_trips", "spread", "differ")
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert {"by lane (modelled, H200)", "by warp (modelled, H200)"} <= set(labels)
    assert len(views.gains().splitlines()) == 5


def test_sentences_are_computed_from_the_tables(monkeypatch):
    ways = ("as they come", "sorted in blocks", "sorted and moved", "cp.argsort(trips)", "x[order]")
    table = Table(
        "t",
        dict.fromkeys(PROVENANCE, "x"),
        {"variant": np.array(ways), **{k: np.array([5.0, 3, 2.5, 1, 0.5]) for k in TIMES}},
    )
    monkeypatch.setattr(views, "recording", lambda name: table)
    bill = views.sorting_bill()
    for figure in (
        "2.50 ms faster than as they come",
        "0.50 ms faster than",
        "1.00 ms, and every",
        "0.50 ms (rec",
    ):
        assert figure in bill.replace("\n", " ")
    monkeypatch.setattr(views, "recording", lambda name: None)
    assert "not recorded yet" in views.sorting_bill()
    assert all("not recorded yet" in line for line in views.gains().splitlines())


@pytest.mark.parametrize(
    "kernel", [sweeps.TWO_SIDES, sweeps.SOME_LANES, sweeps.UNEVEN, sweeps.UNEVEN_ORDERED]
)
def test_the_kernels_of_the_chapter_are_the_recorded_ones(kernel):
    assert source(kernel.name) == kernel.source
