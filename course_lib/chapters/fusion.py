"""Chapter 05, fusion: its three exercises and how each is judged."""

from collections.abc import Callable

import numpy as np
from matplotlib.figure import Figure

from ..exercises import Exercise, Launch
from ..metric_names import BLOCK_THREADS, BLOCKS, LD_SECTORS, READ_SECTORS, ST_SECTORS
from ..promises import at_most
from .fusion_pictures import BY_HAND, Step, draw_traffic

LOADED, STORED = LD_SECTORS, ST_SECTORS

SECTOR = 32  # bytes


def _arrays(metric: str) -> Callable:
    """A function of a profile: sectors over those of one array with a float per thread."""
    return lambda p: p[metric] * SECTOR / (4 * p[BLOCKS] * p[BLOCK_THREADS])


def _launch_silu_gate(n: int) -> Launch:
    a, b = (np.random.default_rng(seed).normal(0, 3, n).astype(np.float32) for seed in (6, 7))
    y = np.full(n, np.nan, np.float32)
    return Launch(
        (-(-n // 256),), (256,), (y, a, b, np.int32(n)), output=y, inputs=(a, b), promised=n % 256 == 0
    )


silu_gate = Exercise(
    name="silu_gate",
    task="The gate of many language models: y = a * b * sigmoid(b), in one kernel instead of four. "
    "One thread per element, blocks of 256.",
    entry="silu_gate",
    spec=lambda a, b: a.astype(float) * b / (1 + np.exp(-b.astype(float))),
    launch=_launch_silu_gate,
    cases=[{"n": 1024}, {"n": 1000}, {"n": 3}],
    stub=r"""
extern "C" __global__ void silu_gate(float* y, const float* a, const float* b, int n) {
    // your code here
}
""",
    solution=r"""
extern "C" __global__ void silu_gate(float* y, const float* a, const float* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float gate = b[i];
    y[i] = a[i] * gate / (1.0f + expf(-gate));
}
""",
    promises=[
        at_most(
            "arrays loaded",
            _arrays(READ_SECTORS),
            2,
            "a and b are enough: keep what you compute in registers.",
        ),
        at_most("arrays stored", _arrays(STORED), 1, "Store y once; nothing in between needs DRAM."),
    ],
    hints=[
        "sigmoid(b) = 1 / (1 + expf(-b)). Which of the four steps needs a value from another thread?",
        "Load b[i] into a float, compute everything from it and a[i], store y[i].",
    ],
    picture=lambda: draw_traffic(
        {
            "four kernels": [
                Step("-b, exp", 1, 1),
                Step("1 / (1 + e)", 1, 1),
                Step("times b", 2, 1),
                Step("times a", 2, 1),
            ],
            "one kernel": [Step("all of it", 2, 1)],
        },
        "The gate of a language model",
        evidence=BY_HAND,
    ),
)


def _launch_rms_norm(rows: int, columns: int) -> Launch:
    random = np.random.default_rng(8)
    x = random.normal(0, 2, (rows, columns)).astype(np.float32)
    gain, y = random.normal(size=columns).astype(np.float32), np.full((rows, columns), np.nan, np.float32)
    args = (y, x, gain, np.int32(columns))
    return Launch((rows,), (128,), args, output=y, inputs=(x, gain), promised=columns == 512)


def _rms_norm(x: np.ndarray, gain: np.ndarray) -> np.ndarray:
    exact = x.astype(float)
    return exact / np.sqrt((exact**2).mean(axis=1, keepdims=True) + 1e-5) * gain


rms_norm = Exercise(
    name="rms_norm",
    task="LayerNorm without the mean: y = x / sqrt(mean of x * x over the row + 1e-5) * gain. One block of "
    "128 threads per row, at most 512 columns: up to four values per thread, kept in registers.",
    entry="rms_norm",
    spec=_rms_norm,
    launch=_launch_rms_norm,
    cases=[{"rows": 4, "columns": 512}, {"rows": 3, "columns": 500}, {"rows": 2, "columns": 7}],
    stub=r"""
extern "C" __global__ void rms_norm(float* y, const float* x, const float* gain, int columns) {
    // your code here
}
""",
    solution=r"""
extern "C" __global__ void rms_norm(float* y, const float* x, const float* gain, int columns) {
    __shared__ float part[4];
    int first = blockIdx.x * columns;
    float v[4], sum = 0.0f;
    for (int k = 0, c = threadIdx.x; k < 4; ++k, c += 128) {
        v[k] = c < columns ? x[first + c] : 0.0f;
        sum += v[k] * v[k];
    }
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    float scale = rsqrtf((part[0] + part[1] + part[2] + part[3]) / columns + 1e-5f);
    for (int k = 0, c = threadIdx.x; k < 4; ++k, c += 128)
        if (c < columns) y[first + c] = v[k] * scale * gain[c];
}
""",
    promises=[
        at_most(
            "rows loaded per row",
            lambda p: p[READ_SECTORS] * SECTOR / (4 * 512 * p[BLOCKS]),
            2,
            "x once and gain once: keep the four values of x in an array v[4] until the sum is known.",
        ),
        at_most(
            "rows stored per row",
            lambda p: p[STORED] * SECTOR / (4 * 512 * p[BLOCKS]),
            1,
            "Store y once, when it is final.",
        ),
    ],
    hints=[
        "Element c of the row belongs to thread c % 128. A thread has at most four: float v[4].",
        "Add up with shuffles in each warp, put 4 sums into shared memory, one barrier, add the 4.",
        "Past the end of a row, v[k] = 0 adds nothing. Do not return early: the barrier needs all threads.",
    ],
    picture=lambda: draw_traffic(
        {
            "three kernels": [Step("mean of x * x", 1, 0), Step("divide", 1, 1), Step("times gain", 1, 1)],
            "one kernel": [Step("all of it", 1, 1)],
        },
        "RMSNorm",
        "matrices",
        BY_HAND,
    ),
)


def _launch_tanh_backward(n: int) -> Launch:
    x, g = (np.random.default_rng(seed).normal(size=n).astype(np.float32) for seed in (9, 10))
    dx = np.full(n, np.nan, np.float32)
    args = (dx, g, x, np.int32(n))
    return Launch((-(-n // 256),), (256,), args, output=dx, inputs=(g, x), promised=n % 256 == 0)


def _tanh_backward(g: np.ndarray, x: np.ndarray) -> np.ndarray:
    inner = np.tanh(x.astype(float))
    return g * (1 - np.tanh(inner) ** 2) * (1 - inner**2)


def _picture_tanh_backward() -> Figure:
    stored = [Step("forward", 1, 2), Step("backward", 3, 1)]
    recomputed = [Step("forward", 1, 1), Step("backward", 2, 1)]
    title = "y = tanh(tanh(x)), forward and backward"
    plans = {"activations stored": stored, "recomputed": recomputed}
    return draw_traffic(plans, title, evidence=BY_HAND)


tanh_backward = Exercise(
    name="tanh_backward",
    task="The forward pass computed h = tanh(x) and y = tanh(h), and kept neither. Recompute them from x: "
    "dx = g * (1 - y * y) * (1 - h * h). One thread per element, blocks of 256.",
    entry="tanh_backward",
    spec=_tanh_backward,
    launch=_launch_tanh_backward,
    cases=[{"n": 1024}, {"n": 1000}, {"n": 3}],
    stub=r"""
extern "C" __global__ void tanh_backward(float* dx, const float* g, const float* x, int n) {
    // your code here
}
""",
    solution=r"""
extern "C" __global__ void tanh_backward(float* dx, const float* g, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float h = tanhf(x[i]), y = tanhf(h);
    dx[i] = g[i] * (1.0f - y * y) * (1.0f - h * h);
}
""",
    promises=[
        at_most("arrays loaded", _arrays(READ_SECTORS), 2, "g and x are enough; h and y are computed."),
        at_most("arrays stored", _arrays(STORED), 1, "h and y stay in registers; store dx once."),
    ],
    hints=[
        "Two registers: h = tanhf(x[i]) and y = tanhf(h).",
        "The chain rule multiplies: the slope of tanh at x is 1 - h * h, at h it is 1 - y * y.",
    ],
    picture=_picture_tanh_backward,
)
