"""Chapter 07: the recorded launches compute what they should and fit on an SM as often as they say."""

import numpy as np
import pytest

from course_lib import standin as cp
from course_lib.chapters import wave_kernels as k
from course_lib.chapters import wave_sweeps as w
from course_lib.occupancy import occupancy
from course_lib.points import Point
from course_lib.profile import profile
from course_lib.sweeps import sweep

LOADS = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
FUSED = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"


def run(point: Point) -> np.ndarray:
    arguments, kernel = point.arguments(cp), point.compiled(cp)
    kernel(point.grid, point.block, arguments, shared_mem=point.shared)
    return np.asarray(arguments[0])


@pytest.mark.parametrize("units", [1, 2, 7])
def test_the_sum_of_a_tile_by_hand(units):
    by_hand = sum(256 * (2 if u % 2 else 1) for u in range(units))
    assert k.result(units) == by_hand
    for point in (w.waiting(units)[0], w.filling(units)[0], w.sharing(units)[0]):
        assert (run(point) == by_hand).all()


@pytest.mark.parametrize("variant", w.CURES)
@pytest.mark.parametrize("tiles", [98, 133, 265])
def test_every_way_of_sharing_out_gives_every_tile_its_sum(variant, tiles):
    assert (run(w.cure(variant, tiles, 9)) == k.result(9)).all()


@pytest.mark.parametrize("variant", w.CURES)
def test_every_way_does_the_same_arithmetic_without_hazard(variant):
    point = w.cure(variant, 133, 8)
    p = profile(point.kernel.compile(cp), point.grid, point.block, point.arguments(cp))
    assert p[FUSED] == 133 * 256 * 8 * 256
    assert p.hazards == []
    assert p[LOADS] == 0


def test_a_launch_of_a_sweep_runs():
    w.filling(1)[0].launcher(cp)()


def test_one_tile_in_132_shares_and_fewer_tiles_than_blocks():
    for tiles in (1, 2, 131):
        assert (run(w.cure("equal shares", tiles, 200)) == k.result(200)).all()


@pytest.mark.parametrize(("name", "resident"), [("waiting", 2), ("filling", 1), ("sharing", 4), ("many", 1)])
def test_so_many_blocks_fit_on_an_sm(name, resident):
    for point in (getattr(w, name)(1)[i] for i in (0, -1)):
        registers = point.kernel.compile(cp).num_regs
        assert occupancy(point.block[0], registers, point.shared).blocks == resident


def test_the_numbers_of_blocks_span_half_a_wave_to_four():
    for name, wave in (("waves_waiting", 264), ("waves_filling", 132), ("waves_sharing", 528)):
        blocks = [point.columns["blocks"] for point in sweep(name).points(1)]
        assert min(blocks) == wave // 2
        assert max(blocks) == 4 * wave
        assert {wave, wave + 1, 2 * wave, 2 * wave + 1} <= set(blocks)


def test_sums_stay_exact_at_the_recorded_size():
    assert k.result(max(s.size for s in w.SWEEPS if s.name != "waves_gemm")) < 2**24


def test_calls_multiply_matrices_of_both_layouts():
    fake = FakeCupy()
    for n in (9, 16):
        packed, padded = w.packed_product(fake, n)(), w.padded_product(fake, n)()
        np.testing.assert_array_equal(packed, padded)
        assert packed.shape == (n, n)
    calls = sweep("waves_gemm").calls(1792)
    assert {1785, 1792, 1793, 1794, 1800, 2048} <= {call.columns["size"] for call in calls}
    assert all(call.columns["size"] % 8 for call in calls if call.columns["variant"] == "padded")


class FakeCupy:
    """NumPy in CuPy's place: `matmul` and array functions are the same."""

    def __getattr__(self, name):
        return getattr(np, name)
