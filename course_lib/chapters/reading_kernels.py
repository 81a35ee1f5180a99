"""Chapter 13, reading kernels: its three exercises and how each is judged."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..exercises import Exercise, Launch
from ..kernels import Kernel
from ..metric_names import BLOCK_THREADS, BLOCKS, BRANCHES, LD_REQUESTS, LOCAL, READS, REGISTERS, ST_REQUESTS
from ..promises import at_most, exactly
from .reading_picture import order_picture
from .reading_sources import BOUNDED, CHOOSE, SQUARES


def per_warp(metric: str) -> Callable[[Mapping[str, float]], float]:
    """A function of a profile: a count for each warp of the launch."""
    return lambda p: p[metric] / (p[BLOCKS] * -(-p[BLOCK_THREADS] // 32))


def _compiled(kernel: Kernel) -> Any:
    """The kernel for its machine code, whatever the backend."""
    from .. import standin

    return kernel.compile(standin)


# -- 1: loads of 16 bytes ----------------------------------------------------------


def _launch_wide(n: int) -> Launch:
    x = np.random.default_rng(13).standard_normal(n).astype(np.float32)
    y = np.full(n, np.nan, np.float32)
    blocks = max(1, -(-n // 1024))
    return Launch((blocks,), (128,), (y, x, np.int32(n)), output=y, inputs=(x,), promised=n % 1024 == 0)


def _eights(x: np.ndarray) -> np.ndarray:
    whole = x.size // 8 * 8
    return np.append(x[:whole].astype(np.float64) ** 2 + 1, np.full(x.size - whole, np.nan))


widen_loads = Exercise(
    name="widen_loads",
    task="Do what the PTX does: each thread takes 8 neighbouring elements, as long as all 8 are there. "
    "But load "
    "and store 16 bytes at a time. Blocks have 128 threads.",
    entry="widen_loads",
    spec=_eights,
    launch=_launch_wide,
    cases=[{"n": 2048}, {"n": 1000}, {"n": 13}],
    stub=r"""
extern "C" __global__ void widen_loads(float* y, const float* x, int n) {
    // your code here
}
""",
    solution=r"""
extern "C" __global__ void widen_loads(float* y, const float* x, int n) {
    int first = 8 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (first + 8 > n) return;
    float4 v[2];
    for (int k = 0; k < 2; ++k) v[k] = ((const float4*)(x + first))[k];
    for (int k = 0; k < 2; ++k) {
        v[k].x = v[k].x * v[k].x + 1;
        v[k].y = v[k].y * v[k].y + 1;
        v[k].z = v[k].z * v[k].z + 1;
        v[k].w = v[k].w * v[k].w + 1;
        ((float4*)(y + first))[k] = v[k];
    }
}
""",
    promises=[
        exactly(
            "load requests of each warp",
            per_warp(LD_REQUESTS),
            2,
            "8 floats are 32 bytes: two loads of 16 bytes. Read x through a pointer to float4.",
        ),
        exactly(
            "store requests of each warp",
            per_warp(ST_REQUESTS),
            2,
            "Store as you load: through a pointer to float4.",
        ),
    ],
    hints=[
        "shl by 3 is times 8, and the compare asks for first + 8 > n. 0f3F800000 is 1, so y = x * x + 1.",
        "The compiler cannot know that x + first starts at a multiple of 16 bytes. You do: tell it by the "
        "type.",
        "float4 v = ((const float4*)(x + first))[k] for k = 0, 1; then compute on v.x to v.w, and store "
        "likewise.",
    ],
    rtol=1e-5,
    picture=lambda: order_picture({"so far": _compiled(SQUARES)}, "The colleague's kernel"),
)


# -- 2: no spills ------------------------------------------------------------------


def _launch_variance(n: int) -> Launch:
    x = np.random.default_rng(14).standard_normal((48, n)).astype(np.float32)
    x += np.float32(200)  # the mean of squares less the square of the mean would lose its digits
    y = np.full(n, np.nan, np.float32)
    return Launch((-(-n // 128),), (128,), (y, x, np.int32(n)), output=y, inputs=(x,))


remove_spill = Exercise(
    name="remove_spill",
    task="y[i] = variance of the 48 values x[k * n + i], with at most 32 registers a thread, and nothing "
    "in local "
    "memory. Keep __launch_bounds__.",
    entry="remove_spill",
    spec=lambda x: x.astype(np.float64).var(axis=0),
    launch=_launch_variance,
    cases=[{"n": 256}, {"n": 200}, {"n": 3}],
    stub=r"""
