"""Chapter 08, flash attention: the reference in float64, and three exercises with how each is judged."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..exercises import Exercise, Launch
from ..metric_names import BLOCK_THREADS, BLOCKS, DISTINCT_LD, READ_SECTORS, READS
from ..pictures.style import BLACK, FAINT, INK, ORANGE, SKY, boxes, clean, new_figure
from ..promises import at_most, ratio

LOWEST = np.finfo(np.float32).min
WINDOW = 32  # keys that a query of the exercise `window_attention` sees


def attention64(
    q: Any, k: Any, v: Any, shift: int | None = None, scale: float | None = None, seen: Any = None
) -> np.ndarray:
    """Attention of one head in float64: softmax(scale Q K^T) V; a query that sees no key gets 0.

    q: (nq, d); k, v: (nk, d). Query i sees key j if j <= i + shift, all keys if shift is None; or by `seen`,
    a mask of shape (nq, nk). scale: 1 / sqrt(d) if left out.
    """
    q, k, v = (np.asarray(a, float) for a in (q, k, v))
    scores = q @ k.T * (q.shape[1] ** -0.5 if scale is None else float(scale))
    if seen is None:
        i, j = np.indices(scores.shape)
        seen = j <= i + (len(k) if shift is None else shift)
    top = np.where(seen, scores, -np.inf).max(axis=1, keepdims=True)
    weights = np.where(seen, np.exp(np.where(seen, scores - top, 0)), 0)
    total = weights.sum(axis=1, keepdims=True)
    return np.divide(weights @ v, total, out=np.zeros((len(q), v.shape[1])), where=total > 0)


# -- log_sums ----------------------------------------------------------------------


def _launch_log_sums(rows: int, columns: int, around: float) -> Launch:
    x = (np.random.default_rng(8).normal(0, 4, (rows, columns)) + around).astype(np.float32)
    y = np.full(rows, np.nan, np.float32)
    args = (y, x, np.int32(rows), np.int32(columns))
    return Launch((-(-rows // 4),), (32, 4), args, y, (x, around), promised=columns % 32 == 0)


def _log_sums(x: np.ndarray, around: float) -> np.ndarray:
    top = x.max(axis=1).astype(float)
    return top + np.log(np.exp(x - top[:, None]).sum(axis=1))


log_sums = Exercise(
    name="log_sums",
    task="y[r] = log(exp(x[r][0]) + ... + exp(x[r][columns - 1])). A block is 32 x 4 threads: a warp to each "
    "row. Every element is read once, and numbers as large as 60,000 must not overflow.",
    entry="log_sums",
    spec=_log_sums,
    launch=_launch_log_sums,
    cases=[
        {"rows": 8, "columns": 256, "around": 0},
        {"rows": 7, "columns": 100, "around": 0},
        {"rows": 3, "columns": 5, "around": 0},
        {"rows": 4, "columns": 64, "around": 60000},
        {"rows": 4, "columns": 64, "around": -60000},
    ],
    stub=r"""
extern "C" __global__ void log_sums(float* y, const float* x, int rows, int columns) {
    // your code here
}
""",
    solution=r"""
