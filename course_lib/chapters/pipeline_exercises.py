"""Chapter 10, pipelines: its exercises."""

import numpy as np
from matplotlib.figure import Figure

from ..exercises import Exercise, Launch
from ..metric_names import BARRIERS, DISTINCT_ST, IN_FLIGHT, LD_REQUESTS, STATIC_BYTES
from ..promises import Promise, at_least, at_most, exactly, written_sectors
from .pipeline_picture import timeline
from .pipelines import Costs, Scheme, producers, simulate, staged

PICTURE = Costs(latency=1200, transfer=150, use=700, unit=300)


def _numbers(count: int, dtype: type) -> np.ndarray:
    """Small whole numbers, so that sums are exact in every order: shape (count,)."""
    return np.random.default_rng(10).integers(-50, 51, count).astype(dtype)


def _picture(scheme: Scheme, title: str, mark: bool = True) -> Figure:
    return timeline({"": (scheme, simulate(scheme, PICTURE))}, 6000, title, mark=mark)


WAITING = r"""
__device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> __device__ void wait() { asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory"); }
"""
COPY4 = (
    r"""
__device__ void copy4(int* shared, const int* global) {  // 4 bytes
    unsigned to = __cvta_generic_to_shared(shared);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to), "l"(global) : "memory");
}"""
    + WAITING
)
COPY16 = (
    r"""
__device__ void copy16(float4* shared, const float4* global) {  // 16 bytes
    unsigned to = __cvta_generic_to_shared(shared);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(global) : "memory");
}"""
    + WAITING
)
ALL_COPIED = exactly(
    "plain load requests", LD_REQUESTS, 0, "Every value of x comes by an asynchronous copy, and only once."
)
COPIED_ONCE = exactly(
    "sectors copied",
    "course__copied_sectors.sum",
    written_sectors,
    "As many as y has: each row is to be copied once, and all of it.",
)


def _barriers(each: int, row_bytes: int, advice: str) -> Promise:
    """At most `each` barrier instructions for every `row_bytes` of y."""
    return at_most("barriers of all warps", BARRIERS, lambda p: each * p[DISTINCT_ST] / row_bytes, advice)


# -- blur_rows: one buffer becomes two stages ----------------------------------------


def _blur(x: np.ndarray) -> np.ndarray:
    return np.roll(x, 1, axis=1) + x + np.roll(x, -1, axis=1)


def _launch_blur(rows: int) -> Launch:
    x, y = _numbers(rows * 128, np.int32).reshape(rows, 128), np.full((rows, 128), -(2**31), np.int32)
    args = (y, x, np.int32(rows))
    return Launch((3,), (128,), args, output=y, inputs=(x,), promised=rows > 3)


BLUR = (
    COPY4
    + r"""
extern "C" __global__ void blur_rows(int* y, const int* x, int rows) {
"""
)
blur_rows = Exercise(
    name="blur_rows",
    task="y[r][t] = x[r][t - 1] + x[r][t] + x[r][t + 1], around the end of the row. 3 blocks of 128 "
    "threads stay; each takes every 3rd row, and copies the next one while it works on this one.",
    entry="blur_rows",
    spec=_blur,
    launch=_launch_blur,
    cases=[{"rows": 13}, {"rows": 6}, {"rows": 2}],
    stub=BLUR + "    // your code here\n}\n",
    solution=BLUR
    + r"""    __shared__ int row[2][128];
    int t = threadIdx.x, stage = 0;
    if (blockIdx.x < rows) copy4(&row[0][t], &x[blockIdx.x * 128 + t]);
    commit();
    for (int r = blockIdx.x; r < rows; r += gridDim.x) {
        wait<0>();
        __syncthreads();
        int next = r + gridDim.x;
        if (next < rows) copy4(&row[stage ^ 1][t], &x[next * 128 + t]);
        commit();
        y[r * 128 + t] = row[stage][(t + 127) % 128] + row[stage][t] + row[stage][(t + 1) % 128];
        stage ^= 1;
    }
}
""",
    promises=[
        ALL_COPIED,
        COPIED_ONCE,
        at_least(
            "bytes in flight while a row is used",
            IN_FLIGHT,
            512,
            "Start the copy of the next row before you use this one.",
        ),
        _barriers(4, 512, "One barrier a row is enough, if the next copy is started behind it."),
        exactly("shared bytes", STATIC_BYTES, 1024, "Two rows of 512 bytes."),
    ],
    hints=[
        "Before the loop, copy the block's first row. In it: wait, meet, start the next copy, use this row.",
        "When may the other buffer be overwritten? When all threads have used it: behind the barrier.",
        "The last row has no next one: a guard on the copy, not on the barrier.",
    ],
    picture=lambda: _picture(staged(2), "blur_rows: two rows in shared memory, modelled with assumed clocks"),
)

# -- flip_tiles: four stages, and their end -------------------------------------------


def _launch_flip(tiles: int) -> Launch:
    x = _numbers(tiles * 256, np.float32).reshape(tiles, 16, 16)
    y = np.full((tiles, 16, 16), np.nan, np.float32)
    args = (y, x, np.int32(tiles))
    return Launch((2,), (64,), args, output=y, inputs=(x,), promised=tiles > 6)


