"""Chapter 12, low precision: the kernels that the chapter shows and that are timed on a GPU.

All products are C = A B^T of n x n elements, sums in float32: the rows of A and of B lie side by side in
memory, as the layers of a neural network keep their weights.
"""

from ..kernels import OPTIONS, Kernel

# -- one warp, one tile of C, straight from global memory --------------------------------

WMMA = Kernel(
    "wmma_global",
    r"""
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda::wmma;

// C = A B^T: a warp makes 16 x 16 elements of C
extern "C" __global__ void wmma_global(float* c, const STORED* a, const STORED* b, int n) {
    int row = blockIdx.y * 16, column = (blockIdx.x * blockDim.y + threadIdx.y) * 16;
    fragment<matrix_a, 16, 16, DEEP, ELEMENT, row_major> x;
    fragment<matrix_b, 16, 16, DEEP, ELEMENT, col_major> y;
    fragment<accumulator, 16, 16, DEEP, float> sum;
    fill_fragment(sum, 0.0f);
    for (int k = 0; k < n; k += DEEP) {
        load_matrix_sync(x, &a[row * n + k], n);
        load_matrix_sync(y, &b[column * n + k], n);
        mma_sync(sum, x, y, sum);
    }
    store_matrix_sync(&c[row * n + column], sum, n, mem_row_major);
}
""",
)

# -- 8 warps, a tile in shared memory ------------------------------------------------------

WMMA_TILED = Kernel(
    "wmma_tiled",
    r"""
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda::wmma;

// C = A B^T: a block of 8 warps makes 128 x 128 elements of C, each warp 64 x 32
extern "C" __global__ __launch_bounds__(256)
void wmma_tiled(float* c, const half* a, const half* b, int n) {
    __shared__ __align__(32) half a_tile[128][32 + PAD], b_tile[128][32 + PAD];
    int t = threadIdx.x, row = t / 128 * 64, column = t / 32 % 4 * 32;
    a += blockIdx.y * 128 * n, b += blockIdx.x * 128 * n;
    fragment<accumulator, 16, 16, 16, float> sum[4][2];
    for (int i = 0; i < 8; ++i) fill_fragment(sum[i / 2][i % 2], 0.0f);
    for (int first = 0; first < n; first += 32) {
        for (int i = t; i < 128 * 4; i += 256) {  // 8 halves at a time
            int r = i / 4, k = i % 4 * 8;
            *(uint4*)&a_tile[r][k] = *(const uint4*)&a[r * n + first + k];
            *(uint4*)&b_tile[r][k] = *(const uint4*)&b[r * n + first + k];
        }
        __syncthreads();
        for (int k = 0; k < 32; k += 16) {
            fragment<matrix_a, 16, 16, 16, half, row_major> x[4];
            fragment<matrix_b, 16, 16, 16, half, col_major> y[2];
            for (int i = 0; i < 4; ++i) load_matrix_sync(x[i], &a_tile[row + 16 * i][k], 32 + PAD);
            for (int j = 0; j < 2; ++j) load_matrix_sync(y[j], &b_tile[column + 16 * j][k], 32 + PAD);
            for (int i = 0; i < 8; ++i) mma_sync(sum[i / 2][i % 2], x[i / 2], y[i % 2], sum[i / 2][i % 2]);
        }
        __syncthreads();
    }
    c += (blockIdx.y * 128 + row) * n + blockIdx.x * 128 + column;
    for (int i = 0; i < 8; ++i)
        store_matrix_sync(&c[i / 2 * 16 * n + i % 2 * 16], sum[i / 2][i % 2], n, mem_row_major);
}
""",
)

# -- any format, by bytes: cp.async, ldmatrix, mma -------------------------------------------

