"""Chapter 05, fusion: point-wise kernels and matrix products that are recorded, clear and fast ones.

The clear ones are those of the notebook. The fast ones compute the same with 16-byte accesses.
"""

from ..kernels import OPTIONS, Kernel

# -- the notebook's own --------------------------------------------------------------

POINTWISE = r"""
#include <cuda_fp16.h>
#define S(x) (1.0f / (1.0f + expf(-(x))))

extern "C" __global__ void pointwise(
        NUMBER* out, NUMBER* a, NUMBER* b, NUMBER* c, int n, int columns) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { BODY; }
}
"""


def statement(body: str) -> Kernel:
    """The notebook's kernel for one statement on floats: out, a, b, c, n, columns."""
    return Kernel("pointwise", POINTWISE, (*OPTIONS, "-DNUMBER=float", f"-DBODY={body}"))


SIN_COS = statement("float s = sinf(a[i]), c = cosf(a[i]); out[i] = s * s + c * c")
GELU = statement(
    "float v = a[i], u = 0.79788456f * (v + 0.044715f * v * v * v); out[i] = 0.5f * v * (1.0f + tanhf(u))"
)

MATMUL = Kernel(
    "matmul",
    r"""
#ifndef RELU
#define RELU 0
#endif

extern "C" __global__ void matmul(float* c, const float* a, const float* b, int columns, int depth) {
    __shared__ float left[16][16], right[16][16];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
    float sum = 0.0f;
    for (int k = 0; k < depth; k += 16) {
        left[y][x] = a[row * depth + k + x];
        right[y][x] = b[(k + y) * columns + col];
        __syncthreads();
        for (int j = 0; j < 16; ++j) sum += left[y][j] * right[j][x];
        __syncthreads();
    }
    c[row * columns + col] = RELU ? fmaxf(sum, 0.0f) : sum;
}
""",
)

# A block of 256 threads makes 128 x 128 elements, 8 x 8 a thread.
MATMUL_FAST = Kernel(
    "matmul_fast",
    r"""
extern "C" __global__ void __launch_bounds__(256) matmul_fast(
        float* c, const float* a, const float* b, int columns, int depth) {
    __shared__ float left[16][132], right[16][128];
    int t = threadIdx.x, x = t % 16 * 4, y = t / 16 * 8;
    a += (long long)blockIdx.y * 128 * depth;
    b += blockIdx.x * 128;
    float sum[8][8] = {};
    for (int k = 0; k < depth; k += 16) {
        for (int q = t; q < 512; q += 256) {
            float4 v = *(const float4*)&a[q / 4 * depth + k + q % 4 * 4];
            float* to = &left[q % 4 * 4][q / 4];
            to[0] = v.x; to[132] = v.y; to[264] = v.z; to[396] = v.w;
            *(float4*)&right[q / 32][q % 32 * 4] = *(const float4*)&b[(k + q / 32) * columns + q % 32 * 4];
        }
        __syncthreads();
#pragma unroll
        for (int j = 0; j < 16; ++j) {
            float l[8], r[8];
            for (int i = 0; i < 8; ++i) { l[i] = left[j][y + i]; r[i] = right[j][x + i / 4 * 64 + i % 4]; }
            for (int i = 0; i < 64; ++i) sum[i / 8][i % 8] += l[i / 8] * r[i % 8];
        }
        __syncthreads();
    }
    c += (blockIdx.y * 128 + y) * columns + blockIdx.x * 128 + x;
    for (int i = 0; i < 8; ++i)
        for (int half = 0; half < 2; ++half) {
            float* s = &sum[i][4 * half];
            for (int j = 0; RELU && j < 4; ++j) s[j] = fmaxf(s[j], 0.0f);
            *(float4*)&c[i * columns + 64 * half] = make_float4(s[0], s[1], s[2], s[3]);
        }
}
""",
)

# -- point-wise: one float4 per thread ------------------------------------------------

