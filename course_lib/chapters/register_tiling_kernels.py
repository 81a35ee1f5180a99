"""Chapter 09, register tiling: the CUDA sources of the ladder, from a register tile to a double buffer.

All compute C = A B of n x n floats stored by rows, for an n that the block's tile divides. The first three
rungs, `naive`, `coalesced` and `tiled`, are chapter 02's.
"""

from ..kernels import Kernel

# 16 x 16 threads; thread (x, y) makes TM x TN elements, 16 rows and 16 columns apart.
REGISTER_TILE = Kernel(
    "register_tile",
    r"""
extern "C" __global__ void
register_tile(float* c, const float* a, const float* b, int n) {
    __shared__ float a_tile[16 * TM][16], b_tile[16][16 * TN];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * 16 * TM + y, col = blockIdx.x * 16 * TN + x;
    float sum[TM][TN] = {};
    for (int first = 0; first < n; first += 16) {
        for (int i = 0; i < TM; ++i)
            a_tile[y + 16 * i][x] = a[(row + 16 * i) * n + first + x];
        for (int j = 0; j < TN; ++j)
            b_tile[y][x + 16 * j] = b[(first + y) * n + col + 16 * j];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 16; ++k) {
            float left[TM], right[TN];
            for (int i = 0; i < TM; ++i) left[i] = a_tile[y + 16 * i][k];
            for (int j = 0; j < TN; ++j) right[j] = b_tile[k][x + 16 * j];
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sum[i][j] += left[i] * right[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j)
            c[(row + 16 * i) * n + col + 16 * j] = sum[i][j];
}
""",
)

# Where in the block's 128 x 128 elements a thread's 8 x 8 lie: four groups of 4 x 4, `DOWN` rows and `RIGHT`
# columns apart. LANES 0: threads row by row, so a warp has 2 x 16 of them. LANES 1 and 2: a warp has 4 x 8
# threads and a tile of 32 x 64, with its lanes row by row (1) or in a Z (2).
PLACE = r"""
#if LANES == 0
#define DOWN 64
#define RIGHT 64
#else
#define DOWN 16
#define RIGHT 32
#endif

__device__ int2 place(int t) {  // .x: the thread's first column, .y: its first row
    if (LANES == 0) return make_int2(4 * (t % 16), 4 * (t / 16));
    int lane = t % 32, warp = t / 32;
    int right = lane % 8, down = lane / 8;
    if (LANES == 2) {  // bits of the lane: right down right down
        right = lane >> 1 & 1 | lane >> 2 & 6;
        down = lane & 1 | lane >> 1 & 2;
    }
    return make_int2(warp % 2 * 64 + 4 * right, warp / 2 * 32 + 4 * down);
}
"""

# 256 threads make 128 x 128 elements, 8 x 8 each. A lies transposed in shared memory, its rows PAD longer.
VECTORS = Kernel(
    "vectors",
    PLACE
    + r"""
extern "C" __global__ void __launch_bounds__(256, 2)
vectors(float* c, const float* __restrict__ a, const float* __restrict__ b, int n) {
    __shared__ __align__(16) float a_tile[8][128 + PAD], b_tile[8][128];
    int t = threadIdx.x;
    int2 at = place(t);
    a += (blockIdx.y * 128 + t / 2) * n + t % 2 * 4;
    b += t / 32 * n + blockIdx.x * 128 + t % 32 * 4;
    float sum[8][8] = {};
    for (int first = 0; first < n; first += 8) {
        float4 four = *(float4*)(a + first);
        for (int i = 0; i < 4; ++i) a_tile[t % 2 * 4 + i][t / 2] = (&four.x)[i];
        *(float4*)&b_tile[t / 32][t % 32 * 4] = *(float4*)(b + first * n);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            float4 left[2], right[2];
            for (int i = 0; i < 2; ++i) {
                left[i] = *(float4*)&a_tile[k][at.y + i * DOWN];
                right[i] = *(float4*)&b_tile[k][at.x + i * RIGHT];
            }
            for (int i = 0; i < 8; ++i)
                for (int j = 0; j < 8; ++j) sum[i][j] += (&left[0].x)[i] * (&right[0].x)[j];
        }
        __syncthreads();
    }
    c += (blockIdx.y * 128 + at.y) * n + blockIdx.x * 128 + at.x;
    for (int i = 0; i < 8; ++i)
        for (int j = 0; j < 8; j += 4)
            *(float4*)&c[(i / 4 * DOWN + i % 4) * n + j / 4 * RIGHT] = *(float4*)&sum[i][j];
}
""",
)

