"""CUDA sources that are timed on a GPU, recorded, and quoted by the notebooks: chapters 01 and 03.

Every constant is one translation unit with one kernel of the name in `Kernel.name`. The kernels that measure
what the GPU itself can do are in `rate_kernels`.
"""

from dataclasses import dataclass
from typing import Any

OPTIONS = ("-std=c++17",)


@dataclass(frozen=True)
class Kernel:
    """A source and the kernel in it; `options` are NVRTC's."""

    name: str
    source: str
    options: tuple[str, ...] = OPTIONS

    def define(self, **macros: int) -> "Kernel":
        """The same kernel compiled with macros, such as `PAD=1`."""
        added = tuple(f"-D{name}={value}" for name, value in macros.items())
        return Kernel(self.name, self.source, (*self.options, *added))

    def compile(self, cp: Any) -> Any:
        """The kernel as a `RawKernel` of `cp`: CuPy, or the course's stand-in."""
        return cp.RawKernel(self.source, self.name, options=self.options)


COPY_OFFSET = Kernel(
    "copy_offset",
    r"""
extern "C" __global__ void copy_offset(float* out, const float* in, int n, int offset) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i + offset] = in[i + offset];
}
""",
)

READ_STRIDED = Kernel(
    "read_strided",
    r"""
extern "C" __global__ void read_strided(float* out, const float* in, int n, int stride) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[(long long)i * stride];
}
""",
)

SUM_AOS = Kernel(
    "sum_aos",
    r"""
struct Point { float x, y, z; };

extern "C" __global__ void sum_aos(float* out, const Point* points, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = points[i].x + points[i].y + points[i].z;
}
""",
)

SUM_SOA = Kernel(
    "sum_soa",
    r"""
extern "C" __global__ void sum_soa(float* out, const float* points, int n) {
    const float *x = points, *y = points + n, *z = points + 2 * n;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] + y[i] + z[i];
}
""",
)

SCALE_X_AOS = Kernel(
    "scale_x_aos",
    r"""
struct Point { float x, y, z; };

extern "C" __global__ void scale_x_aos(float* out, const Point* points, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2.0f * points[i].x;
}
""",
)

SCALE_X_SOA = Kernel(
    "scale_x_soa",
    r"""
extern "C" __global__ void scale_x_soa(float* out, const float* points, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2.0f * points[i];
}
""",
)

COPY_FLOAT = Kernel(
    "copy_float",
    r"""
extern "C" __global__ void copy_float(float* out, const float* in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i];
}
""",
)

COPY_FLOAT2 = Kernel(
    "copy_float2",
    r"""
extern "C" __global__ void copy_float2(float2* out, const float2* in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 2) out[i] = in[i];
}
""",
)

COPY_FLOAT4 = Kernel(
    "copy_float4",
    r"""
extern "C" __global__ void copy_float4(float4* out, const float4* in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 4) out[i] = in[i];
}
""",
)

# A deliberately bad baseline: neighbouring threads of a warp compute neighbouring rows.
MATMUL_NAIVE = Kernel(
    "matmul_naive",
    r"""
#define BLOCKSIZE 32

extern "C" __global__ void matmul_naive(float* c, const float* a, const float* b, int n) {
    int row = blockIdx.x * BLOCKSIZE + threadIdx.x % BLOCKSIZE;
    int col = blockIdx.y * BLOCKSIZE + threadIdx.x / BLOCKSIZE;
    if (row >= n || col >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + col];
    c[row * n + col] = sum;
}
""",
)

# The same arithmetic; only the mapping from thread to element differs.
MATMUL_COALESCED = Kernel(
    "matmul_coalesced",
    r"""
#define BLOCKSIZE 32

extern "C" __global__ void matmul_coalesced(float* c, const float* a, const float* b, int n) {
    int row = blockIdx.x * BLOCKSIZE + threadIdx.x / BLOCKSIZE;
    int col = blockIdx.y * BLOCKSIZE + threadIdx.x % BLOCKSIZE;
    if (row >= n || col >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + col];
    c[row * n + col] = sum;
}
""",
)

# `volatile` keeps the compiler from doing the same access once; loads leave no race whatever the OFFSET.
BANK_LOAD = Kernel(
    "bank_load",
    r"""
extern "C" __global__ void bank_load(int* out, int offset, int repeat) {
    __shared__ int val[1024];
    volatile int* shared = val;
    int t = threadIdx.x, slot = t * offset % 1024, sum = 0;
    val[t] = t;
    __syncthreads();
#pragma unroll 16
    for (int r = 0; r < repeat; ++r) sum += shared[slot];
    out[blockIdx.x * blockDim.x + t] = sum;
}
""",
)

# For an even OFFSET several threads store to one word: a race, harmless here.
BANK_STORE = Kernel(
    "bank_store",
    r"""
extern "C" __global__ void bank_store(int* out, int offset, int repeat) {
    __shared__ int val[1024];
    volatile int* shared = val;
    int t = threadIdx.x, slot = t * offset % 1024;
#pragma unroll 16
    for (int r = 0; r < repeat; ++r) shared[slot] = r;
    __syncthreads();
    out[blockIdx.x * blockDim.x + t] = val[slot];
}
""",
)

# `__restrict__`: without it each load waits for the store before it, which might be to the same address.
TRANSPOSE_COPY = Kernel(
    "transpose_copy",
    r"""
extern "C" __global__ void transpose_copy(float* __restrict__ out, const float* __restrict__ in, int n) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) out[(y + j) * n + x] = in[(y + j) * n + x];
}
""",
)

TRANSPOSE_NAIVE = Kernel(
    "transpose_naive",
    r"""
extern "C" __global__ void transpose_naive(float* out, const float* in, int n) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) out[x * n + y + j] = in[(y + j) * n + x];
}
""",
)

# PAD = 0 is the plain tile: its column is in one bank. Compile with -DPAD=1 for the cure.
TRANSPOSE_TILED = Kernel(
    "transpose_tiled",
    r"""
#ifndef PAD
#define PAD 0
#endif

extern "C" __global__ void transpose_tiled(float* out, const float* in, int n) {
    __shared__ float tile[32][32 + PAD];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}
""",
)

TRANSPOSE_SWIZZLED = Kernel(
    "transpose_swizzled",
    r"""
extern "C" __global__ void transpose_swizzled(float* out, const float* in, int n) {
    __shared__ float tile[32][32];  // element (row, col) lives in column row ^ col
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) {
        int row = threadIdx.y + j, col = threadIdx.x;
        tile[row][row ^ col] = in[(y + j) * n + x];
    }
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) {
        int row = threadIdx.x, col = threadIdx.y + j;
        out[(y + j) * n + x] = tile[row][row ^ col];
    }
}
""",
)
