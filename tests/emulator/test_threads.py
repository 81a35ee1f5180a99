"""Kernels launched from several Python threads do not disturb each other."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from course_lib.emulator import RawKernel
from course_lib.emulator.errors import MemoryAccessError
from course_lib.profile import profile

from .cuda import kernel

SUM = """extern "C" __global__ void k(float *out, const float *in, int n) {
  __shared__ float s[128]; int t = threadIdx.x; float v = 0;
  for (int i = blockIdx.x * 128 + t; i < n; i += gridDim.x * 128) v += in[i];
  s[t] = v; __syncthreads();
  for (int d = 64; d > 0; d /= 2) { if (t < d) s[t] += s[t + d]; __syncthreads(); }
  if (t == 0) out[blockIdx.x] = s[0]; }"""


def blocks_sums(data: np.ndarray) -> np.ndarray:
    out = np.zeros(8, np.float32)
    RawKernel(SUM, "k")((8,), (128,), (out, data, np.int32(data.size)))
    return out


def test_one_kernel_in_many_threads() -> None:
    rng = np.random.default_rng(0)
    inputs = [rng.integers(-50, 50, 5000).astype(np.float32) for _ in range(24)]
    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(blocks_sums, inputs))
    for data, result in zip(inputs, results, strict=True):
        padded = np.zeros(5120, np.float32)
        padded[:5000] = data
        np.testing.assert_array_equal(result, padded.reshape(-1, 8, 128).sum((0, 2)))  # small integers: exact


def test_different_kernels_compiled_at_the_same_time() -> None:
    def one(k: int) -> int:
        out = np.zeros(64, np.int32)
        kernel(f"int v = threadIdx.x; for (int j = 0; j < {k}; ++j) v += j; out[threadIdx.x] = v;")(
            (1,), (64,), (out,)
        )
        return int(out[5])

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(one, range(20))) == [5 + k * (k - 1) // 2 for k in range(20)]


def test_errors_stay_in_their_thread() -> None:
    made = kernel("out[threadIdx.x] = 1;")

    def one(k: int) -> bool:
        out = np.zeros(16 if k % 2 else 32, np.int32)
        if k % 2:
            with pytest.raises(MemoryAccessError):
                made((1,), (32,), (out,))
            return True
        made((1,), (32,), (out,))
        return bool(out.all())

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(one, range(40)))


def test_profiles_count_their_own_launch() -> None:
    made = RawKernel(SUM, "k")

    def one(n: int) -> float:
        arguments = (np.zeros(8, np.float32), np.ones(n, np.float32), np.int32(n))
        return profile(made, (8,), (128,), arguments)["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"]

    sizes = [1024 * k for k in range(1, 13)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(one, sizes)) == [n // 8 for n in sizes]


def test_both_threads_share_a_module_variable() -> None:
    """Atomics of two launches of one module go to the same memory; each launch by itself is not torn."""
    made = kernel("atomicAdd(&total, 1); if (n) out[0] = total;", "int *out, int n", "__device__ int total;")
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: made((4,), (64,), (np.zeros(1, np.int32), np.int32(0))), range(2)))
    out = np.zeros(1, np.int32)
    made((1,), (1,), (out, np.int32(1)))
    assert 257 <= out[0] <= 513