# What `BUFFERED` is made of: a slice of A and B in shared memory, how it gets there, a thread's part of it.
SLICES = r"""
#define LANES_M (WM / TM)
#define LANES_N (WN / TN)
#define THREADS (32 * (BM / WM) * (BN / WN))

struct Slice { float a[BK][BM + 4], b[BK][BN]; };  // of A, transposed, and of B

struct Copier {  // carries slices from global to shared memory, through this thread's registers
    static constexpr int A_STEP = 4 * THREADS / BK, B_STEP = 4 * THREADS / BN;
    int a_row = threadIdx.x / (BK / 4), a_k = threadIdx.x % (BK / 4) * 4;
    int b_k = threadIdx.x / (BN / 4), b_col = threadIdx.x % (BN / 4) * 4;
    const float *a, *b;
    float4 a_held[BM / A_STEP], b_held[BK / B_STEP];

    __device__ Copier(const float* a, const float* b, int n)
        : a(a + a_row * n + a_k), b(b + b_k * n + b_col) {}
    __device__ void load(int n) {
        for (int i = 0; i < BM / A_STEP; ++i) a_held[i] = *(const float4*)&a[i * A_STEP * n];
        for (int i = 0; i < BK / B_STEP; ++i) b_held[i] = *(const float4*)&b[i * B_STEP * n];
        a += BK;
        b += BK * n;
    }
    __device__ void store(Slice& slice) {
        for (int i = 0; i < BM / A_STEP; ++i)
            for (int j = 0; j < 4; ++j) slice.a[a_k + j][a_row + i * A_STEP] = (&a_held[i].x)[j];
        for (int i = 0; i < BK / B_STEP; ++i) *(float4*)&slice.b[b_k + i * B_STEP][b_col] = b_held[i];
    }
};

struct Fragment {  // what a thread needs of a slice for one k
    float4 a[TM / 4], b[TN / 4];

    __device__ void load(const Slice& slice, int k, int row, int col) {
        for (int i = 0; i < TM / 4; ++i) a[i] = *(const float4*)&slice.a[k][row + i * 4 * LANES_M];
        for (int j = 0; j < TN / 4; ++j) b[j] = *(const float4*)&slice.b[k][col + j * 4 * LANES_N];
    }
};
"""

# Every size a macro: a block makes BM x BN elements in slices of BK, a warp WM x WN, a thread TM x TN in
# groups of 4 x 4, with the lanes of a warp in a Z. The next slice is on its way while the last one is
# multiplied. Blocks go through C in bands of GROUP rows of tiles, so that neighbours in time share what L2
# holds.
BUFFERED = Kernel(
    "buffered",
    SLICES
    + r"""
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
buffered(float* __restrict__ c, const float* __restrict__ a, const float* __restrict__ b, int n) {
    extern __shared__ __align__(16) Slice slices[];  // two
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int down = lane & 1 | lane / 4 % (LANES_M / 2) << 1;  // the lane's place in the warp, in a Z
    int right = lane >> 1 & 1 | lane / 4 / (LANES_M / 2) << 1;
    int row = warp / (BN / WN) * WM + 4 * down, col = warp % (BN / WN) * WN + 4 * right;
    int band = blockIdx.x / (n / BN * GROUP) * GROUP, high = min(GROUP, n / BM - band);
    int inside = blockIdx.x % (n / BN * GROUP);
    int top = (band + inside % high) * BM, left = inside / high * BN;  // of the block's tile

    Copier copier(a + top * n, b + left, n);
    Fragment fragment[2];
    float sum[TM][TN] = {};
    copier.load(n);
    copier.store(slices[0]);
    __syncthreads();
    fragment[0].load(slices[0], 0, row, col);
#pragma unroll 2
    for (int step = 0; step < n / BK; ++step) {
        Slice &now = slices[step % 2], &next = slices[1 - step % 2];
#pragma unroll
        for (int k = 0; k < BK; ++k) {
            if (k == BK - 1) {  // the next slice must be there before its first fragment
                copier.store(next);  // after the last slice nobody needs it
                __syncthreads();
            }
            fragment[(k + 1) % 2].load(k == BK - 1 ? next : now, (k + 1) % BK, row, col);
            if (k == 0 && step + 1 < n / BK) copier.load(n);
            const float *f = &fragment[k % 2].a[0].x, *g = &fragment[k % 2].b[0].x;
            for (int group = 0; group < TM; group += 4)
                for (int j = 0; j < TN; ++j)
                    for (int i = group; i < group + 4; ++i) sum[i][j] += f[i] * g[j];
        }
    }
    c += (top + row) * n + left + col;
    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; j += 4)
            *(float4*)&c[(i / 4 * 4 * LANES_M + i % 4) * n + j * LANES_N] = *(float4*)&sum[i][j];
}
""",
)
