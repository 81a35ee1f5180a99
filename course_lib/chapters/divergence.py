"""Chapter 04, divergence: its three exercises and how each is judged."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..exercises import Exercise, Launch
from ..metric_names import BLOCK_THREADS, BLOCKS, DIVERGENT, INSTRUCTIONS
from ..promises import at_most, ratio
from ..timeline import timeline
from .divergence_picture import lane_timeline


def _per_warp(counted: Any) -> float:
    """Warp instructions per warp of the launch."""
    return 32 * counted[INSTRUCTIONS] / counted[BLOCKS] / counted[BLOCK_THREADS]


def _kernel(source: str, name: str) -> Any:
    from ..emulator import RawKernel

    return RawKernel(source, name)


# -- block sums --------------------------------------------------------------------


def _launch_block_sums(n: int) -> Launch:
    x = np.random.default_rng(6).random(n, np.float32)
    blocks = -(-n // 256)
    y = np.full(blocks, np.nan, np.float32)
    return Launch((blocks,), (256,), (y, x, np.int32(n)), output=y, inputs=(x,), promised=n % 256 == 0)


EVERY_SECOND = r"""
extern "C" __global__ void every_second(float* y, const float* x) {
    __shared__ float part[64];
    int t = threadIdx.x;
    part[t] = x[t];
    __syncthreads();
    for (int step = 1; step < 64; step *= 2) {
        if (t % (2 * step) == 0)
            part[t] += part[t + step];
        __syncthreads();
    }
    y[t] = part[t];
}
"""


def _picture_every_second() -> Figure:
    x = np.zeros(64, np.float32)
    found = timeline(_kernel(EVERY_SECOND, "every_second"), (1,), (64,), (x, x.copy()))
    return lane_timeline(found, "Every second thread, every fourth, …", lines=(8, 9))


block_sums = Exercise(
    name="block_sums",
    task="y[b] = sum of the 256 elements of block b (fewer in the last one): a tree in shared memory. "
    "Blocks of 256 threads.",
    entry="block_sums",
    spec=lambda x: np.add.reduceat(x.astype(float), np.arange(0, x.size, 256)),
    launch=_launch_block_sums,
    cases=[{"n": 1024}, {"n": 1000}, {"n": 5}],
    stub=r"""
extern "C" __global__ void block_sums(float* y, const float* x, int n) {
    // your code here
}
""",
    solution=r"""