PARTS = r"""
#define UNROLL _Pragma("unroll")

__device__ unsigned in_shared(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

// Byte at which 16 bytes of a row lie in a tile. Rows have 128 bytes: all 32 banks.
__device__ int place(int row, int chunk) { return row * 128 + 16 * (SWIZZLE ? chunk ^ row % 8 : chunk); }

// 16 bytes from global to shared memory; the thread does not wait for them.
__device__ void copy16(char* to, const char* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(in_shared(to)), "l"(from));
}

// Four matrices of 8 rows x 16 bytes. Lane i says where row i % 8 of matrix i / 8 is.
__device__ void load4(unsigned (&r)[4], const char* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(in_shared(row)));
}

// c += 16 rows of A x 8 rows of B, 32 bytes of each row
__device__ void multiply(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm("mma.sync.aligned." SHAPE ".row.col.f32." TYPE "." TYPE ".f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
"""

MMA_BODY = r"""
#define THREADS (BM / WM * (BN / WN) * 32)

// C = A B^T: a block makes BM x BN elements, a warp WM x WN. Rows of A and B have `pitch` bytes.
extern "C" __global__ __launch_bounds__(THREADS)
void mma_tiled(float* c, const char* a, const char* b, int n, int pitch) {
    extern __shared__ __align__(128) char tiles[];
    int t = threadIdx.x, lane = t % 32, warp = t / 32, steps = pitch / 128;
    int band = blockIdx.x / (8 * (n / BN)), deep = min(8, n / BM - band * 8);  // 8 rows of blocks at a time
    int row = (band * 8 + blockIdx.x % (8 * (n / BN)) % deep) * BM;
    int column = blockIdx.x % (8 * (n / BN)) / deep * BN;
    int my_row = warp % (BM / WM) * WM, my_column = warp / (BM / WM) * WN;
    a += (long long)(row + t / 8) * pitch + t % 8 * 16;
    b += (long long)(column + t / 8) * pitch + t % 8 * 16;
    auto stage = [&](int step) { return tiles + step % STAGES * (BM + BN) * 128; };
    auto load = [&](int step) {  // 128 bytes of each row, 16 bytes a thread
        char* to = stage(step) + place(t / 8, t % 8);
        UNROLL for (int r = 0; r < BM; r += THREADS / 8)
            copy16(to + r * 128, a + (long long)r * pitch + step * 128);
        UNROLL for (int r = 0; r < BN; r += THREADS / 8)
            copy16(to + (BM + r) * 128, b + (long long)r * pitch + step * 128);
    };
    float sum[WM / 16][WN / 8][4] = {};
    for (int s = 0; s < STAGES - 1; ++s) {
        if (s < steps) load(s);
        asm volatile("cp.async.commit_group;");
    }
    for (int step = 0; step < steps; ++step) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
        __syncthreads();
        const char *a_tile = stage(step), *b_tile = a_tile + BM * 128;
        UNROLL for (int k = 0; k < 4; ++k) {  // 32 bytes of each row
            unsigned x[WM / 16][4], y[WN / 16][4];
            UNROLL for (int i = 0; i < WM / 16; ++i)
                load4(x[i], a_tile + place(my_row + 16 * i + lane % 16, 2 * k + lane / 16));
            UNROLL for (int j = 0; j < WN / 16; ++j)
                load4(y[j], b_tile + place(my_column + 16 * j + lane / 16 * 8 + lane % 8,
                                           2 * k + lane / 8 % 2));
            if (k == 0) {  // the first fragments are on their way: time to ask for a later tile
                if (step + STAGES - 1 < steps) load(step + STAGES - 1);
                asm volatile("cp.async.commit_group;");
            }
            UNROLL for (int i = 0; i < WM / 16; ++i)
                UNROLL for (int j = 0; j < WN / 8; ++j)
                    multiply(sum[i][j], x[i], y[j / 2][j % 2 * 2], y[j / 2][j % 2 * 2 + 1]);
        }
    }
    c += (long long)(row + my_row + lane / 4) * n + column + my_column + lane % 4 * 2;
    UNROLL for (int i = 0; i < WM / 8; ++i)
        UNROLL for (int j = 0; j < WN / 8; ++j)
            *(float2*)&c[8 * i * n + 8 * j] = *(float2*)&sum[i / 2][j][i % 2 * 2];
}
"""
SHAPES = {"f16": "m16n8k16", "bf16": "m16n8k16", "tf32": "m16n8k8", "e4m3": "m16n8k32", "e5m2": "m16n8k32"}
MMA_SIZES = {"BM": 128, "BN": 128, "WM": 64, "WN": 64, "STAGES": 3, "SWIZZLE": 1}


