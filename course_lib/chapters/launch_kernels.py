"""Chapter 11, launch overhead: the CUDA sources that its notebook quotes and its sweeps time."""

from ..kernels import Kernel

EMPTY = Kernel("empty", 'extern "C" __global__ void empty() {}\n')

# `rounds` sets how long the kernel takes: a chain of multiply-adds, each of which waits for the last.
BUSY = Kernel(
    "busy",
    r"""
extern "C" __global__ void busy(float* out, int rounds) {
    float x = threadIdx.x;
    for (int r = 0; r < rounds; ++r) x = fmaf(x, 0.5f, 1.0f);
    out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}
""",
)

# -- heat in a rod: one launch a step, or one block that does all steps ------------

RELAX = r"""
__device__ float relax(float left, float here, float right) {
    return fmaf(0.25f, left + right - 2.0f * here, here);
}
"""

STEP = Kernel(
    "step",
    RELAX
    + r"""
extern "C" __global__ void step(float* next, const float* now, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    bool end = i == 0 || i == n - 1;
    next[i] = end ? now[i] : relax(now[i - 1], now[i], now[i + 1]);
}
""",
)

ALL_STEPS = Kernel(
    "all_steps",
    RELAX
    + r"""
extern "C" __global__ void all_steps(float* rod, int n, int steps) {
    __shared__ float now[1024];
    int i = threadIdx.x;
    bool end = i == 0 || i >= n - 1;
    if (i < n) now[i] = rod[i];
    for (int s = 0; s < steps; ++s) {
        __syncthreads();
        float next = end ? 0.0f : relax(now[i - 1], now[i], now[i + 1]);
        __syncthreads();
        if (!end) now[i] = next;
    }
    if (i < n) rod[i] = now[i];
}
""",
)

# -- a stream of numbers, each worked on for a while -------------------------------

ITERATE = Kernel(
    "iterate",
    r"""
extern "C" __global__ void iterate(float* out, const float* in, int n, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = in[i];
    for (int r = 0; r < rounds; ++r) x = fmaf(-3.9f * x, x, 3.9f * x);
    out[i] = x;
}
""",
)

# -- tiles of unequal work ---------------------------------------------------------

# One 16 x 16 tile of the Mandelbrot set: how many turns each pixel takes to leave, `most` if it never does.
TILE = r"""
__device__ void tile(int* image, int t, int across, int most) {
    int x = t % across * 16 + threadIdx.x, y = t / across * 16 + threadIdx.y;
    int turns = 0, side = across * 16;
    float cx = 3.0f * x / side - 2.25f, cy = 3.0f * y / side - 1.5f, zx = 0.0f, zy = 0.0f;
    while (turns < most && zx * zx + zy * zy < 4.0f) {
        float next = zx * zx - zy * zy + cx;
        zy = 2.0f * zx * zy + cy;
        zx = next;
        ++turns;
    }
    image[y * side + x] = turns;
}
"""

# `first` is the first tile of this launch: a launch may have all tiles, or a batch of them.
TILE_EACH = Kernel(
    "tile_each",
    TILE
    + r"""
extern "C" __global__ void tile_each(int* image, int first, int across, int most) {
    tile(image, first + blockIdx.x, across, most);
}
""",
)

SHARES = Kernel(
    "shares",
    TILE
    + r"""
extern "C" __global__ void shares(int* image, int tiles, int across, int most) {
    long long next = (long long)tiles * blockIdx.x / gridDim.x;
    long long end = (long long)tiles * (blockIdx.x + 1) / gridDim.x;
    for (; next < end; ++next) tile(image, next, across, most);
}
""",
)

CYCLIC = Kernel(
    "cyclic",
    TILE
    + r"""
extern "C" __global__ void cyclic(int* image, int tiles, int across, int most) {
    for (int t = blockIdx.x; t < tiles; t += gridDim.x) tile(image, t, across, most);
}
""",
)

QUEUE = Kernel(
    "queue",
    TILE
    + r"""
extern "C" __global__ void queue(int* image, int* ticket, int tiles, int across, int most) {
    __shared__ int drawn;
    while (true) {
        __syncthreads();
        if (threadIdx.x == 0 && threadIdx.y == 0) drawn = atomicAdd(ticket, 1);
        __syncthreads();
        if (drawn >= tiles) return;
        tile(image, drawn, across, most);
    }
}
""",
)
