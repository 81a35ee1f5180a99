"""`make bench`: how fast the emulator is, as ratios taken in one run. Not a test: nothing here can fail.

The other way to run CUDA kernels without a GPU from Python is Numba's CUDA simulator
(`NUMBA_ENABLE_CUDASIM=1`); it runs one operating-system thread per CUDA thread and counts nothing.
The emulator's figures include all counters and hazard checks.
"""

import os
import resource
import statistics
import sys
import time
from collections.abc import Callable

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"  # read when numba is imported
os.environ["COURSE_BACKEND"] = "emulator"

import numpy as np
from numba import cuda

from course_lib.emulator import RawKernel, codegen
from course_lib.profile import profile
from course_lib.tables import text_table

ADD = r"""extern "C" __global__ void add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}"""
PRODUCT = r"""extern "C" __global__ void product(const float* a, const float* b, float* c, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < n && column < n) {
        float sum = 0;
        for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
        c[row * n + column] = sum;
    }
}"""


@cuda.jit
def simulated_add(a, b, c, n):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < n:
        c[i] = a[i] + b[i]


@cuda.jit
def simulated_product(a, b, c, n):
    row = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    column = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if row < n and column < n:
        total = np.float32(0)
        for k in range(n):
            total += a[row, k] * b[k, column]
        c[row, column] = total


def seconds(work: Callable[[], object], repeats: int) -> float:
    """Median time of `work`, after one run that is not counted."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def vector_add(n: int) -> tuple[float, float]:
    """Seconds of (Numba's simulator, the emulator) for n additions in blocks of 256."""
    a = np.random.default_rng(0).standard_normal(n, dtype=np.float32)
    b, c, grid = 2 * a, np.zeros_like(a), (n // 256,)
    kernel = RawKernel(ADD, "add")
    slow = seconds(lambda: simulated_add[grid, 256](a, b, c, n), 3)
    assert np.array_equal(c, a + b)
    return slow, seconds(lambda: profile(kernel, grid, (256,), (a, b, c, np.int32(n))), 21)


def matrix_product(n: int) -> tuple[float, float]:
    """Seconds of (Numba's simulator, the emulator) for a naive n x n x n product in blocks of 16 x 16."""
    a = np.random.default_rng(0).standard_normal((n, n), dtype=np.float32)
    c, grid = np.zeros_like(a), (n // 16, n // 16)
    slow = seconds(lambda: simulated_product[grid, (16, 16)](a, a, c, n), 3)
    np.testing.assert_allclose(c, a @ a, rtol=1e-3, atol=1e-3)
    return slow, emulated_product(n, 21)


def emulated_product(n: int, repeats: int) -> float:
    """Seconds of the emulator for a naive n x n x n product with all counters on."""
    a = np.random.default_rng(0).standard_normal((n, n), dtype=np.float32)
    kernel, args = RawKernel(PRODUCT, "product"), (a, a, np.zeros_like(a), np.int32(n))
    return seconds(lambda: profile(kernel, (n // 16, n // 16), (16, 16), args), repeats)


def generate(source: str, name: str) -> float:
    """Seconds from PTX to Python functions, without the cache."""
    ptx = RawKernel(source, name).ptx
    return seconds(lambda: codegen.load.__wrapped__(ptx, name), 11)


def main() -> None:
    """Print the table."""
    add, small = vector_add(16_384), matrix_product(64)
    rows = [
        (work, f"{simulator / emulator:,.0f} x Numba's simulator", f"{emulator * 1e3:.2f} ms")
        for work, (simulator, emulator) in (("vector add of 16,384", add), ("naive product, 64³", small))
    ]
    large = emulated_product(256, 5)
    rows.append(("naive product, 256³", f"{large / small[1]:.1f} x the time of 64³", f"{large * 1e3:.0f} ms"))
    for source, name in ((ADD, "add"), (PRODUCT, "product")):
        made = generate(source, name)
        ratio = f"{made / add[1]:.1f} x the vector add"
        rows.append((f"PTX of `{name}` to Python", ratio, f"{made * 1e3:.1f} ms"))
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux kibibytes
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20
    rows.append(("peak memory of all this", "", f"{peak:,.0f} MiB"))
    print(text_table(rows, ("work, all counters on", "ratio in this run", "median")))


if __name__ == "__main__":
    main()
