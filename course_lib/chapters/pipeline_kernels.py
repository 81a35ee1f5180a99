"""Chapter 10, pipelines: the CUDA sources that its notebook quotes and its sweeps time.

All compute Y = X W in float32, where X has many rows of 64 and W is 64 x 16. A tile is a number of rows of X,
in shared memory; TILE counts its `float4`, so that tile number i begins at `x[i * TILE]` and gives the TILE
results from `y[i * TILE]` on. Blocks stay: each takes every `gridDim.x`-th tile. 256 threads compute; a
thread keeps its column of W in registers.

The instructions are those of the PTX ISA, sections "cp.async", "cp.async.wait_group", "bar" (whose example
is a producer that arrives and a consumer that waits) and "mbarrier". CUDA C++ has the same as
`__pipeline_memcpy_async`, `__pipeline_commit`, `__pipeline_wait_prior`, and as `cuda::pipeline`.
"""

from ..kernels import OPTIONS, Kernel

THREADS = 256  # that compute; PRODUCERS' warps come on top
ROW = 16  # float4 in a row of X, and columns of W
FLOAT4 = 16  # bytes

DOT = r"""
struct Column { float w[64]; };  // of W, in registers

__device__ Column column(const float* weights) {
    Column c;
#pragma unroll
    for (int k = 0; k < 64; ++k) c.w[k] = weights[k * 16 + threadIdx.x % 16];
    return c;
}

__device__ float dot(const float4* row, const Column& c) {  // a row of the tile times the column
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 16; ++k) {
        float4 x = row[k];
        sum += x.x * c.w[4 * k] + x.y * c.w[4 * k + 1] + x.z * c.w[4 * k + 2] + x.w * c.w[4 * k + 3];
    }
    return sum;
}

__device__ void use(float* y, const float4* tile, const Column& c) {  // 256 threads, TILE results
    int t = threadIdx.x;
    for (int j = 0; j < TILE; j += 256) y[j + t] = dot(tile + (j + t) / 16 * 16, c);
}
"""

COPY = r"""
__device__ void copy16(float4* shared, const float4* global) {  // 16 bytes, and nobody waits
    unsigned to = __cvta_generic_to_shared(shared);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(global) : "memory");
}
__device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> __device__ void wait() { asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory"); }
"""

ONE_BUFFER = Kernel(
    "one_buffer",
    DOT
    + r"""
extern "C" __global__
void one_buffer(float* y, const float4* x, const float* weights, int tiles) {
    __shared__ float4 tile[TILE];
    Column c = column(weights);
    int t = threadIdx.x;
    for (int i = blockIdx.x; i < tiles; i += gridDim.x) {
        for (int j = 0; j < TILE; j += 256) tile[j + t] = x[i * TILE + j + t];
        __syncthreads();  // the tile is complete
        use(y + i * TILE, tile, c);
        __syncthreads();  // nobody reads it any more
    }
}
""",
)

# The next tile is in flight in registers while this one is used.
REGISTERS = Kernel(
    "registers",
    DOT
    + r"""
extern "C" __global__
void registers(float* y, const float4* x, const float* weights, int tiles) {
    __shared__ float4 tile[2][TILE];
    Column c = column(weights);
    float4 next[TILE / 256];
    int t = threadIdx.x, stage = 0, ahead = min(blockIdx.x, tiles - 1);
    for (int j = 0; j < TILE; j += 256) next[j / 256] = x[ahead * TILE + j + t];
    for (int i = blockIdx.x; i < tiles; i += gridDim.x) {
        for (int j = 0; j < TILE; j += 256) tile[stage][j + t] = next[j / 256];
        __syncthreads();
        ahead = min(i + gridDim.x, tiles - 1);  // behind the last tile: that one again, unused
        for (int j = 0; j < TILE; j += 256) next[j / 256] = x[ahead * TILE + j + t];
        use(y + i * TILE, tile[stage], c);
        stage ^= 1;
    }
}
""",
)

# STAGES buffers; up to STAGES - 1 tiles are in flight while one is used.
STAGED = Kernel(
    "staged",
    DOT
    + COPY
    + r"""
__device__ void fetch(float4* tile, const float4* x, int i, int tiles) {
    int t = threadIdx.x;
    if (i < tiles)
        for (int j = 0; j < TILE; j += 256) copy16(&tile[j + t], &x[i * TILE + j + t]);
    commit();  // a group even if it is empty, so that the count stays right
}

extern "C" __global__
void staged(float* y, const float4* x, const float* weights, int tiles) {
    __shared__ float4 tile[STAGES][TILE];
    Column c = column(weights);
    int stage = 0, ahead = blockIdx.x;
    for (int s = 0; s < STAGES - 1; ++s, ahead += gridDim.x) fetch(tile[s], x, ahead, tiles);
    for (int i = blockIdx.x; i < tiles; i += gridDim.x, ahead += gridDim.x) {
        wait<STAGES - 2>();  // my part of the oldest tile is here
        __syncthreads();     // everyone's is, and nobody uses the tile before it any more
        fetch(tile[(stage + STAGES - 1) % STAGES], x, ahead, tiles);
        use(y + i * TILE, tile[stage], c);
        stage = (stage + 1) % STAGES;
    }
}
""",
)

