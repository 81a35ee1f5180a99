"""Chapter 07, wave quantization: the CUDA sources that its notebook quotes and its sweeps time.

All of them make `tiles` results per thread of a block, each out of `units` equal pieces of arithmetic, as a
product of matrices makes each tile of its result out of pieces along K. A result is the sum of
`STEPS (1 + u % 2)` over its pieces u, exact in float32; `one` is 1, which the compiler does not know.
"""

from ..kernels import OPTIONS, Kernel

STEPS = 256  # multiply-adds of a thread in one unit

# CHAINS: multiply-adds of a thread that do not wait for each other.
WORK = r"""
__device__ float work(int first, int last, float one) {
    float sum[CHAINS] = {};
#pragma unroll 1
    for (int u = first; u < last; ++u) {
        float a = u % 2 ? 2.0f * one : one;
#pragma unroll
        for (int step = 0; step < 256 / CHAINS; ++step)
            for (int c = 0; c < CHAINS; ++c) sum[c] = fmaf(a, one, sum[c]);
    }
    for (int c = 1; c < CHAINS; ++c) sum[0] += sum[c];
    return sum[0];
}
"""

ONE_EACH = Kernel(
    "one_each",
    WORK
    + r"""
extern "C" __global__ void one_each(float* out, int tiles, int units, float one) {
    out[blockIdx.x * blockDim.x + threadIdx.x] = work(0, units, one);
}
""",
)

PERSISTENT = Kernel(
    "persistent",
    WORK
    + r"""
extern "C" __global__ void persistent(float* out, int tiles, int units, float one) {
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x)
        out[tile * blockDim.x + threadIdx.x] = work(0, units, one);
}
""",
)

# blockIdx.y is the part of the units; `out` must be 0 at the start.
SPLIT = Kernel(
    "split",
    WORK
    + r"""
extern "C" __global__ void split(float* out, int tiles, int units, float one) {
    int first = units * blockIdx.y / gridDim.y, last = units * (blockIdx.y + 1) / gridDim.y;
    atomicAdd(&out[blockIdx.x * blockDim.x + threadIdx.x], work(first, last, one));
}
""",
)

# Every block does as many units as the next, whichever tiles they belong to; `out` must be 0 at the start.
SHARES = Kernel(
    "shares",
    WORK
    + r"""
extern "C" __global__ void shares(float* out, int tiles, int units, float one) {
    long long all = (long long)tiles * units;
    long long next = all * blockIdx.x / gridDim.x, end = all * (blockIdx.x + 1) / gridDim.x;
    while (next < end) {
        int tile = next / units, first = next % units;
        int last = min((long long)units, first + end - next);
        float sum = work(first, last, one);
        float* result = &out[tile * blockDim.x + threadIdx.x];
        if (last - first == units) *result = sum;
        else atomicAdd(result, sum);
        next += last - first;
    }
}
""",
)


def chains(kernel: Kernel, count: int) -> Kernel:
    """The kernel with `count` independent chains of multiply-adds a thread."""
    return Kernel(kernel.name, kernel.source, (*OPTIONS, f"-DCHAINS={count}"))


def result(units: int) -> int:
    """What every thread must have as its sum: STEPS for each even unit, twice that for each odd one."""
    return STEPS * (units + units // 2)
