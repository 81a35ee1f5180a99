"""Chapter 06: its recorded launches, and the driver's own answers on an H200."""

import json
from pathlib import Path

import numpy as np
import pytest

from course_lib import standin as cp
from course_lib.chapters import occupancy_sweeps as sweeps
from course_lib.occupancy import occupancy
from course_lib.profile import profile

ROOT = Path(__file__).parents[1]
DRIVER = ROOT / "tests" / "data" / "occupancy_h200.json"


# -- the driver's answers ----------------------------------------------------------


def test_the_calculator_equals_the_driver_of_an_h200():
    """`cuOccupancyMaxActiveBlocksPerMultiprocessor`; what it refuses must not fit, and the reverse."""
    if not DRIVER.exists():
        pytest.skip("not recorded yet: run `python tests/gpu/record_occupancy.py` on an H200")
    table = json.loads(DRIVER.read_text(encoding="utf-8"))
    assert table["gpu"] == "NVIDIA H200"
    assert table["columns"] == ["registers", "max_threads", "threads", "dynamic_bytes", "blocks"]
    launchable = 0
    for registers, most, threads, dynamic, blocks in table["rows"]:
        if threads > most:
            assert blocks <= 0, (registers, most, threads, dynamic)
            continue
        launchable += 1
        assert occupancy(threads, registers, dynamic, "H200").blocks == blocks, (registers, threads, dynamic)
    assert launchable >= 500


# -- what is recorded --------------------------------------------------------------


def run(point) -> list[np.ndarray]:
    """The arguments after the launch, as NumPy arrays; the output comes first."""
    arguments = point.arguments(cp)
    point.kernel.compile(cp)(point.grid, point.block, arguments)
    return [np.asarray(argument) for argument in arguments]


def test_every_load_kernel_adds_up_its_block():
    for point in sweeps.loads(2 * sweeps.PER_BLOCK)[::5]:
        out, given, count = run(point)
        expected = given.reshape(2, count, sweeps.SMALL_BLOCK).sum(axis=1, dtype=float)
        np.testing.assert_allclose(out.reshape(expected.shape), expected, rtol=1e-5)


def test_reserved_memory_holds_warps_back_and_loads_make_rounds():
    for point in sweeps.loads(sweeps.PER_BLOCK):
        counts = profile(point.kernel.compile(cp), point.grid, point.block, point.arguments(cp))
        found = occupancy(sweeps.SMALL_BLOCK, counts.registers, counts.shared_bytes, "H200")
        assert found.warps == point.columns["warps"]
        assert counts["course__load_rounds.sum"] == 2 * sweeps.COUNT / point.columns["loads"]


def test_the_recorded_launches_run_in_whole_waves():
    assert all(sweeps.WHOLE_WAVES % (132 * blocks) == 0 for blocks in sweeps.RESIDENT)
    with pytest.raises(ValueError, match="do not make 3 blocks"):
        sweeps.reserved_bytes(3)


@pytest.mark.parametrize("points", [sweeps.coarse(128), sweeps.spills(128)[::5]], ids=["coarse", "spills"])
def test_every_product_is_right_and_says_what_it_was_built_with(points):
    for point in points:
        c, a, b, _ = run(point)
        np.testing.assert_allclose(c, a.astype(float) @ b, rtol=1e-5)
        point.launcher(cp)
        assert point.columns["registers"] == point.kernel.compile(cp).num_regs
    assert points[-1].columns["registers"] in (32, 96)


def test_launch_bounds_make_blocks_fit_and_spill():
    built = {point.columns["blocks"]: point.kernel.compile(cp) for point in sweeps.spills(128)}
    for blocks, kernel in built.items():
        assert occupancy(256, kernel.num_regs, kernel.shared_size_bytes, "H200").blocks >= blocks
    assert built[1].local_size_bytes == 0 < built[3].local_size_bytes < built[8].local_size_bytes
