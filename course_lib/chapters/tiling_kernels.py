"""Chapter 02, tiling: the CUDA sources that its notebook quotes and its sweeps time.

All compute C = A B of n x n matrices stored by rows, in blocks of TILE x TILE threads (32 x 32 untiled).
`NUMBER` is the type of the elements.
"""

from ..kernels import Kernel

# A deliberately bad baseline: neighbouring threads of a warp compute neighbouring rows.
NAIVE = Kernel(
    "naive",
    r"""
#ifndef NUMBER
#define NUMBER float
#endif

extern "C" __global__ void naive(NUMBER* c, const NUMBER* a, const NUMBER* b, int n) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int col = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || col >= n) return;
    NUMBER sum = 0;
    for (int k = 0; k < n; ++k) {
        NUMBER left = a[row * n + k];
        NUMBER right = b[k * n + col];
        sum += left * right;
    }
    c[row * n + col] = sum;
}
""",
)

COALESCED = Kernel(
    "coalesced",
    r"""
#ifndef NUMBER
#define NUMBER float
#endif

extern "C" __global__ void coalesced(NUMBER* c, const NUMBER* a, const NUMBER* b, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n || col >= n) return;
    NUMBER sum = 0;
    for (int k = 0; k < n; ++k) {
        NUMBER left = a[row * n + k];
        NUMBER right = b[k * n + col];
        sum += left * right;
    }
    c[row * n + col] = sum;
}
""",
)

# For sizes that TILE divides.
TILED = Kernel(
    "tiled",
    r"""
#ifndef NUMBER
#define NUMBER float
#endif

extern "C" __global__ void tiled(NUMBER* c, const NUMBER* a, const NUMBER* b, int n) {
    __shared__ NUMBER a_tile[TILE][TILE], b_tile[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TILE + y, col = blockIdx.x * TILE + x;
    NUMBER sum = 0;
    for (int first = 0; first < n; first += TILE) {
        a_tile[y][x] = a[row * n + first + x];
        b_tile[y][x] = b[(first + y) * n + col];
        __syncthreads();
        for (int k = 0; k < TILE; ++k)
            sum += a_tile[y][k] * b_tile[k][x];
        __syncthreads();
    }
    c[row * n + col] = sum;
}
""",
)

# The same kernel; the pointers move to the next tile, so that the loop computes no index.
ADVANCED = Kernel(
    "advanced",
    r"""
extern "C" __global__ void advanced(float* c, const float* a, const float* b, int n) {
    __shared__ float a_tile[TILE * TILE], b_tile[TILE * TILE];
    int x = threadIdx.x, y = threadIdx.y;
    a += (blockIdx.y * TILE + y) * n + x;
    b += y * n + blockIdx.x * TILE + x;
    c += (blockIdx.y * TILE + y) * n + blockIdx.x * TILE + x;
    float sum = 0;
    for (int first = 0; first < n; first += TILE) {
        a_tile[y * TILE + x] = *a;
        b_tile[y * TILE + x] = *b;
        __syncthreads();
        a += TILE;
        b += TILE * n;
        for (int k = 0; k < TILE; ++k)
            sum += a_tile[y * TILE + k] * b_tile[k * TILE + x];
        __syncthreads();
    }
    *c = sum;
}
""",
)

# For every n. Rows of all three matrices start `pitch` elements apart, pitch >= n.
GUARDED = Kernel(
    "guarded",
    r"""
extern "C" __global__
void guarded(float* c, const float* a, const float* b, int n, int pitch) {
    __shared__ float a_tile[TILE][TILE], b_tile[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TILE + y, col = blockIdx.x * TILE + x;
    float sum = 0;
    for (int first = 0; first < n; first += TILE) {
        bool a_in = row < n && first + x < n, b_in = first + y < n && col < n;
        a_tile[y][x] = a_in ? a[row * pitch + first + x] : 0.0f;
        b_tile[y][x] = b_in ? b[(first + y) * pitch + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; ++k)
            sum += a_tile[y][k] * b_tile[k][x];
        __syncthreads();
    }
    if (row < n && col < n) c[row * pitch + col] = sum;
}
""",
)
