"""CUDA sources of kernels with cp.async, right and wrong."""

_COPY = """
extern "C" __global__ void copy_{cache}_{size}(const unsigned char* in, unsigned char* out, const int* bytes)
{{
    __shared__ __align__(16) unsigned char s[64 * {size}];
    int t = threadIdx.x;
    unsigned at = __cvta_generic_to_shared(s + (63 - t) * {size});
    asm volatile("cp.async.{cache}.shared.global [%0], [%1], {size}, %2;"
                 :: "r"(at), "l"(in + t * {size}), "r"(bytes[t]) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    for (int i = t; i < 64 * {size}; i += 64) out[i] = s[i];
}}"""
COPIES = (
    "".join(_COPY.format(cache=c, size=s) for c, s in (("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16)))
    + """
extern "C" __global__ void ignore(const float* in, float* out, int n)
{
    __shared__ __align__(16) float s[64];
    int t = threadIdx.x;
    unsigned at = __cvta_generic_to_shared(s + t);
    asm volatile("{.reg .pred p; setp.ge.s32 p, %2, %3; cp.async.ca.shared.global [%0], [%1], 4, p;"
                 "cp.async.wait_all;}"
                 :: "r"(at), "l"(in + t), "r"(t), "r"(n) : "memory");
    __syncthreads();
    out[t] = s[63 - t];
}"""
)

PIPELINE = """
#include <cuda_pipeline.h>
#define TILE 64
extern "C" __global__ void running(const float* in, float* out, int tiles)
{
    // out = for each tile, reversed, what was read so far; two buffers
    __shared__ __align__(16) float s[2][TILE];
    int t = threadIdx.x;
    float sum = 0;
    in += blockIdx.x * tiles * TILE; out += blockIdx.x * tiles * TILE;
    __pipeline_memcpy_async(&s[0][t], in + t, 4);
    __pipeline_commit();
    for (int i = 0; i < tiles; ++i)
    {
        if (i + 1 < tiles) __pipeline_memcpy_async(&s[(i + 1) % 2][t], in + (i + 1) * TILE + t, 4);
        __pipeline_commit();
        WAIT(1);
        BARRIER();
        sum += s[i % 2][TILE - 1 - t];
        out[i * TILE + t] = sum;
        LAST_BARRIER();
    }
}"""
DEFINES = "#define WAIT(n) {wait}\n#define BARRIER() {barrier}\n#define LAST_BARRIER() {last}\n"


def pipeline(
    wait: str = "__pipeline_wait_prior(n)", barrier: str = "__syncthreads()", last: str = "__syncthreads()"
) -> str:
    """The double-buffered kernel, with parts left out to make it wrong."""
    return DEFINES.format(wait=wait, barrier=barrier, last=last) + PIPELINE


MATMUL = """
#include <cuda_fp16.h>
#define BM 64
#define BN 64
#define BK 32
#define PAD 8
// C (m x n, float) = A (m x k, half) * B (k x n, half): 64 x 64 of C per block, 32 x 32 per warp;
// tiles come by cp.async into two buffers, ragged edges as zeros, fragments by ldmatrix
__device__ unsigned shared(const void* p) { return __cvta_generic_to_shared(p); }
__device__ void stage(half (*a)[BK + PAD], half (*b)[BN + PAD], const half* A, const half* B, int m, int n,
                      int k, int row, int column, int depth)
{
    for (int i = threadIdx.x; i < BM * BK / 8; i += 128)
    {
        int r = i / (BK / 8), c = i % (BK / 8) * 8;
        int left = row + r < m ? min(8, max(0, k - depth - c)) * 2 : 0;
        unsigned at = __cvta_generic_to_shared(&a[r][c]);
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                     :: "r"(at), "l"(left ? A + (row + r) * k + depth + c : A), "r"(left) : "memory");
    }
    for (int i = threadIdx.x; i < BK * BN / 8; i += 128)
    {
        int r = i / (BN / 8), c = i % (BN / 8) * 8;
        int left = depth + r < k ? min(8, max(0, n - column - c)) * 2 : 0;
        unsigned at = __cvta_generic_to_shared(&b[r][c]);
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                     :: "r"(at), "l"(left ? B + (depth + r) * n + column + c : B), "r"(left) : "memory");
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
}
extern "C" __global__ void matmul(const half* A, const half* B, float* C, int m, int n, int k)
{
    __shared__ __align__(16) half a[2][BM][BK + PAD];
    __shared__ __align__(16) half b[2][BK][BN + PAD];
    int row = blockIdx.y * BM, column = blockIdx.x * BN, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int wr = warp / 2 * 32, wc = warp % 2 * 32;
    float acc[2][4][4] = {};
    int steps = (k + BK - 1) / BK;
    stage(a[0], b[0], A, B, m, n, k, row, column, 0);
    for (int s = 0; s < steps; ++s)
    {
        if (s + 1 < steps) stage(a[(s + 1) % 2], b[(s + 1) % 2], A, B, m, n, k, row, column, (s + 1) * BK);
        else asm volatile("cp.async.commit_group;");
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        for (int kk = 0; kk < BK; kk += 16)
        {
            unsigned x[2][4], y[4][2];
            for (int i = 0; i < 2; ++i)
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                    : "=r"(x[i][0]), "=r"(x[i][1]), "=r"(x[i][2]), "=r"(x[i][3])
                    : "r"(shared(&a[s % 2][wr + i * 16 + lane % 16][kk + lane / 16 * 8])) : "memory");
            for (int j = 0; j < 4; ++j)
                asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                    : "=r"(y[j][0]), "=r"(y[j][1])
                    : "r"(shared(&b[s % 2][kk + lane % 16][wc + j * 8])) : "memory");
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 4; ++j)
                    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                        "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                        : "+f"(acc[i][j][0]), "+f"(acc[i][j][1]), "+f"(acc[i][j][2]), "+f"(acc[i][j][3])
                        : "r"(x[i][0]), "r"(x[i][1]), "r"(x[i][2]), "r"(x[i][3]), "r"(y[j][0]), "r"(y[j][1]));
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j)
            for (int e = 0; e < 4; ++e)
            {
                int r = row + wr + i * 16 + lane / 4 + e / 2 * 8;
                int c = column + wc + j * 8 + lane % 4 * 2 + e % 2;
                if (r < m && c < n) C[r * n + c] = acc[i][j][e];
            }
}"""