extern "C" __global__ void log_sums(float* y, const float* x, int rows, int columns) {
    int row = blockIdx.x * 4 + threadIdx.y;
    if (row >= rows) return;
    float top = -3.402823466e38f, sum = 0.0f;
    for (int c = threadIdx.x; c < columns; c += 32) {
        float value = x[row * columns + c], before = top;
        top = fmaxf(top, value);
        sum = sum * expf(before - top) + expf(value - top);
    }
    for (int step = 16; step > 0; step /= 2) {
        float other = __shfl_xor_sync(0xffffffff, top, step), before = top;
        float more = __shfl_xor_sync(0xffffffff, sum, step);
        top = fmaxf(top, other);
        sum = sum * expf(before - top) + more * expf(other - top);
    }
    if (threadIdx.x == 0) y[row] = top + logf(sum);
}
""",
    promises=[
        at_most(
            "sectors loaded",
            READ_SECTORS,
            lambda p: p[DISTINCT_LD] / 32,
            "One pass: when a new maximum comes, rescale the sum you have instead of starting again.",
        )
    ],
    hints=[
        "Each lane keeps two numbers, the largest value so far and the sum of exp(value - largest).",
        "When the largest grows from a to b, the old sum counts exp(a - b) times as much.",
        "Two lanes are joined in the same way, with __shfl_xor_sync for both numbers. Start at the lowest "
        "float: with minus infinity the difference of two empty lanes is NaN.",
    ],
)


# -- window_attention --------------------------------------------------------------


def _launch_window(n: int) -> Launch:
    q, k, v = np.random.default_rng(9).normal(0, 1, (3, n, 32)).astype(np.float32)
    q *= np.float32(3)
    out = np.full((n, 32), np.nan, np.float32)
    return Launch((-(-n // 64),), (64,), (out, q, k, v, np.int32(n)), out, (q, k, v), promised=n >= 256)


def _window(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    i, j = np.indices((len(q), len(k)))
    return attention64(q, k, v, scale=1.0, seen=(j <= i) & (j > i - WINDOW))


def _picture_window() -> Figure:
    """The band of the score matrix, and the tiles that touch it."""
    figure = new_figure(9.0, 4.4)
    axes = clean(figure.add_axes((0.28, 0.12, 0.44, 0.78)))
    n, rows, keys = 200, 64, 16
    axes.set(xlim=(0, n), ylim=(n, 0), xlabel="key", ylabel="query", aspect="equal")
    first, block = np.meshgrid(np.arange(0, n, keys), np.arange(0, n, rows))
    needed = (first < np.minimum(block + rows, n)) & (first + keys > block - WINDOW + 1)
    for chosen, face in ((~needed, FAINT), (needed, ORANGE)):
        boxes(axes, first[chosen], block[chosen], keys, rows, facecolors=face, edgecolors=INK, linewidths=0.6)
    i = np.arange(n)
    boxes(axes, np.maximum(i - WINDOW + 1, 0), i, np.minimum(i + 1, WINDOW), 1, facecolors=SKY)
    title = "Blue: what is seen. Orange: tiles to load. Grey: tiles to leave"
    axes.set_title(title, color=BLACK, fontsize=12, fontweight="bold")
    return figure


_WINDOW_HEAD = r"""
#define WINDOW 32

