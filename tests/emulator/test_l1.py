"""What loads cost in L1 and ask of L2: against times recorded on an H200, and by hand."""

import numpy as np
import pytest

from course_lib.emulator import RawKernel
from course_lib.emulator.counters import count_global
from course_lib.emulator.l1 import SampledL1, bypasses_l1, load_wavefronts
from course_lib.profile import profile
from course_lib.recorded import recorded

LANE = np.arange(32)


def wavefronts(addresses, width=4, active=None):
    rows = np.asarray(addresses, np.uint64).reshape(1, 32)
    mask = None if active is None else active.reshape(1, 32)
    return load_wavefronts(rows, mask, width, count_global(rows, mask, width))


@pytest.mark.parametrize(
    ("addresses", "width", "expected"),
    [
        (4 * LANE, 4, 1),
        (4 * LANE + 4, 4, 1),  # two lines, but 32 banks
        (0 * LANE, 4, 1),
        (128 * LANE, 4, 32),
        (132 * LANE, 4, 1),
        (8 * LANE, 8, 2),
        (16 * LANE, 16, 4),
        (8 * LANE, 4, 2),
        (LANE, 1, 1),
    ],
)
def test_by_hand(addresses, width, expected):
    assert wavefronts(addresses, width) == expected


def test_inactive_lanes_cost_nothing():
    assert wavefronts(128 * LANE, active=LANE < 5) == 5


def test_loads_that_hit_l1_take_the_recorded_time():
    """Where L1 is the limit (4 cycles and more), the busiest bank or four lines a cycle give the time."""
    table = recorded("H200", "rate_l1_lines")
    requests = 1056 * 8 * 1024
    for pitch, lines, ms in zip(table["pitch"], table["lines"], table.ms, strict=True):
        rows = (4 * (LANE % lines * pitch)).astype(np.uint64).reshape(1, 32)
        count = count_global(rows, None, 4)
        cycles = max(load_wavefronts(rows, None, 4, count), count.tags / 4)
        if cycles >= 4:
            assert 1e3 * requests * cycles / (132 * 1.98e9) + 0.0045 == pytest.approx(ms, rel=0.1)
        else:
            assert ms < 0.14


@pytest.mark.parametrize(
    ("opcode", "expected"),
    [
        ("ld.global.cg.v4.f32", True),
        ("ld.volatile.global.u32", True),
        ("ld.relaxed.gpu.global.u32", True),
        ("ld.global.nc.f32", False),
        ("ld.global.ca.f32", False),
        ("ld.global.f32", False),
    ],
)
def test_loads_that_go_past_l1(opcode, expected):
    assert bypasses_l1(opcode) is expected


def test_the_sample_is_spread_over_the_grid():
    assert SampledL1(1).blocks.tolist() == [0]
    assert SampledL1(3).blocks.tolist() == [0, 1, 2]
    assert SampledL1(100).blocks.tolist() == [12, 37, 62, 87]


TWICE = r"""
extern "C" __global__ void twice(float* out, const float* in, int step, int again) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int pass = 0; pass < 2; ++pass) sum += LOAD(in + i * step + pass * again);
    out[i] = sum;
}
"""


@pytest.mark.parametrize(("step", "pairs"), [(1, 2), (2, 4), (8, 16), (32, 32)])
@pytest.mark.parametrize(("load", "times"), [("*", 1), ("__ldcg", 2)])
def test_what_l2_is_asked_for(step, pairs, load, times):
    """Per warp the pairs of sectors of one pass if the other hits L1, else of both; and a line stored."""
    kernel = RawKernel(TWICE, "twice", options=(f"-DLOAD={load}",))
    out, given = np.zeros(512, np.float32), np.zeros(512 * step, np.float32)
    found = profile(kernel, (8,), (64,), (out, given, np.int32(step), np.int32(0)))
    assert found["course__l2_pairs_global.sum"] == 16 * (pairs * times + 2)


def test_a_matrix_product_reads_its_rows_once_from_l2():
    """64 x 64, blocks of 32 x 32: 32 rows of a, 8 single sectors; 64 lines of b; 32 lines a stored warp."""
    from course_lib.kernels import MATMUL_NAIVE

    a = np.zeros((64, 64), np.float32)
    kernel = RawKernel(MATMUL_NAIVE.source, MATMUL_NAIVE.name, options=MATMUL_NAIVE.options)
    found = profile(kernel, (2, 2), (1024,), (a.copy(), a.copy(), a.copy(), np.int32(64)))
    assert found["course__l2_pairs_global.sum"] == 4 * (32 * 8 + 64 * 2) + 128 * 32 * 2
    assert found["course__l1_wavefronts_global.sum"] == 128 * 64 * (32 + 1)


def test_a_read_sector_brings_its_neighbour():
    """As dram__bytes_read of the case stride_16 in tests/data/h200: 4,197,120 for 65,536 distinct sectors."""
    from course_lib.kernels import READ_STRIDED

    kernel = RawKernel(READ_STRIDED.source, READ_STRIDED.name, options=READ_STRIDED.options)
    out, given = np.zeros(65536, np.float32), np.zeros(65536 * 16, np.float32)
    found = profile(kernel, (256,), (256,), (out, given, np.int32(65536), np.int32(16)))
    assert found["course__unique_dram_bytes_ld"] == 65536 * 32
    assert found["course__unique_pair_bytes_ld"] == pytest.approx(4_197_120, rel=0.01)
