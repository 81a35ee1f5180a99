"""Chapter 08, flash attention: the kernels of the notebook, which are also the recorded ones.

Attention of one head: out = softmax(scale Q K^T, masked) V, with Q of nq x d floats and K and V of nk x d,
stored by rows; `blockIdx.y` counts heads. Three macros: `BR` queries of a block, one for each thread; `BC`
keys of a tile; `D` floats of a row in registers and shared memory, a multiple of 4 and at least d.

`shift` is the mask: query i sees key j if j <= i + shift. No mask: shift = nk. Causal: nk - nq aligns the
diagonal to the lower right corner, 0 to the upper left one. Scores that are stored lie by keys, so that
neighbouring queries are neighbours in memory.
"""

from ..kernels import Kernel

TILE = r"""
#define LOWEST -3.402823466e38f  // the lowest float: unlike minus infinity, its differences are never NaN
#define UNROLL _Pragma("unroll")

// Rows first to first + BC - 1 of n rows of d floats, by all threads of a block; what lies outside is 0.
__device__ void load_tile(float (*tile)[D], const float* rows, int first, int n, int d) {
    for (int t = threadIdx.x; t < BC * D; t += BR) {
        int row = first + t / D, c = t % D;
        tile[t / D][c] = row < n && c < d ? rows[row * d + c] : 0.0f;
    }
}

// A row times each of BC rows. Neighbouring sums do not wait for each other, so c is the outer loop.
__device__ void dots(float* sums, const float* row, const float (*tile)[D], float scale) {
    UNROLL for (int j = 0; j < BC; ++j) sums[j] = 0.0f;
    UNROLL for (int c = 0; c < D; ++c)
        UNROLL for (int j = 0; j < BC; ++j) sums[j] += row[c] * tile[j][c];
    UNROLL for (int j = 0; j < BC; ++j) sums[j] *= scale;
}
"""

ROWS = r"""
// One of BR rows for each thread. They pass through the tile, so that global memory meets whole rows.
__device__ void load_rows(float* own, float (*tile)[D], const float* rows, int first, int n, int d) {
    for (int part = 0; part < BR; part += BC) {
        load_tile(tile, rows, first + part, n, d);
        __syncthreads();
        if (threadIdx.x / BC * BC == part)
            UNROLL for (int c = 0; c < D; ++c) own[c] = tile[threadIdx.x % BC][c];
        __syncthreads();
    }
}

__device__ void store_rows(float* rows, float (*tile)[D], const float* own, int first, int n, int d) {
    for (int part = 0; part < BR; part += BC) {
        if (threadIdx.x / BC * BC == part)
            UNROLL for (int c = 0; c < D; ++c) tile[threadIdx.x % BC][c] = own[c];
        __syncthreads();
        for (int t = threadIdx.x; t < BC * D; t += BR) {
            int row = first + part + t / D, c = t % D;
            if (row < n && c < d) rows[row * d + c] = tile[t / D][c];
        }
        __syncthreads();
    }
}
"""

HELPERS = TILE + ROWS

SCORES = Kernel(
    "scores",
    HELPERS
    + r"""
extern "C" __global__ void scores(float* s, const float* q, const float* k,
                                  int nq, int nk, int d, int shift, float scale) {
    __shared__ __align__(16) float keys[BC][D];
    int i = blockIdx.x * BR + threadIdx.x;
    long long head = blockIdx.y;
    s += head * nq * nk, q += head * nq * d, k += head * nk * d;
    float qi[D], score[BC];
    load_rows(qi, keys, q, i - threadIdx.x, nq, d);
    for (int first = 0; first < nk; first += BC) {
        load_tile(keys, k, first, nk, d);
        __syncthreads();
        dots(score, qi, keys, scale);
        UNROLL for (int j = 0; j < BC; ++j)
            if (first + j < nk && i < nq)
                s[(first + j) * nq + i] = first + j <= i + shift ? score[j] : LOWEST;
        __syncthreads();
    }
}
""",
)

# Three passes over the scores of a query: the maximum, the sum, the probabilities. In place.
SOFTMAX = Kernel(
    "softmax",
    r"""
#define LOWEST -3.402823466e38f

extern "C" __global__ void softmax(float* s, int nq, int nk) {
    __shared__ float part[2][8][32];
    int x = threadIdx.x, y = threadIdx.y, i = blockIdx.x * 32 + x, end = i < nq ? nk : 0;
    s += (long long)blockIdx.y * nq * nk + i;
    float top = LOWEST, sum = 0.0f;
    for (int j = y; j < end; j += 8) top = fmaxf(top, s[j * nq]);
    part[0][y][x] = top;
    __syncthreads();
    for (int r = 0; r < 8; ++r) top = fmaxf(top, part[0][r][x]);
    for (int j = y; j < end; j += 8) sum += s[j * nq] > LOWEST ? expf(s[j * nq] - top) : 0.0f;
    part[1][y][x] = sum;
    __syncthreads();
    sum = 0.0f;
    for (int r = 0; r < 8; ++r) sum += part[1][r][x];
    for (int j = y; j < end; j += 8) s[j * nq] = s[j * nq] > LOWEST ? expf(s[j * nq] - top) / sum : 0.0f;
}
""",
)

