"""Operands of `bar` that the PTX ISA does not allow."""

import numpy as np
import pytest

from course_lib.emulator import RawKernel
from course_lib.emulator.errors import EmulatorError

SOURCE = r"""
extern "C" __global__ void k(int* y, int a, int b) {
    if (threadIdx.x < b) asm volatile("bar.%s %%0, %%1;" :: "r"(a), "r"(b) : "memory");
    y[threadIdx.x] = 1;
}
"""


def run(how: str, barrier: int, count: int) -> np.ndarray:
    y = np.zeros(64, np.int32)
    RawKernel(SOURCE % how, "k")((1,), (64,), (y, np.int32(barrier), np.int32(count)))
    return y


@pytest.mark.parametrize(
    ("barrier", "count", "said"),
    [
        (16, 64, "barriers 0 to 15"),
        (-1, 64, "barriers 0 to 15"),
        (1, 20, "a multiple of 32"),
        (1, 33, "of 32"),
    ],
)
@pytest.mark.parametrize("how", ["sync", "arrive"])
def test_operands_beyond_the_isa_are_refused(how, barrier, count, said):
    with pytest.raises(EmulatorError, match=f"line 3: barrier .*{said}"):
        run(how, barrier, count)


def test_the_last_barrier_and_a_single_warp_are_fine():
    assert run("sync", 15, 32).all()