extern "C" __global__ void __launch_bounds__(1024, 2)
remove_spill(float* y, const float* x, int n) {
    // your code here
}
""",
    solution=r"""
extern "C" __global__ void __launch_bounds__(1024, 2)
remove_spill(float* y, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float mean = 0.0f, sum = 0.0f;
    for (int k = 0; k < 48; ++k) {
        float delta = x[k * n + i] - mean;
        mean += delta / (k + 1);
        sum += delta * (x[k * n + i] - mean);
    }
    y[i] = sum / 48;
}
""",
    promises=[
        exactly(
            "bytes of local memory per thread",
            LOCAL,
            0,
            "48 values do not fit in 32 registers. Which of them must a thread keep, if it reads x once "
            "and in order?",
        ),
        at_most("registers per thread", REGISTERS, 32, "Keep __launch_bounds__(1024, 2)."),
        at_most(
            "load requests of each warp",
            per_warp(READS),
            48,
            "Read each value once: the mean and the sum of squares can both grow with k.",
        ),
    ],
    hints=[
        "Two passes need all 48 values at once, or 96 loads. One pass needs two running numbers.",
        "Welford: delta = value - mean; mean += delta / (k + 1); sum += delta * (value - mean).",
        "Keep the loop over k, with no array: value, mean and sum are three registers.",
    ],
    rtol=1e-4,
    picture=lambda: order_picture(
        {"an array of 48": _compiled(BOUNDED)}, "Two passes over an array, 32 registers"
    ),
)


# -- 3: no branch ------------------------------------------------------------------


def _launch_choose(n: int) -> Launch:
    generator = np.random.default_rng(15)
    a, b, x = (generator.standard_normal(n).astype(np.float32) for _ in "abx")
    x[:3] = 0.0, -0.0, np.nan  # none of them is > 0
    y = np.full(n, np.nan, np.float32)
    return Launch((-(-n // 128),), (128,), (y, a, b, x, np.int32(n)), output=y, inputs=(a, b, x))


drop_branch = Exercise(
    name="drop_branch",
    task="y[i] = a[i] where x[i] > 0, else b[i]. One branch a warp, that of the guard i < n, and two loads.",
    entry="drop_branch",
    spec=lambda a, b, x: np.where(x > 0, a, b),
    launch=_launch_choose,
    cases=[{"n": 1024}, {"n": 1000}, {"n": 5}],
    stub=r"""
extern "C" __global__
void drop_branch(float* y, const float* a, const float* b, const float* x, int n) {
    // your code here
}
""",
    solution=r"""
extern "C" __global__
void drop_branch(float* y, const float* a, const float* b, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float* from = x[i] > 0 ? a : b;
    y[i] = from[i];
}
""",
    promises=[
        at_most(
            "branches of each warp",
            per_warp(BRANCHES),
            1,
            "The guard is the one branch. A load inside an if stays a branch: the compiler may not load what "
            "you did not ask for. A loop is one, too.",
        ),
        at_most(
            "load requests of each warp",
            per_warp(READS),
            2,
            "Loading a and b and choosing afterwards drops the branch too, with a load too many. Choose "
            "the pointer.",
        ),
    ],
    hints=[
        "selp chooses between two values without a branch. Addresses are values.",
        "Which of the two arrays is read can be decided before anything is loaded.",
        "const float* from = x[i] > 0 ? a : b;",
    ],
    picture=lambda: order_picture({"with a branch": _compiled(CHOOSE)}, "A load on either side of an if"),
)
