"""Chapter 04: its recorded kernels, its views at the ends of every slider, and its notebooks."""

import numpy as np
import pytest

from course_lib import standin as cp
from course_lib.agreement import modelled_sweep
from course_lib.chapters import divergence_sweeps as sweeps
from course_lib.profile import profile
from course_lib.sweeps import Point, sweep

LANES = "smsp__thread_inst_executed_per_inst_executed.ratio"
DIVERGENT = "course__branches_divergent.sum"


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
