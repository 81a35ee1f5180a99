"""The order of blocks: drawn by hand for small control-flow graphs, and what lanes do because of it."""

import numpy as np
import pytest

from course_lib import profile
from course_lib.emulator import RawKernel
from course_lib.emulator.ranks import ranks


@pytest.mark.parametrize(
    ("successors", "order"),
    [
        ([[1], [2], []], [0, 1, 2]),
        ([[1, 2], [3], [3], []], [0, 1, 2, 3]),  # if and else
        ([[1], [1, 2], []], [0, 1, 2]),  # a loop of one block
        ([[2], [2], [1, 3], []], [0, 2, 1, 3]),  # a loop laid out with its test last
        ([[2], [2], [1, 3], [1, 4], []], [0, 2, 3, 1, 4]),  # its body in front, an `if` behind the test
        ([[1], [2, 4], [3, 1], [1, 5], [5], []], [0, 1, 2, 3, 4, 5]),  # two ways out of a loop
        ([[1], [2, 5], [3], [2, 4], [1], []], [0, 1, 2, 3, 4, 5]),  # nested loops
        ([[1, 2], [2, 3], [1, 3], []], [0, 1, 2, 3]),  # a loop with two entries
        ([[1], [3, 4], [], [2], [2]], [0, 1, 3, 4, 2]),  # the end laid out in the middle
        ([[], [2], []], [0, 1, 2]),  # two functions
    ],
)
def test_blocks_come_after_what_leads_to_them_and_after_loops_they_are_not_in(successors, order):
    assert [block for _, block in sorted(zip(ranks(successors), range(len(order)), strict=True))] == order


def test_a_long_chain_needs_no_deep_recursion():
    assert ranks([[k + 1] for k in range(5000)] + [[]]) == list(range(5001))


def test_lanes_that_fetch_new_work_join_those_that_go_on():
    """NVRTC puts the loop's body above its test, where lanes with nothing left fetch something.

    Lane l works off trips l + 1, then 32 - l: 33 trips in all. On a GPU the lanes meet after the `if` (SASS:
    BSYNC), so the body runs 33 times with all 32 lanes.
    """
    source = """
extern "C" __global__ void flat(float* y, const int* trips) {
    int i = threadIdx.x, left = trips[i];
    float v = 1.0f;
    while (true) {
        if (left == 0) {
            i += 32;
            if (i >= 64) break;
            left = trips[i];
        }
        for (int j = 0; j < 8; ++j) v = fmaf(v, v, -0.5f);
        --left;
    }
    y[threadIdx.x] = v;
}
"""
    trips = np.r_[1:33, 32:0:-1].astype(np.int32)
    counted = profile(RawKernel(source, "flat"), (1,), (32,), (np.zeros(32, np.float32), trips))
    assert counted["smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"] == 32 * 33 * 8
    line = next(line for line in counted.lines if line.line == 11)
    assert line.executions >= 33 * 8
    assert line.active_lanes == pytest.approx(32, abs=0.5)
