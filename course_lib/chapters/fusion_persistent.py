"""Chapter 05, fusion: row kernels that ask for the next row while they work on this one.

As many blocks as fit stay, and each takes every gridDim.x-th row. So loads are always in flight, even while
a block waits at its barriers. Shared memory is used in turns, so a slow warp still finds what it has to read.
"""

from ..kernels import Kernel
from .fusion_rows import LAYER_NORM4, SOFTMAX4

_HEAD = "\nextern"
_LOAD = r"""
#define FETCH(row) \
    _Pragma("unroll") EACH next[k] = c < quads ? LOAD(x + (long long)(row) * quads + c) : FILL
"""


def _before_kernel(source: str) -> str:
    """The device functions and macros in front of the kernel."""
    return source[: source.index(_HEAD)]


SOFTMAX_NEXT4 = Kernel(
    "softmax_next4",
    _before_kernel(SOFTMAX4.source)
    + "\n#define FILL make_float4(LOW, LOW, LOW, LOW)"
    + _LOAD
    + r"""
extern "C" __global__ void __launch_bounds__(THREADS) softmax_next4(
        float4* out, const float4* x, int columns, int rows) {
    __shared__ float tops[2][WARPS], sums[2][WARPS];
    int lane = threadIdx.x % 32, quads = columns / 4;
    float4 v[QUADS], next[QUADS];
    FETCH(blockIdx.x);
    for (int row = blockIdx.x, turn = 0; row < rows; row += gridDim.x, turn ^= 1) {
        float top = LOW, sum = 0.0f;
#pragma unroll
        EACH v[k] = next[k];
        if (row + gridDim.x < rows) FETCH(row + gridDim.x);
#pragma unroll
        EACH top = fmaxf(top, fmaxf(fmaxf(v[k].x, v[k].y), fmaxf(v[k].z, v[k].w)));
        top = warp_max(top);
#pragma unroll
        EACH {
            v[k] = exp4(v[k], top);
            sum += (v[k].x + v[k].y) + (v[k].z + v[k].w);
        }
        sum = warp_sum(sum);
        if (lane == 0) { tops[turn][threadIdx.x / 32] = top; sums[turn][threadIdx.x / 32] = sum; }
        __syncthreads();
        float warps_top = lane < WARPS ? tops[turn][lane] : LOW, row_top = warp_max(warps_top);
        sum = warp_sum((lane < WARPS ? sums[turn][lane] : 0.0f) * __expf(warps_top - row_top));
        float factor = __expf(top - row_top) / sum;
        float4* to = out + (long long)row * quads;
#pragma unroll
        EACH if (c < quads)
            STORE(to + c, make_float4(v[k].x * factor, v[k].y * factor, v[k].z * factor, v[k].w * factor));
    }
}
""",
)

LAYER_NORM_NEXT4 = Kernel(
    "layer_norm_next4",
    _before_kernel(LAYER_NORM4.source)
    + "\n#define FILL make_float4(0.0f, 0.0f, 0.0f, 0.0f)"
    + _LOAD
    + r"""
extern "C" __global__ void __launch_bounds__(THREADS) layer_norm_next4(
        float4* out, const float4* x, const float4* gamma, const float4* beta, int columns, int rows) {
    __shared__ float part[2][WARPS];
    int quads = columns / 4;
    float4 v[QUADS], next[QUADS];
    FETCH(blockIdx.x);
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        float sum = 0.0f, squares = 0.0f;
#pragma unroll
        EACH v[k] = next[k];
        if (row + gridDim.x < rows) FETCH(row + gridDim.x);
#pragma unroll
        EACH sum += (v[k].x + v[k].y) + (v[k].z + v[k].w);
        float mean = block_sum(sum, part[0]) / columns;
#pragma unroll
        EACH if (c < quads) {
            v[k] = make_float4(v[k].x - mean, v[k].y - mean, v[k].z - mean, v[k].w - mean);
            squares += (v[k].x * v[k].x + v[k].y * v[k].y) + (v[k].z * v[k].z + v[k].w * v[k].w);
        }
        float scale = rsqrtf(block_sum(squares, part[1]) / columns + 1e-5f);
        float4* to = out + (long long)row * quads;
#pragma unroll
        EACH if (c < quads) STORE(to + c, affine(v[k], scale, __ldg(gamma + c), __ldg(beta + c)));
    }
}
""",
)
