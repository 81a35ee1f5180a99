"""Chapter 05, fusion: row-wise kernels that are recorded, the notebook's clear ones and fast ones.

All but the row sums keep a row in the registers of one block: 8,192 floats at most, so DRAM sees it once. The
fast ones use 16-byte accesses, so the length is a multiple of 4.
"""

from ..kernels import Kernel

# -- the notebook's own: 256 threads per row -----------------------------------------

BLOCK_REDUCE = r"""
__device__ float join(float a, float b, bool top) { return top ? fmaxf(a, b) : a + b; }

__device__ float block_reduce(float value, float* part, bool top) {
    for (int step = 16; step > 0; step /= 2)
        value = join(value, __shfl_xor_sync(0xffffffff, value, step), top);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = value;
    __syncthreads();
    value = part[threadIdx.x % 8];
    for (int step = 4; step > 0; step /= 2)
        value = join(value, __shfl_xor_sync(0xffffffff, value, step), top);
    return value;
}
"""

SOFTMAX = Kernel(
    "softmax",
    BLOCK_REDUCE
    + r"""
extern "C" __global__ void softmax(float* out, const float* x, int columns) {
    __shared__ float part[2][8];
    float v[EACH], top = -3e38f, sum = 0.0f;
    x += (long long)blockIdx.x * columns;
    out += (long long)blockIdx.x * columns;
    for (int k = 0, c = threadIdx.x; k < EACH; ++k, c += 256) {
        v[k] = c < columns ? x[c] : -3e38f;
        top = fmaxf(top, v[k]);
    }
    top = block_reduce(top, part[0], true);
    for (int k = 0; k < EACH; ++k) {
        v[k] = __expf(v[k] - top);
        sum += v[k];
    }
    sum = block_reduce(sum, part[1], false);
    for (int k = 0, c = threadIdx.x; k < EACH; ++k, c += 256)
        if (c < columns) out[c] = v[k] / sum;
}
""",
)

LAYER_NORM = Kernel(
    "layer_norm",
    BLOCK_REDUCE
    + r"""
extern "C" __global__ void layer_norm(
        float* out, const float* x, const float* gamma, const float* beta, int columns) {
    __shared__ float part[2][8];
    float v[EACH], sum = 0.0f, squares = 0.0f;
    x += (long long)blockIdx.x * columns;
    out += (long long)blockIdx.x * columns;
    for (int k = 0, c = threadIdx.x; k < EACH; ++k, c += 256) {
        v[k] = c < columns ? x[c] : 0.0f;
        sum += v[k];
    }
    float mean = block_reduce(sum, part[0], false) / columns;
    for (int k = 0, c = threadIdx.x; k < EACH; ++k, c += 256) {
        v[k] = c < columns ? v[k] - mean : 0.0f;
        squares += v[k] * v[k];
    }
    float scale = rsqrtf(block_reduce(squares, part[1], false) / columns + 1e-5f);
    for (int k = 0, c = threadIdx.x; k < EACH; ++k, c += 256)
        if (c < columns) out[c] = v[k] * scale * gamma[c] + beta[c];
}
""",
)

ROW_SUM = Kernel(
    "row_sum",
    BLOCK_REDUCE
    + r"""
extern "C" __global__ void row_sum(float* out, const float* x, int columns) {
    __shared__ float part[8];
    int piece = (columns + gridDim.x - 1) / gridDim.x, first = blockIdx.x * piece;
    int end = min(first + piece, columns);
    x += (long long)blockIdx.y * columns;
    float sum = 0.0f;
    for (int c = first + threadIdx.x; c < end; c += 256) sum += x[c];
    sum = block_reduce(sum, part, false);
    if (threadIdx.x == 0) out[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}
""",
)

# -- fast: 16-byte accesses, all of a row asked for at once ------------------------------

_ROW = r"""
#ifndef THREADS
#define THREADS 512
#endif
#ifdef PLAIN
#define LOAD(from) (*(from))
#define STORE(to, value) (*(to) = (value))
#else  // streaming: what is used once leaves the caches first
#define LOAD(from) __ldcs(from)
#define STORE(to, value) __stcs(to, value)
#endif
#define QUADS (8192 / 4 / THREADS)
#define WARPS (THREADS / 32)
#define EACH for (int k = 0, c = threadIdx.x; k < QUADS; ++k, c += THREADS)

__device__ __forceinline__ float warp_sum(float s) {
    for (int step = 16; step > 0; step /= 2) s += __shfl_xor_sync(0xffffffff, s, step);
    return s;
}
__device__ __forceinline__ float warp_max(float s) {
    for (int step = 16; step > 0; step /= 2) s = fmaxf(s, __shfl_xor_sync(0xffffffff, s, step));
    return s;
}
__device__ __forceinline__ float block_sum(float s, float* part) {
    int lane = threadIdx.x % 32;
    s = warp_sum(s);
    if (lane == 0) part[threadIdx.x / 32] = s;
    __syncthreads();
    return warp_sum(lane < WARPS ? part[lane] : 0.0f);
}
"""