extern "C" __global__ void block_sums(float* y, const float* x, int n) {
    __shared__ float part[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    part[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (t < half) part[t] += part[t + half];
        __syncthreads();
    }
    if (t == 0) y[blockIdx.x] = part[0];
}
""",
    promises=[
        at_most(
            "divergent branches per block",
            ratio(DIVERGENT, BLOCKS),
            6,
            "Let the threads that still add be the first ones of the block: whole warps of them, or none.",
        )
    ],
    hints=[
        "Threads 0 to half - 1 add, and half goes 128, 64, … 1. Which two words does thread t add?",
        "part[t] += part[t + half]. A barrier after each round, outside the branch.",
        "Threads beyond n store 0 and stay: they are needed at every barrier.",
    ],
    picture=_picture_every_second,
)


# -- two kinds ---------------------------------------------------------------------


def _launch_two_kinds(n: int) -> Launch:
    random = np.random.default_rng(7)
    x, kind = random.random(n, np.float32), random.integers(0, 2, n, np.int32)
    y = np.full(n, np.nan, np.float32)
    args = (y, x, kind, np.int32(n))
    return Launch((-(-n // 256),), (256,), args, output=y, inputs=(x, kind), promised=n % 256 == 0)


def _two_kinds(x: np.ndarray, kind: np.ndarray) -> np.ndarray:
    v = x.astype(float)
    for _ in range(100):  # both forget where they began long before 256 rounds
        v = np.where(kind == 0, v * v - 0.5, 0.75 - 0.25 * v)
    return v


KINDS = r"""
__device__ float left(float v) {
#pragma unroll 16
    for (int k = 0; k < 256; ++k) v = fmaf(v, v, -0.5f);
    return v;
}
__device__ float right(float v) {
#pragma unroll 16
    for (int k = 0; k < 256; ++k) v = fmaf(v, -0.25f, 0.75f);
    return v;
}

extern "C" __global__ void two_kinds(float* y, const float* x, const int* kind, int n) {
"""


def _picture_two_kinds() -> Figure:
    source = KINDS + (
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    y[i] = kind[i] == 0 ? left(x[i]) : right(x[i]);\n}\n"
    )
    launch = _launch_two_kinds(256)
    found = timeline(_kernel(source, "two_kinds"), launch.grid, launch.block, launch.args)
    return lane_timeline(found, "As they come", lines=(4, 9))


two_kinds = Exercise(
    name="two_kinds",
    task="y[i] = left(x[i]) where kind[i] is 0, right(x[i]) where it is 1. Blocks of 256 threads, 256 "
    "neighbouring elements each; inside a block you may give the elements to other threads.",
    entry="two_kinds",
    spec=_two_kinds,
    launch=_launch_two_kinds,
    cases=[{"n": 1024}, {"n": 1000}, {"n": 77}],
    stub=KINDS + "    // your code here\n}\n",
    solution=KINDS
    + r"""    __shared__ int list[256], zeros, ones;
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    if (t == 0) zeros = ones = 0;
    __syncthreads();
    if (i < n) {
        int place = kind[i] ? 255 - atomicAdd(&ones, 1) : atomicAdd(&zeros, 1);
        list[place] = i;
    }
    __syncthreads();
    if (t < zeros) y[list[t]] = left(x[list[t]]);
    else if (t > 255 - ones) y[list[t]] = right(x[list[t]]);
}
""",
    promises=[
        at_most(
            "warp instructions per warp",
            _per_warp,
            480,
            "A warp whose lanes disagree runs left() and right(). Sort the elements of a block by kind "
            "first, so that the lanes of a warp agree.",
        )
    ],
    hints=[
        "Every thread notes its element's index in a shared list: kind 0 from the front, 1 from the back.",
        "atomicAdd(&zeros, 1) gives each element of kind 0 a place, 255 - atomicAdd(&ones, 1) one of kind 1.",
        "After a barrier thread t takes list[t]: left() if t < zeros, right() if t > 255 - ones, else none.",
    ],
    picture=_picture_two_kinds,
)


# -- jobs --------------------------------------------------------------------------

JOBS = r"""
__device__ float trip(float v) {
    for (int j = 0; j < 64; ++j) v = fmaf(v, 0.9995f, 0.0005f);
    return v;
}

extern "C" __global__ void jobs(float* y, const float* x, const int* trips, int n) {
"""
NESTED = (
    JOBS
    + r"""    int threads = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) {
        float v = x[i];
#pragma unroll 1
        for (int k = trips[i]; k > 0; --k) v = trip(v);
        y[i] = v;
    }
}
"""
)


def _launch_jobs(n: int) -> Launch:
    random = np.random.default_rng(8)
    x, trips = random.random(n, np.float32), random.integers(1, 17, n, np.int32)
    y = np.full(n, np.nan, np.float32)
    args = (y, x, trips, np.int32(n))
    return Launch((2,), (64,), args, output=y, inputs=(x, trips), promised=n == 2048)


def _jobs(x: np.ndarray, trips: np.ndarray) -> np.ndarray:
    a, b = float(np.float32(0.9995)), float(np.float32(0.0005))
    limit = b / (1 - a)
    return limit + (x - limit) * a ** (64.0 * trips)


def _picture_jobs() -> Figure:
    launch = _launch_jobs(512)
    found = timeline(_kernel(NESTED, "jobs"), launch.grid, launch.block, launch.args)
    return lane_timeline(found, "Four jobs a thread", lines=(3, 10))


jobs = Exercise(
    name="jobs",
    task="y[i] = x[i] after trips[i] calls of trip(), at least one. 2 blocks of 64 threads; thread t does "
    "jobs t, t + 128, t + 256, … below n.",
    entry="jobs",
    spec=_jobs,
    launch=_launch_jobs,
    cases=[{"n": 2048}, {"n": 1000}, {"n": 40}],
    stub=JOBS + "    // your code here\n}\n",
    solution=JOBS
    + r"""    int threads = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    int left = trips[i];
    while (true) {
        if (left == 0) {
            y[i] = v;
            i += threads;
            if (i >= n) return;
            v = x[i];
            left = trips[i];
        }
        v = trip(v);
        --left;
    }
}
""",
    promises=[
        at_most(
            "warp instructions per warp",
            _per_warp,
            15000,
            "In two nested loops a warp waits at the end of every job for its longest one. Make it one loop: "
            "a lane that is done takes its next job and goes on.",
        )
    ],
    hints=[
        "The picture shows two nested loops: after each job every lane waits for the longest of 32.",
        "One loop around trip(): before each call, a lane with nothing left stores and fetches its next job.",
        "while (true) { if (left == 0) { store; i += threads; return or load } v = trip(v); --left; }",
    ],
    picture=_picture_jobs,
    rtol=1e-3,  # a call more or less changes an element by 3 % of its way
)