FLIP = (
    COPY16
    + r"""
extern "C" __global__ void flip_tiles(float* y, const float4* x, int tiles) {
"""
)
flip_tiles = Exercise(
    name="flip_tiles",
    task="Transpose every 16 x 16 matrix of x. 2 blocks of 64 threads stay; each has 4 matrices in shared "
    "memory, of which 3 are in flight while one is stored. Matrix i is x[64 * i] up to x[64 * i + 63].",
    entry="flip_tiles",
    spec=lambda x: x.transpose(0, 2, 1),
    launch=_launch_flip,
    cases=[{"tiles": 17}, {"tiles": 7}, {"tiles": 1}],
    stub=FLIP + "    // your code here\n}\n",
    solution=FLIP
    + r"""    __shared__ float4 tile[4][64];
    int t = threadIdx.x, stage = 0, ahead = blockIdx.x;
    for (int s = 0; s < 3; ++s, ahead += gridDim.x) {
        if (ahead < tiles) copy16(&tile[s][t], &x[ahead * 64 + t]);
        commit();
    }
    for (int i = blockIdx.x; i < tiles; i += gridDim.x, ahead += gridDim.x) {
        wait<2>();
        __syncthreads();
        if (ahead < tiles) copy16(&tile[(stage + 3) % 4][t], &x[ahead * 64 + t]);
        commit();  // even if empty: wait<2> counts groups
        const float* m = (const float*)tile[stage];
        for (int j = t; j < 256; j += 64) y[i * 256 + j] = m[j % 16 * 16 + j / 16];
        stage = (stage + 1) % 4;
    }
}
""",
    promises=[
        ALL_COPIED,
        COPIED_ONCE,
        at_least(
            "bytes in flight while a matrix is used",
            IN_FLIGHT,
            3072,
            "Three matrices of 1,024 bytes: wait only for the oldest group.",
        ),
        _barriers(2, 1024, "One barrier a matrix is enough."),
        exactly("shared bytes", STATIC_BYTES, 4096, "Four matrices of 1,024 bytes."),
    ],
    hints=[
        "Three groups before the loop, one more in each turn. wait<2> lets the last two stay in flight.",
        "At the end nothing is left to copy, but wait<2> still counts groups: commit empty ones.",
        "Stage s is copied into again by the turn that uses stage s + 1.",
    ],
    picture=lambda: _picture(staged(4), "flip_tiles: four stages, modelled with assumed clocks"),
)

# -- row_steps: a producer warp and named barriers --------------------------------------


def _steps(table: np.ndarray, index: np.ndarray) -> np.ndarray:
    rows = table[index]
    return rows - np.roll(rows, 1, axis=1)


def _launch_steps(picks: int) -> Launch:
    table = _numbers(20 * 64, np.int32).reshape(20, 64)
    index = np.random.default_rng(4).integers(0, 20, picks).astype(np.int32)
    y = np.full((picks, 64), -(2**31), np.int32)
    args = (y, table, index, np.int32(picks))
    return Launch((2,), (96,), args, output=y, inputs=(table, index))


STEPS = (
    COPY4
    + r"""
__device__ void arrive(int barrier) { asm volatile("bar.arrive %0, 96;" :: "r"(barrier) : "memory"); }
__device__ void await(int barrier) { asm volatile("bar.sync %0, 96;" :: "r"(barrier) : "memory"); }

extern "C" __global__ void row_steps(int* y, const int* table, const int* index, int picks) {
"""
)
row_steps = Exercise(
    name="row_steps",
    task="y[i][t] = table[index[i]][t] - table[index[i]][t - 1], around the end of the row (64 elements). "
    "Threads 64 to 95 fetch rows into two buffers, threads 0 to 63 use them: barriers 1 + s for full, 3 + s "
    "for empty.",
    entry="row_steps",
    spec=_steps,
    launch=_launch_steps,
    cases=[{"picks": 13}, {"picks": 4}, {"picks": 1}],
    stub=STEPS + "    // your code here\n}\n",
    solution=STEPS
    + r"""    __shared__ int row[2][64];
    int t = threadIdx.x, step = gridDim.x, s = 0;
    for (int i = blockIdx.x; i < picks; i += step, s ^= 1) {
        if (t >= 64) {
            if (i >= 2 * step) await(3 + s);
            const int* from = &table[index[i] * 64];
            for (int j = t - 64; j < 64; j += 32) copy4(&row[s][j], &from[j]);
            commit();
            wait<0>();
            arrive(1 + s);
        } else {
            await(1 + s);
            y[i * 64 + t] = row[s][t] - row[s][(t + 63) % 64];
            if (i + 2 * step < picks) arrive(3 + s);
        }
    }
}
""",
    promises=[
        at_most(
            "plain load requests",
            LD_REQUESTS,
            lambda p: p[DISTINCT_ST] / 256,
            "Only the producer reads index[i], once; the rows come by asynchronous copies.",
        ),
        COPIED_ONCE,
        _barriers(6, 256, "For each row: the producer waits and arrives, and so do both other warps."),
        exactly("shared bytes", STATIC_BYTES, 512, "Two rows of 256 bytes."),
    ],
    hints=[
        "Four barriers of 96 threads: who waits at 1 + s, and who only arrives? And at 3 + s?",
        "The producer need not wait for empty at its first visit. So how often may the others arrive?",
        "The producer arrives at full when its copies are there, not when it has started them.",
    ],
    picture=lambda: _picture(
        producers(2), "row_steps: a producer and two buffers, modelled with assumed clocks", mark=False
    ),
)