# As `softmax`, but the maximum and the sum in one pass: when the maximum rises, the sum is rescaled.
ONLINE = Kernel(
    "online",
    r"""
#define LOWEST -3.402823466e38f

extern "C" __global__ void online(float* s, int nq, int nk) {
    __shared__ float part[2][8][32];
    int x = threadIdx.x, y = threadIdx.y, i = blockIdx.x * 32 + x, end = i < nq ? nk : 0;
    s += (long long)blockIdx.y * nq * nk + i;
    float top = LOWEST, sum = 0.0f, all = LOWEST, total = 0.0f;
    for (int j = y; j < end; j += 8) {
        float score = s[j * nq], before = top;
        top = fmaxf(top, score);
        sum = sum * expf(before - top) + (score > LOWEST ? expf(score - top) : 0.0f);
    }
    part[0][y][x] = top;
    part[1][y][x] = sum;
    __syncthreads();
    for (int r = 0; r < 8; ++r) all = fmaxf(all, part[0][r][x]);
    for (int r = 0; r < 8; ++r) total += part[1][r][x] * expf(part[0][r][x] - all);
    for (int j = y; j < end; j += 8) s[j * nq] = s[j * nq] > LOWEST ? expf(s[j * nq] - all) / total : 0.0f;
}
""",
)

APPLY = Kernel(
    "apply",
    HELPERS
    + r"""
extern "C" __global__ void apply(float* out, const float* p, const float* v, int nq, int nk, int d) {
    __shared__ __align__(16) float values[BC][D];
    int i = blockIdx.x * BR + threadIdx.x;
    long long head = blockIdx.y;
    out += head * nq * d, p += head * nq * nk, v += head * nk * d;
    float acc[D] = {}, weight[BC];
    for (int first = 0; first < nk; first += BC) {
        load_tile(values, v, first, nk, d);
        __syncthreads();
        // Past the end the last weight stands in: the rows of V are 0 there.
        UNROLL for (int j = 0; j < BC; ++j) weight[j] = p[min(first + j, nk - 1) * nq + min(i, nq - 1)];
        UNROLL for (int j = 0; j < BC; ++j)
            UNROLL for (int c = 0; c < D; ++c) acc[c] += weight[j] * values[j][c];
        __syncthreads();
    }
    store_rows(out, values, acc, i - threadIdx.x, nq, d);
}
""",
)

# `lse` gets the log of the sum of exp(score) of each query: all that a backward pass needs of the scores.
FLASH = Kernel(
    "flash",
    HELPERS
    + r"""
extern "C" __global__ void flash(float* out, float* lse, const float* q, const float* k, const float* v,
                                 int nq, int nk, int d, int shift, float scale) {
    __shared__ __align__(16) float keys[BC][D], values[BC][D];
    int block = (gridDim.x - 1 - blockIdx.x) * BR;  // the last queries first: a causal mask leaves them most
    int i = block + threadIdx.x, end = min(nk, block + BR + shift);
    long long head = blockIdx.y;
    out += head * nq * d, lse += head * nq, q += head * nq * d, k += head * nk * d, v += head * nk * d;
    float qi[D], acc[D] = {}, s[BC], top = LOWEST, sum = 0.0f;
    load_rows(qi, keys, q, block, nq, d);
    for (int first = 0; first < end; first += BC) {
        load_tile(keys, k, first, nk, d);
        load_tile(values, v, first, nk, d);
        __syncthreads();
        float before = top;
        dots(s, qi, keys, scale);
        UNROLL for (int j = 0; j < BC; ++j) {
            if (first + j >= nk || first + j > i + shift) s[j] = LOWEST;
            top = fmaxf(top, s[j]);
        }
        float keep = expf(before - top);  // what was summed up so far, in units of the new maximum
        sum *= keep;
        UNROLL for (int c = 0; c < D; ++c) acc[c] *= keep;
        UNROLL for (int j = 0; j < BC; ++j) {
            float p = s[j] > LOWEST ? expf(s[j] - top) : 0.0f;
            sum += p;
            UNROLL for (int c = 0; c < D; ++c) acc[c] += p * values[j][c];
        }
        __syncthreads();
    }
    float whole = sum > 0.0f ? 1.0f / sum : 0.0f;
    UNROLL for (int c = 0; c < D; ++c) acc[c] *= whole;
    store_rows(out, values, acc, block, nq, d);
    if (i < nq) lse[i] = sum > 0.0f ? top + logf(sum) : LOWEST;
}
""",
)

# The gradient of Q: scores are computed again, and exp(score - lse) is the probability at once.
GRAD_Q = Kernel(
    "grad_q",
    HELPERS
    + r"""
extern "C" __global__ void grad_q(float* dq, const float* dout, const float* out, const float* lse,
                                  const float* q, const float* k, const float* v,
                                  int nq, int nk, int d, int shift, float scale) {
    __shared__ __align__(16) float keys[BC][D], values[BC][D];
    int block = blockIdx.x * BR, i = block + threadIdx.x, end = min(nk, block + BR + shift);
    float qi[D], gi[D], acc[D], delta = 0.0f;
    load_rows(acc, keys, out, block, nq, d);
    load_rows(gi, keys, dout, block, nq, d);
    load_rows(qi, keys, q, block, nq, d);
    float log_sum = i < nq ? lse[i] : 0.0f;
    UNROLL for (int c = 0; c < D; ++c) delta += gi[c] * acc[c], acc[c] = 0.0f;
    for (int first = 0; first < end; first += BC) {
        load_tile(keys, k, first, nk, d);
        load_tile(values, v, first, nk, d);
        __syncthreads();
        for (int j = 0; j < BC; ++j) {
            float score = 0.0f, dp = 0.0f;
            UNROLL for (int c = 0; c < D; ++c) score += qi[c] * keys[j][c], dp += gi[c] * values[j][c];
            bool seen = first + j < nk && first + j <= i + shift;
            float ds = seen ? scale * expf(scale * score - log_sum) * (dp - delta) : 0.0f;
            UNROLL for (int c = 0; c < D; ++c) acc[c] += ds * keys[j][c];
        }
        __syncthreads();
    }
    store_rows(dq, values, acc, block, nq, d);
}
""",
)