def mma(element: str, **sizes: int) -> Kernel:
    """`mma_tiled` for elements of a type of `SHAPES`; `sizes` replace those of `MMA_SIZES`."""
    types = (f'-DTYPE="{element}"', f'-DSHAPE="{SHAPES[element]}"')
    return Kernel("mma_tiled", PARTS + MMA_BODY, (*OPTIONS, *types)).define(**MMA_SIZES | sizes)


# -- one value after the other: time follows bytes ---------------------------------------------

SCALE = Kernel(
    "scale",
    r"""
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#if BITS == 32
__device__ unsigned scaled(unsigned v, float s) { return __float_as_uint(__uint_as_float(v) * s); }
#elif BITS == 16  // two halves
__device__ unsigned scaled(unsigned v, float s) {
    half2 pair = __hmul2(*(half2*)&v, __float2half2_rn(s));
    return *(unsigned*)&pair;
}
#else  // four values of e4m3
__device__ unsigned scaled(unsigned v, float s) {
    float4 f = (float4)*(__nv_fp8x4_e4m3*)&v;
    return __nv_fp8x4_e4m3(make_float4(f.x * s, f.y * s, f.z * s, f.w * s)).__x;
}
#endif

extern "C" __global__ void scale(uint4* out, const uint4* in, float s, int n) {  // n: pieces of 16 bytes
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint4 v = in[i];
    out[i] = make_uint4(scaled(v.x, s), scaled(v.y, s), scaled(v.z, s), scaled(v.w, s));
}
""",
)

SCALE_ONE = Kernel(
    "scale_one",
    r"""
#include <cuda_fp16.h>
#include <cuda_fp8.h>

extern "C" __global__ void scale_one(ELEMENT* out, const ELEMENT* in, float s, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = ELEMENT(float(in[i]) * s);
}
""",
)

# -- MXFP8 ---------------------------------------------------------------------------------------

QUANTISE = Kernel(
    "quantise",
    r"""
#include <cuda_fp8.h>

// MXFP8: 32 values share a scale, a power of two. 8 lanes hold them, 4 each; n is a multiple of 8.
extern "C" __global__
void quantise(__nv_fp8x4_e4m3* codes, unsigned char* scales, const float4* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 v = i < n ? x[i] : make_float4(0, 0, 0, 0);
    float most = fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w)));
    for (int step = 4; step > 0; step /= 2)
        most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, step));
    if (i >= n) return;
    int scale = max((int)(__float_as_uint(most) >> 23) - 8, 0);  // the exponent of 448 is 8
    float s = __uint_as_float((254 - scale) << 23);              // 1 / 2^(scale - 127), exact
    codes[i] = __nv_fp8x4_e4m3(make_float4(v.x * s, v.y * s, v.z * s, v.w * s));
    if (i % 8 == 0) scales[i / 8] = scale;
}
""",
)

DEQUANTISE = Kernel(
    "dequantise",
    r"""
#include <cuda_fp8.h>

extern "C" __global__
void dequantise(float4* x, const __nv_fp8x4_e4m3* codes, const unsigned char* scales, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = __uint_as_float(scales[i / 8] << 23);
    float4 v = (float4)codes[i];
    x[i] = make_float4(v.x * s, v.y * s, v.z * s, v.w * s);
}
""",
)
