"""The timeline of a warp: order, lanes and lines, against masks by hand and against `profile`."""

import numpy as np
import pytest

from course_lib import profile
from course_lib.emulator import RawKernel
from course_lib.timeline import timeline

INSTRUCTIONS = "smsp__inst_executed.sum"
SIDES = r"""
extern "C" __global__ void sides(float* y, int rounds) {
    int t = threadIdx.x;
    float v = t;
    if (t % 4 == 0)
#pragma unroll 1
        for (int k = 0; k < rounds; ++k) v = v * v + 1.0f;
    else if (t % 32 < 16)
#pragma unroll 1
        for (int k = 0; k < rounds; ++k) v = 2.0f - v;
    y[blockIdx.x * blockDim.x + t] = v;
}
"""
T = np.arange(32)


def lanes_of(found, line):
    """Lanes of the last step of a source line (the compiler may move its first instructions up)."""
    return [step.active for step in found.steps if step.line == line][-1]


def test_each_side_has_its_lanes_and_both_meet_again():
    found = timeline(RawKernel(SIDES, "sides"), (1,), (32,), (np.zeros(32, np.float32), np.int32(8)))
    np.testing.assert_array_equal(lanes_of(found, 7), T % 4 == 0)
    np.testing.assert_array_equal(lanes_of(found, 10), (T % 4 != 0) & (T < 16))
    for line in (3, 11):
        assert lanes_of(found, line).all()
    assert found.steps[-1].active.all()
    assert found.text(3) == "int t = threadIdx.x;"
    assert found.text(0) == "(no source line)"


def test_one_warp_alone_issues_what_profile_counts():
    args = (np.zeros(32, np.float32), np.int32(8))
    kernel = RawKernel(SIDES, "sides")
    found, counted = timeline(kernel, (1,), (32,), args), profile(kernel, (1,), (32,), args)
    assert found.instructions == counted[INSTRUCTIONS]
    assert found.active_lanes == pytest.approx(
        counted["smsp__thread_inst_executed_per_inst_executed.ratio"], abs=0.005
    )
    assert not args[0].any()


def test_the_warps_of_all_blocks_together_issue_what_profile_counts():
    args = (np.zeros(2 * 80, np.float32), np.int32(5))
    kernel = RawKernel(SIDES, "sides")
    found = [timeline(kernel, (2,), (80,), args, warp=(b, w)) for b in range(2) for w in range(3)]
    assert sum(one.instructions for one in found) == profile(kernel, (2,), (80,), args)[INSTRUCTIONS]
    np.testing.assert_array_equal(found[2].steps[0].active, T < 16)  # threads 64 to 79


def test_lanes_leave_a_loop_one_after_the_other():
    source = """
extern "C" __global__ void count(int* y) {
    int sum = 0;
#pragma unroll 1
    for (int k = 0; k < threadIdx.x; ++k) sum += y[k];
    y[threadIdx.x] = sum;
}
"""
    found = timeline(RawKernel(source, "count"), (1,), (32,), (np.zeros(32, np.int32),))
    active = [int(step.active.sum()) for step in found.steps if step.line == 5]
    assert sorted(set(active), reverse=True) == list(range(32, 0, -1))


def test_a_warp_the_launch_does_not_have_gives_no_step():
    found = timeline(
        RawKernel(SIDES, "sides"), (1,), (32,), (np.zeros(32, np.float32), np.int32(1)), warp=(1, 0)
    )
    assert (found.steps, found.instructions, found.active_lanes) == ((), 0, 0.0)
