"""Chapter 06, occupancy: its three exercises and how each is judged."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..exercises import Exercise, Launch
from ..gpus import DEFAULT
from ..metric_names import BLOCK_THREADS, BLOCKS, REGISTERS, ROUNDS, SHARED_LOADS
from ..occupancy import Occupancy, occupancy
from ..promises import at_least, at_most
from .occupancy_picture import in_flight_picture, reuse_picture, sm_picture


def resident(counted: Any, gpu: Any = DEFAULT) -> Occupancy:
    """What an SM holds of a profiled launch."""
    shared = sum(counted[f"launch__shared_mem_per_block_{kind}"] for kind in ("static", "dynamic"))
    registers = int(counted[REGISTERS])
    return occupancy(int(counted[BLOCK_THREADS]), registers, int(shared), gpu)


def rounds_per_warp(counted: Any) -> float:
    """How often a warp waits for global memory, on average."""
    warps = counted[BLOCKS] * -(-counted[BLOCK_THREADS] // 32)
    return counted[ROUNDS] / warps


# -- 1: shared memory that leaves room for every warp ------------------------------

BINS, THREADS, EACH = 64, 128, 200


def _launch_histograms(n: int, values: int) -> Launch:
    x = np.random.default_rng(6).integers(0, values, n, np.uint8)
    blocks = -(-n // (THREADS * EACH))
    y = np.full((blocks, BINS), -1, np.int32)
    return Launch((blocks,), (THREADS,), (y, x, np.int32(n)), output=y, inputs=(x,))


def _histograms(x: np.ndarray) -> np.ndarray:
    parts = np.split(x, range(THREADS * EACH, x.size, THREADS * EACH))
    return np.array([np.bincount(part, minlength=BINS) for part in parts])


def _picture_histograms() -> Figure:
    return sm_picture(THREADS, 32, 4 * BINS * THREADS, title="Counters of 4 bytes")


byte_histograms = Exercise(
    name="byte_histograms",
    task="y[b][v] = how often v, from 0 to 63, occurs among x[25600 b] to x[25600 b + 25599]. Blocks have "
    "128 threads; thread t counts x[25600 b + t + 128 k], k from 0 to 199, in 64 counters of its own.",
    entry="byte_histograms",
    spec=_histograms,
    launch=_launch_histograms,
    cases=[{"n": 25600, "values": 64}, {"n": 25600, "values": 1}, {"n": 30000, "values": 64}],
    stub=r"""
extern "C" __global__ void byte_histograms(int* y, const unsigned char* x, int n) {
    // your code here
}
""",
    solution=r"""
extern "C" __global__ void byte_histograms(int* y, const unsigned char* x, int n) {
    __shared__ unsigned char mine[64][128];
    int t = threadIdx.x;
    for (int v = 0; v < 64; ++v) mine[v][t] = 0;
    for (int k = 0; k < 200; ++k) {
        int i = blockIdx.x * 25600 + k * 128 + t;
        if (i < n) ++mine[x[i]][t];
    }
    __syncthreads();
    if (t >= 64) return;
    int sum = 0;
    for (int other = 0; other < 128; ++other) sum += mine[t][other];
    y[blockIdx.x * 64 + t] = sum;
}
""",
    promises=[
        at_least(
            "warps on an SM of an H200",
            lambda p: resident(p).warps,
            64,
            "64 warps are 16 blocks, so a block may use 13 KB. What is the smallest type that counts to 200?",
        ),
    ],
    hints=[
        "64 counters for each of 128 threads: what do they take as int, as short, as char?",
        "No counter passes 200. That fits a byte, if the byte has no sign.",
        "unsigned char mine[64][128]. Thread t alone touches mine[..][t], until __syncthreads(); then thread "
        "t < 64 adds up mine[t][0] to mine[t][127].",
    ],
    picture=_picture_histograms,
)


# -- 2: more loads in flight in each thread ----------------------------------------

HOPS = 16


def _launch_chains(n: int) -> Launch:
    following = np.random.default_rng(7).permutation(n).astype(np.int32)
    y = np.full(n, -1, np.int32)
    args = (y, following, np.int32(HOPS), np.int32(n))
    return Launch((-(-n // 512),), (128,), args, output=y, inputs=(following,))


def _walk(following: np.ndarray) -> np.ndarray:
    at = np.arange(following.size, dtype=np.int32)
    for _ in range(HOPS):
        at = following[at]
    return at


four_chains = Exercise(
    name="four_chains",
    task="y[i] = where you are after `hops` steps from i, if a step goes from j to next[j]. Blocks have 128 "
    "threads; thread t of block b walks from i = 512 b + t + 128 k, for k = 0, 1, 2, 3.",
    entry="four_chains",
    spec=_walk,
    launch=_launch_chains,
    cases=[{"n": 1024}, {"n": 1000}, {"n": 5}],
    stub=r"""
