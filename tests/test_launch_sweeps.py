"""Chapter 11: what is recorded runs on the stand-in, in order, and computes what it should."""

import numpy as np
import pytest

from course_lib import standin as cp
from course_lib.chapters import launch_clocks as clocks
from course_lib.chapters import launch_kernels as k
from course_lib.chapters import launch_runs as runs
from course_lib.chapters import launch_sweeps as sweeps
from course_lib.points import Call
from course_lib.standin.ledger import operations

SMALL = {"launch_cost": 5, "launch_size": 2, "launch_rod": 10, "launch_copy": 64, "launch_streams": 1000}
ROWS = [
    pytest.param(row, id=f"{s.name}-{'-'.join(map(str, row.columns.values()))}")
    for s in sweeps.SWEEPS
    if s.name in SMALL
    for row in s.calls(SMALL[s.name])
    if row.columns.get("rounds", 0) == 0 and row.columns.get("chunks", 0) <= 16
]


@pytest.fixture(autouse=True)
def a_clock(monkeypatch):
    """The stand-in has none."""
    monkeypatch.setattr(cp.cuda, "get_elapsed_time", lambda start, stop: 1.0)
    monkeypatch.setattr(clocks, "AHEAD_US", 0)
    monkeypatch.setattr(clocks, "CLOCKS_PER_US", 1)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("row", ROWS)
def test_every_row_runs_in_order(row):
    launch = row.launcher(cp)
    cp.cuda.get_current_stream().synchronize()  # as before every reading
    found = launch()
    assert isinstance(row, Call) or found > 0


def test_a_row_gives_as_many_launches_as_it_says():
    for row in (*sweeps.cost(5), sweeps.size(2)[0]):
        launch = row.launcher(cp)
        cp.cuda.get_current_stream().synchronize()
        with operations() as done:
            launch()
        kernels = sum(len(one.nodes) if one.kind == "graph" else one.kind == "kernel" for one in done)
        ahead = "GPU" in row.columns["way"] or row.columns["way"] == "alone"
        if row.columns["way"] not in (*sweeps.HOST_CALLS, "chunks, ordered", "graph, made"):
            assert kernels == row.columns["launches"] + ahead


def test_the_rod_by_launches_and_by_one_block():
    """A step of heat by hand: half of the middle, a quarter of each neighbour."""
    given = np.random.default_rng(0).random(sweeps.CELLS, np.float32)
    rods = cp.asarray(given), cp.asarray(given)
    runs.rod_steps(k.STEP.compile(cp), rods, 10)
    one = cp.asarray(given)
    k.ALL_STEPS.compile(cp)((1,), (sweeps.CELLS,), (one, np.int32(sweeps.CELLS), np.int32(10)))
    expected = given.astype(float)
    for _ in range(10):
        expected[1:-1] = 0.5 * expected[1:-1] + 0.25 * (expected[:-2] + expected[2:])
    np.testing.assert_array_equal(rods[0].get(), one.get())
    np.testing.assert_allclose(one.get(), expected, atol=1e-6)


@pytest.mark.parametrize(("n", "chunks"), [(1000, 1), (1000, 3), (1000, 7), (1000, 999), (5, 8), (4096, 16)])
def test_parts_cover_everything_once(n, chunks):
    found = [i for low, high in runs.parts(n, chunks) for i in range(low, high)]
    assert found == list(range(n))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("chunks", "streams"), [(1, 1), (3, 2), (7, 4)])
def test_the_pipeline_gives_every_number_back(chunks, streams):
    n = 1000
    host = runs.pinned(cp, n), runs.pinned(cp, n)
    host[0][:] = np.linspace(0.1, 0.9, n)
    device = cp.zeros(n, cp.float32), cp.zeros(n, cp.float32)
    cp.cuda.Device().synchronize()
    own = [runs.own_stream(cp) for _ in range(streams)]
    runs.pipeline(k.ITERATE.compile(cp), host, device, 2, chunks, own)
    expected = host[0].astype(float)
    for _ in range(2):
        expected = 3.9 * expected * (1 - expected)
    np.testing.assert_allclose(host[1], expected, rtol=1e-4)


def test_every_way_draws_the_same_image(monkeypatch):
    monkeypatch.setattr(sweeps, "SMS", 2)
    monkeypatch.setattr(sweeps, "MOST", 50)
    kept = []
    monkeypatch.setattr(
        sweeps, "_image", lambda cp, n: kept.append(cp.zeros((16 * n, 16 * n), cp.int32)) or kept[-1]
    )
    for row in sweeps.queue(64):
        row.launcher(cp)()
    assert len(kept) == len(sweeps.QUEUE_WAYS)
    for image in kept:
        np.testing.assert_array_equal(image.get(), kept[0].get())
    c = np.array([3 * x / 64 - 2.25 + 1j * (3 * y / 64 - 1.5) for y in range(64) for x in range(64)])
    z, turns = 0 * c, np.zeros(c.shape, int)
    for _ in range(50):
        inside = np.abs(z) < 2
        turns += inside
        z = np.where(inside, z * z + c, z)
    assert (turns.reshape(64, 64) == kept[0].get()).mean() > 0.99