# Each warp takes its own maximum first, so one barrier is enough: (maximum, sum) pairs are joined after it.
SOFTMAX4 = Kernel(
    "softmax4",
    _ROW
    + r"""
#define LOW -3.0e38f

__device__ __forceinline__ float4 exp4(float4 v, float top) {
    return make_float4(__expf(v.x - top), __expf(v.y - top), __expf(v.z - top), __expf(v.w - top));
}

extern "C" __global__ void __launch_bounds__(THREADS) softmax4(float4* out, const float4* x, int columns) {
    __shared__ float tops[WARPS], sums[WARPS];
    int lane = threadIdx.x % 32, quads = columns / 4;
    x += (long long)blockIdx.x * quads;
    out += (long long)blockIdx.x * quads;
    float4 v[QUADS];
    float top = LOW, sum = 0.0f;
#pragma unroll
    EACH v[k] = c < quads ? LOAD(x + c) : make_float4(LOW, LOW, LOW, LOW);
#pragma unroll
    EACH top = fmaxf(top, fmaxf(fmaxf(v[k].x, v[k].y), fmaxf(v[k].z, v[k].w)));
    top = warp_max(top);
#pragma unroll
    EACH {
        v[k] = exp4(v[k], top);
        sum += (v[k].x + v[k].y) + (v[k].z + v[k].w);
    }
    sum = warp_sum(sum);
    if (lane == 0) { tops[threadIdx.x / 32] = top; sums[threadIdx.x / 32] = sum; }
    __syncthreads();
    float warps_top = lane < WARPS ? tops[lane] : LOW, row_top = warp_max(warps_top);
    sum = warp_sum((lane < WARPS ? sums[lane] : 0.0f) * __expf(warps_top - row_top));
    float factor = __expf(top - row_top) / sum;
#pragma unroll
    EACH if (c < quads)
        STORE(out + c, make_float4(v[k].x * factor, v[k].y * factor, v[k].z * factor, v[k].w * factor));
}
""",
)

LAYER_NORM4 = Kernel(
    "layer_norm4",
    _ROW
    + r"""
__device__ __forceinline__ float4 affine(float4 v, float scale, float4 g, float4 b) {
    return make_float4(v.x * scale * g.x + b.x, v.y * scale * g.y + b.y, v.z * scale * g.z + b.z,
                       v.w * scale * g.w + b.w);
}

extern "C" __global__ void __launch_bounds__(THREADS) layer_norm4(
        float4* out, const float4* x, const float4* gamma, const float4* beta, int columns) {
    __shared__ float part[2][WARPS];
    int quads = columns / 4;
    x += (long long)blockIdx.x * quads;
    out += (long long)blockIdx.x * quads;
    float4 v[QUADS];
    float sum = 0.0f, squares = 0.0f;
#pragma unroll
    EACH v[k] = c < quads ? LOAD(x + c) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
    EACH sum += (v[k].x + v[k].y) + (v[k].z + v[k].w);
    float mean = block_sum(sum, part[0]) / columns;
#pragma unroll
    EACH if (c < quads) {
        v[k] = make_float4(v[k].x - mean, v[k].y - mean, v[k].z - mean, v[k].w - mean);
        squares += (v[k].x * v[k].x + v[k].y * v[k].y) + (v[k].z * v[k].z + v[k].w * v[k].w);
    }
    float scale = rsqrtf(block_sum(squares, part[1]) / columns + 1e-5f);
#pragma unroll
    EACH if (c < quads) STORE(out + c, affine(v[k], scale, __ldg(gamma + c), __ldg(beta + c)));
}
""",
)

ROW_SUM4 = Kernel(
    "row_sum4",
    _ROW
    + r"""
extern "C" __global__ void __launch_bounds__(THREADS) row_sum4(float* out, const float4* x, int columns) {
    __shared__ float part[WARPS];
    int quads = columns / 4;
    x += (long long)blockIdx.x * quads;
    float4 v[QUADS];
    float sum = 0.0f;
#pragma unroll
    EACH v[k] = c < quads ? LOAD(x + c) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
    EACH sum += (v[k].x + v[k].y) + (v[k].z + v[k].w);
    sum = block_sum(sum, part);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
""",
)

# One warp per row: no barrier, no shared memory.
ROW_SUM_WARP4 = Kernel(
    "row_sum_warp4",
    _ROW
    + r"""
extern "C" __global__ void __launch_bounds__(THREADS) row_sum_warp4(
        float* out, const float4* x, int columns, int rows) {
    int row = blockIdx.x * WARPS + threadIdx.x / 32, quads = columns / 4;
    if (row >= rows) return;
    x += (long long)row * quads;
    float sum = 0.0f;
#pragma unroll 16
    for (int c = threadIdx.x % 32; c < quads; c += 32) {
        float4 v = LOAD(x + c);
        sum += (v.x + v.y) + (v.z + v.w);
    }
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) out[row] = sum;
}
""",
)

# Block (p, r) adds up part p of row r; a grid one block wide gives a row to each, whatever its length.
ROW_SUM_PARTS4 = Kernel(
    "row_sum_parts4",
    _ROW
    + r"""
extern "C" __global__ void __launch_bounds__(THREADS) row_sum_parts4(
        float* out, const float4* x, int columns) {
    __shared__ float part[WARPS];
    int quads = columns / 4, piece = (quads + gridDim.x - 1) / gridDim.x, first = blockIdx.x * piece;
    int end = min(first + piece, quads);
    x += (long long)blockIdx.y * quads;
    float sum = 0.0f;
#pragma unroll 8
    for (int c = first + threadIdx.x; c < end; c += THREADS) {
        float4 v = LOAD(x + c);
        sum += (v.x + v.y) + (v.z + v.w);
    }
    sum = block_sum(sum, part);
    if (threadIdx.x == 0) out[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}
""",
)