extern "C" __global__ void four_chains(int* y, const int* next, int hops, int n) {
    // your code here
}
""",
    solution=r"""
extern "C" __global__ void four_chains(int* y, const int* next, int hops, int n) {
    int first = blockIdx.x * 512 + threadIdx.x, at[4];
    for (int k = 0; k < 4; ++k) at[k] = min(first + 128 * k, n - 1);
    for (int hop = 0; hop < hops; ++hop)
        for (int k = 0; k < 4; ++k) at[k] = next[at[k]];
    for (int k = 0; k < 4; ++k)
        if (first + 128 * k < n) y[first + 128 * k] = at[k];
}
""",
    promises=[
        at_most(
            "rounds of loads in each warp",
            rounds_per_warp,
            HOPS,
            "Take a step on all four chains before the next step on any, with no branch between the loads.",
        ),
    ],
    hints=[
        "A chain is 16 loads, one after the other. Nothing shortens it. But four chains can wait together.",
        "Keep the four places in an array, int at[4], and let the loop over the hops be the outer one.",
        "A branch around a load parts it from the others. Clamp instead: start from "
        "min(first + 128 * k, n - 1), and test against n only when you store.",
    ],
    picture=lambda: in_flight_picture(HOPS // 4),
)


# -- 3: one shared load, four uses -------------------------------------------------

POINTS = 256


def _launch_distances(n: int) -> Launch:
    generator = np.random.default_rng(8)
    x, q = generator.random(n, np.float32), generator.random(POINTS, np.float32)
    y = np.full(n, np.nan, np.float32)
    return Launch((-(-n // 512),), (128,), (y, x, q, np.int32(n)), output=y, inputs=(x, q))


sum_distances = Exercise(
    name="sum_distances",
    task="y[i] = |x[i] - q[0]| + ... + |x[i] - q[255]|. Blocks have 128 threads and own 512 elements, four "
    "per thread. A block stages q, 64 float4, in shared memory.",
    entry="sum_distances",
    spec=lambda x, q: np.abs(x[:, None].astype(float) - q).sum(axis=1),
    launch=_launch_distances,
    cases=[{"n": 1024}, {"n": 700}, {"n": 3}],
    stub=r"""
extern "C" __global__ void sum_distances(float* y, const float* x, const float4* q, int n) {
    // your code here
}
""",
    solution=r"""
extern "C" __global__ void sum_distances(float* y, const float* x, const float4* q, int n) {
    __shared__ float4 tile[64];
    int t = threadIdx.x, first = blockIdx.x * 512 + t;
    if (t < 64) tile[t] = q[t];
    __syncthreads();
    float at[4], sum[4] = {};
    for (int k = 0; k < 4; ++k) at[k] = x[min(first + 128 * k, n - 1)];
    for (int j = 0; j < 64; ++j) {
        float4 v = tile[j];
        for (int k = 0; k < 4; ++k)
            sum[k] += fabsf(at[k] - v.x) + fabsf(at[k] - v.y)
                    + fabsf(at[k] - v.z) + fabsf(at[k] - v.w);
    }
    for (int k = 0; k < 4; ++k)
        if (first + 128 * k < n) y[first + 128 * k] = sum[k];
}
""",
    promises=[
        at_most(
            "shared loads in each thread",
            lambda p: 32 * p[SHARED_LOADS] / p[BLOCKS] / p[BLOCK_THREADS],
            POINTS // 4,
            "Load a float4 of q once, and use it for all four elements before you load the next.",
        ),
        at_most(
            "registers per thread",
            REGISTERS,
            64,
            "Four elements and four sums need 8 registers. Do you keep the whole of q in them?",
        ),
    ],
    hints=[
        "Element by element, a thread loads 64 float4 four times over: 256 loads. How many are different?",
        "Keep four elements and four sums in registers; the loop over q is the outer one.",
        "float at[4], sum[4] = {}; for j in 0 ... 63: float4 v = tile[j], then add to sum[0] ... sum[3].",
    ],
    picture=lambda: reuse_picture((1, 4)),
)
