"""Indices below zero, where the pointer's own part of an address is kept apart as an offset."""

import numpy as np

from course_lib.emulator import RawKernel
from course_lib.emulator.address import AddressBase

WINDOW = r"""
extern "C" __global__ void window(int* y, const int* x, int n) {
    __shared__ int tile[144];
    int first = blockIdx.x * 128 - 8;
    for (int t = threadIdx.x; t < 144; t += 128)
        tile[t] = 0 <= first + t && first + t < n ? x[first + t] : 0;
    __syncthreads();
    int i = blockIdx.x * 128 + threadIdx.x, sum = 0;
    for (int t = 0; t <= 16; ++t) sum += tile[threadIdx.x + t];
    if (i < n) y[i] = sum;
}
"""


def test_the_lowest_address_may_be_below_zero() -> None:
    base = AddressBase(np.array([2**64 - 8, 2**64 - 4, 0, 4], np.uint64))
    assert (base.low, base.span) == (-8, 12)
    assert base.indices(2).tolist() == [0, 1, 2, 3]


def test_a_halo_on_the_left() -> None:
    n = 1024
    x = np.random.default_rng(3).integers(-99, 100, n, np.int32)
    y = np.zeros(n, np.int32)
    RawKernel(WINDOW, "window")((8,), (128,), (y, x, np.int32(n)))
    np.testing.assert_array_equal(y, np.convolve(x, np.ones(17, x.dtype))[8 : 8 + n])
