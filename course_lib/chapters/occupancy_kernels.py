"""Chapter 06, occupancy: the CUDA sources that its notebook quotes and its sweeps time."""

from ..kernels import OPTIONS, Kernel

# A thread reads `count` floats, LOADS of them in flight at a time; `unroll 1` keeps the compiler from putting
# more rounds together. RESERVED bytes of shared memory are never used: they only take room on the SM.
ADD_UP = Kernel(
    "add_up",
    r"""
extern "C" __global__
void add_up(float* out, const float* __restrict__ in, int count) {
    __shared__ volatile char reserved[RESERVED];
    int t = threadIdx.x;
    in += blockIdx.x * blockDim.x * count + t;
    float sum = 0.0f;
#pragma unroll 1
    for (int first = 0; first < count; first += LOADS) {
        float value[LOADS];
        for (int j = 0; j < LOADS; ++j) value[j] = in[(first + j) * blockDim.x];
        for (int j = 0; j < LOADS; ++j) sum += value[j];
    }
    if (count < 0) reserved[t] = 1;  // never, but the compiler must keep the array
    out[blockIdx.x * blockDim.x + t] = sum;
}
""",
)

# C = A B, for n a multiple of 16 PER: a thread makes PER x PER elements, 16 rows and columns apart.
COARSE = Kernel(
    "coarse",
    r"""
#ifndef BOUNDS
#define BOUNDS
#endif

extern "C" __global__ void BOUNDS
coarse(float* c, const float* a, const float* b, int n) {
    __shared__ float a_tile[16 * PER][16], b_tile[16][16 * PER];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * 16 * PER + y, col = blockIdx.x * 16 * PER + x;
    float sum[PER][PER] = {};
    for (int first = 0; first < n; first += 16) {
        for (int i = 0; i < PER; ++i) {
            a_tile[y + 16 * i][x] = a[(row + 16 * i) * n + first + x];
            b_tile[y][x + 16 * i] = b[(first + y) * n + col + 16 * i];
        }
        __syncthreads();
        for (int k = 0; k < 16; ++k)
            for (int i = 0; i < PER; ++i)
                for (int j = 0; j < PER; ++j)
                    sum[i][j] += a_tile[y + 16 * i][k] * b_tile[k][x + 16 * j];
        __syncthreads();
    }
    for (int i = 0; i < PER; ++i)
        for (int j = 0; j < PER; ++j)
            c[(row + 16 * i) * n + col + 16 * j] = sum[i][j];
}
""",
)


def coarse(per: int, blocks: int = 0) -> Kernel:
    """`COARSE` with per x per elements a thread; `blocks` of 256 threads must fit on an SM, 0: any number."""
    bounds = (f"-DBOUNDS=__launch_bounds__(256,{blocks})",) if blocks else ()
    return Kernel(COARSE.name, COARSE.source, (*OPTIONS, f"-DPER={per}", *bounds))
