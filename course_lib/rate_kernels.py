"""CUDA sources that measure the rates of a GPU: what L1, L2 and DRAM deliver, and what a waiting warp costs.

The time model takes its figures from what they record (`data/gpus.toml`).
"""

from .kernels import Kernel

# `__ldcg` bypasses L1, so that the array is found in L2 or not at all.
READ_L2 = Kernel(
    "read_l2",
    r"""
extern "C" __global__ void read_l2(float4* out, const float4* in, int n, int passes) {
    int start = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
    float4 sum = make_float4(0, 0, 0, 0);
    for (int pass = 0; pass < passes; ++pass) {
#pragma unroll 4
        for (int i = start; i < n; i += step) {
            float4 v = __ldcg(in + i);
            sum.x += v.x; sum.y += v.y; sum.z += v.z; sum.w += v.w;
        }
    }
    out[start] = sum;
}
""",
)

# All loads hit L1; a warp touches `lines` different 128-byte lines in each, `pitch` words apart.
READ_LINES = Kernel(
    "read_lines",
    r"""
extern "C" __global__
void read_lines(float* out, const float* in, int lines, int pitch, int step, int repeat) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, at = 0;
    const float* mine = in + lane % lines * pitch;
    float sum = 0.0f;
#pragma unroll 8
    for (int r = 0; r < repeat; ++r) {
        sum += mine[at];
        at = (at + step) & 7;
    }
    out[t] = sum;
}
""",
)

# Loads past L1 that hit L2: a warp asks for `lines` different 128-byte lines in each, with 32 / lines lanes
# in each line, `step` words apart: in one sector if neighbours, in up to four if `step` is `lines`.
READ_L2_LINES = Kernel(
    "read_l2_lines",
    r"""
extern "C" __global__
void read_l2_lines(float* out, const float* in, int lines, int step, int mask, int repeat) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    int at = (t / 32 * 32 + lane % lines) * 32 + lane / lines * step & mask;
    float sum = 0.0f;
#pragma unroll 8
    for (int r = 0; r < repeat; ++r) {
        sum += __ldcg(in + at);
        at = at + 1031 * 1024 & mask;
    }
    out[t] = sum;
}
""",
)

# A copy of LOADS floats by each thread. SERIES = 1: `out` might overlap `in`, so the compiler keeps the order
# load, store, load, store ... and one load is in flight at a time; otherwise all loads come first.
COPY_IN_FLIGHT = Kernel(
    "copy_in_flight",
    r"""
extern "C" __global__ void copy_in_flight(float* out, const float* in) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
#if SERIES
    for (int j = 0; j < LOADS; ++j) out[i + j * step] = in[i + j * step];
#else
    float value[LOADS];
    for (int j = 0; j < LOADS; ++j) value[j] = in[i + j * step];
    for (int j = 0; j < LOADS; ++j) out[i + j * step] = value[j];
#endif
}
""",
)