_POINTWISE = r"""
#ifndef STEPS
#define STEPS 1
#endif

__device__ __forceinline__ float f(float x) {
    BODY
}

extern "C" __global__ void NAME(float4* out, const float4* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n / 4) return;
    float4 v = __ldcs(x + i);
    __stcs(out + i, make_float4(f(v.x), f(v.y), f(v.z), f(v.w)));
}
"""


def pointwise(name: str, body: str) -> Kernel:
    """A kernel that applies `float f(float x) { body }` to n floats, n a multiple of 4: out, x, n."""
    return Kernel(name, _POINTWISE.replace("NAME", name).replace("BODY", body))


SIN_COS4 = pointwise("sin_cos4", "float s, c; sincosf(x, &s, &c); return s * s + c * c;")

# tanh(u) = 2 sigmoid(2u) - 1 saves the slow tanhf: x / 2 * (1 + tanh(u)) = x / (1 + exp(-2u))
GELU4 = pointwise(
    "gelu4",
    "float u = 0.79788456f * (x + 0.044715f * x * x * x);\n"
    "    return __fdividef(x, 1.0f + __expf(-2.0f * u));",
)

# `STEPS` point-wise steps x -> 0.5 x + 1, joined
STEPS4 = pointwise(
    "steps4",
    "for (int k = 0; k < STEPS; ++k) x = 0.5f * x + 1.0f;\n    return x;",
)

RELU4 = pointwise("relu4", "return fmaxf(x, 0.0f);")

RELU_HALF = Kernel(
    "relu_half",
    r"""
#include <cuda_fp16.h>

extern "C" __global__ void relu_half(__half* out, const __half* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n / 8) return;
    uint4 v = __ldcs((const uint4*)x + i);
    __half2* pair = (__half2*)&v;
    for (int k = 0; k < 4; ++k) pair[k] = __hmax2(pair[k], __float2half2_rn(0.0f));
    __stcs((uint4*)out + i, v);
}
""",
)

# -- three stacked sigmoids -------------------------------------------------------------

_SIGMOIDS = r"""
__device__ __forceinline__ float sigmoid(float x) { return __fdividef(1.0f, 1.0f + __expf(-x)); }
__device__ __forceinline__ float4 sigmoid(float4 v) {
    return make_float4(sigmoid(v.x), sigmoid(v.y), sigmoid(v.z), sigmoid(v.w));
}
__device__ __forceinline__ float slope(float g, float s) { return g * s * (1.0f - s); }
__device__ __forceinline__ float4 slope(float4 g, float4 s) {
    return make_float4(slope(g.x, s.x), slope(g.y, s.y), slope(g.z, s.z), slope(g.w, s.w));
}

extern "C" __global__ void NAME(PARAMETERS, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n / 4) return;
    BODY
}
"""


def _sigmoids(name: str, parameters: str, *lines: str) -> Kernel:
    source = _SIGMOIDS.replace("NAME", name).replace("PARAMETERS", parameters)
    return Kernel(name, source.replace("BODY", "\n    ".join(lines)))


FORWARD_STORED4 = _sigmoids(
    "forward_stored4",
    "float4* out, float4* s1, float4* s2, const float4* x",
    "float4 a = sigmoid(x[i]), b = sigmoid(a);",
    "s1[i] = a; s2[i] = b; out[i] = sigmoid(b);",
)
FORWARD4 = _sigmoids("forward4", "float4* out, const float4* x", "out[i] = sigmoid(sigmoid(sigmoid(x[i])));")
BACKWARD_STORED4 = _sigmoids(
    "backward_stored4",
    "float4* dx, const float4* g, const float4* s1, const float4* s2",
    "float4 a = s1[i], b = s2[i];",
    "dx[i] = slope(slope(slope(g[i], sigmoid(b)), b), a);",
)
BACKWARD_RECOMPUTED4 = _sigmoids(
    "backward_recomputed4",
    "float4* dx, const float4* g, const float4* x",
    "float4 a = sigmoid(x[i]), b = sigmoid(a);",
    "dx[i] = slope(slope(slope(g[i], sigmoid(b)), b), a);",
)