# Warp 8 + s copies the tiles of stage s; named barriers 1 + s "full" and 1 + STAGES + s "empty".
NAMED = r"""
__device__ void arrive(int barrier) { asm volatile("bar.arrive %0, 288;" :: "r"(barrier) : "memory"); }
__device__ void await(int barrier) { asm volatile("bar.sync %0, 288;" :: "r"(barrier) : "memory"); }
"""
WARPS = Kernel(
    "warps",
    DOT
    + COPY
    + NAMED
    + r"""
extern "C" __global__
void warps(float* y, const float4* x, const float* weights, int tiles) {
    __shared__ float4 tile[STAGES][TILE];
    int step = gridDim.x, full = 1, empty = 1 + STAGES;
    if (threadIdx.x >= 256) {  // producers: warp 8 + s fills stage s
        int s = threadIdx.x / 32 - 8, lane = threadIdx.x % 32;
        for (int i = blockIdx.x + s * step; i < tiles; i += STAGES * step) {
            if (i >= STAGES * step) await(empty + s);
            for (int j = lane; j < TILE; j += 32) copy16(&tile[s][j], &x[i * TILE + j]);
            commit();
            wait<0>();
            arrive(full + s);
        }
    } else {  // consumers
        Column c = column(weights);
        for (int i = blockIdx.x, s = 0; i < tiles; i += step, s = (s + 1) % STAGES) {
            await(full + s);
            use(y + i * TILE, tile[s], c);
            if (i + STAGES * step < tiles) arrive(empty + s);
        }
    }
}
""",
)

# One producer warp, and barriers in shared memory that count arrivals: 32 copies make a stage full, 256
# consumers make it empty. `parity` is that of the phase to wait for.
BARRIERS = r"""
typedef unsigned long long Barrier;
__device__ unsigned at(Barrier* b) { return __cvta_generic_to_shared(b); }
__device__ void init(Barrier* b, int arrivals) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(at(b)), "r"(arrivals) : "memory");
}
__device__ void arrive(Barrier* b) {
    asm volatile("{ .reg .b64 phase; mbarrier.arrive.shared.b64 phase, [%0]; }" :: "r"(at(b)) : "memory");
}
__device__ void arrive_with_copies(Barrier* b) {  // when all copies of this thread so far are there
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: "r"(at(b)) : "memory");
}
__device__ void await(Barrier* b, int parity) {
    int done;
    do asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2;"
                    " selp.s32 %0, 1, 0, p; }"
                    : "=r"(done) : "r"(at(b)), "r"(parity) : "memory");
    while (!done);
}
"""
MBARRIER = Kernel(
    "phases",
    DOT
    + COPY
    + BARRIERS
    + r"""
extern "C" __global__
void phases(float* y, const float4* x, const float* weights, int tiles) {
    __shared__ float4 tile[STAGES][TILE];
    __shared__ Barrier full[STAGES], empty[STAGES];
    if (threadIdx.x < STAGES) {
        init(&full[threadIdx.x], 32);
        init(&empty[threadIdx.x], 256);
    }
    __syncthreads();
    int s = 0, round = 0, step = gridDim.x;
    if (threadIdx.x >= 256) {  // one warp of producers
        for (int i = blockIdx.x; i < tiles; i += step) {
            if (round > 0) await(&empty[s], (round - 1) % 2);
            for (int j = threadIdx.x % 32; j < TILE; j += 32) copy16(&tile[s][j], &x[i * TILE + j]);
            arrive_with_copies(&full[s]);
            if (++s == STAGES) s = 0, ++round;
        }
    } else {  // consumers
        Column c = column(weights);
        for (int i = blockIdx.x; i < tiles; i += step) {
            await(&full[s], round % 2);
            use(y + i * TILE, tile[s], c);
            arrive(&empty[s]);
            if (++s == STAGES) s = 0, ++round;
        }
    }
}
""",
)


def tiled(kernel: Kernel, tile: int, stages: int = 0) -> Kernel:
    """The kernel for tiles of `tile` float4 and, where it has a choice, `stages` buffers."""
    options = (*OPTIONS, f"-DTILE={tile}", *([f"-DSTAGES={stages}"] if stages else []))
    return Kernel(kernel.name, kernel.source, options)