extern "C" __global__ void window_attention(
        float* out, const float* q, const float* k, const float* v, int n) {
    __shared__ __align__(16) float keys[16][32], values[16][32];
"""  # 64 queries a block, tiles of 16 keys

window_attention = Exercise(
    name="window_attention",
    task="Attention of n queries and n keys of 32 floats, without a scale: query i sees the 32 keys i - 31 "
    "to i, as far as they exist. A block is 64 threads, one for each query; load only those tiles of 16 keys "
    "that it needs.",
    entry="window_attention",
    spec=_window,
    launch=_launch_window,
    cases=[{"n": 256}, {"n": 100}, {"n": 33}, {"n": 1}],
    stub=_WINDOW_HEAD
    + r"""    // your code here
}
""",
    solution=_WINDOW_HEAD
    + r"""    int block = blockIdx.x * 64, i = block + threadIdx.x, row = min(i, n - 1);
    float qi[32], acc[32] = {}, top = -3.402823466e38f, sum = 0.0f;
    for (int c = 0; c < 32; ++c) qi[c] = q[row * 32 + c];
    for (int first = max(block - WINDOW, 0); first < min(block + 64, n); first += 16) {
        for (int t = threadIdx.x; t < 16 * 32; t += 64) {
            bool inside = first + t / 32 < n;
            keys[t / 32][t % 32] = inside ? k[first * 32 + t] : 0.0f;
            values[t / 32][t % 32] = inside ? v[first * 32 + t] : 0.0f;
        }
        __syncthreads();
        for (int j = first; j < first + 16; ++j) {
            float score = 0.0f, before = top;
            for (int c = 0; c < 32; ++c) score += qi[c] * keys[j - first][c];
            bool seen = j <= i && j > i - WINDOW && j < n;
            top = seen ? fmaxf(top, score) : top;
            float keep = expf(before - top), p = seen ? expf(score - top) : 0.0f;
            sum = sum * keep + p;
            for (int c = 0; c < 32; ++c) acc[c] = acc[c] * keep + p * values[j - first][c];
        }
        __syncthreads();
    }
    if (i < n)
        for (int c = 0; c < 32; ++c) out[i * 32 + c] = acc[c] / sum;
}
""",
    promises=[
        at_most(
            "sectors loaded per block",
            ratio(READ_SECTORS, BLOCKS),
            2048 + 2 * 4 * (64 + WINDOW),  # own rows, a sector a lane and float; K and V, 4 sectors a row
            "Block b needs no key before 64 b - 31, and none after its last query.",
        )
    ],
    hints=[
        "The loop over tiles starts at max(64 b - 32, 0), a multiple of 16, and ends after query 64 b + 63.",
        "Keep the query, 32 sums, the maximum and the sum of the weights in registers; rescale as a new "
        "maximum comes.",
        "Two barriers: one between loading a tile and using it, one before the next tile overwrites it.",
    ],
    picture=_picture_window,
)


# -- merge_parts -------------------------------------------------------------------


def _launch_merge(parts: int, rows: int, around: float, empty: int = 0) -> Launch:
    random = np.random.default_rng(10)
    outs = random.normal(0, 1, (parts, rows, 32)).astype(np.float32)
    lse = (random.normal(0, 2, (parts, rows)) + around).astype(np.float32)
    lse[:empty], outs[:empty] = LOWEST, 0
    y = np.full((rows, 32), np.nan, np.float32)
    args = (y, outs, lse, np.int32(parts), np.int32(rows))
    return Launch((-(-rows // 8),), (32, 8), args, y, (outs, lse), promised=rows % 8 == 0 and parts == 4)


def _per_warp(p: Any, metric: str) -> float:
    return 32 * p[metric] / p[BLOCKS] / p[BLOCK_THREADS]


def _merge(outs: np.ndarray, lse: np.ndarray) -> np.ndarray:
    weights = np.where(lse > LOWEST, np.exp(lse.astype(float) - lse.max(axis=0)), 0)
    total = weights.sum(axis=0)[:, None]
    added = (weights[:, :, None] * outs).sum(axis=0)
    return np.divide(added, total, out=np.zeros_like(added), where=total > 0)


merge_parts = Exercise(
    name="merge_parts",
    task="The keys of a few queries were dealt to several blocks. Part p left outs[p][r], the attention over "
    "its own keys, and lse[p][r], the log of the sum of its exp(score). Merge them into y[r], 32 floats. A "
    "part without a key has the lowest float as its lse; if all have, y[r] is 0.",
    entry="merge_parts",
    spec=_merge,
    launch=_launch_merge,
    cases=[
        {"parts": 4, "rows": 64, "around": 0},
        {"parts": 3, "rows": 13, "around": 60000},
        {"parts": 4, "rows": 8, "around": -60000, "empty": 2},
        {"parts": 2, "rows": 5, "around": 0, "empty": 2},
    ],
    stub=r"""
extern "C" __global__ void merge_parts(float* y, const float* outs, const float* lse, int parts, int rows) {
    // your code here
}
""",
    solution=r"""
extern "C" __global__ void merge_parts(float* y, const float* outs, const float* lse, int parts, int rows) {
    int r = blockIdx.x * 8 + threadIdx.y, c = threadIdx.x;
    if (r >= rows) return;
    float top = -3.402823466e38f, sum = 0.0f, added = 0.0f;
    for (int p = 0; p < parts; ++p) top = fmaxf(top, lse[p * rows + r]);
    for (int p = 0; p < parts; ++p) {
        float one = lse[p * rows + r], weight = one > -3.402823466e38f ? expf(one - top) : 0.0f;
        sum += weight;
        added += weight * outs[(p * rows + r) * 32 + c];
    }
    y[r * 32 + c] = sum > 0.0f ? added / sum : 0.0f;
}
""",
    promises=[
        at_most(
            "global load requests per warp",
            lambda p: _per_warp(p, READS),
            12,
            "Read outs once: first the largest lse, then weights and products in one loop.",
        ),
        at_most(
            "sectors loaded per warp", lambda p: _per_warp(p, READ_SECTORS), 24, "Lane c takes column c."
        ),
    ],
    hints=[
        "The weight of part p is exp(lse[p][r]): that is how much of the whole sum its keys hold.",
        "Only ratios of weights matter, so take exp(lse[p][r] - largest) instead: it cannot overflow.",
        "Skip parts whose lse is the lowest float, and divide by the sum of the weights only if it is not 0.",
    ],
)
