"""Chapter 02, tiling: the rows of its tables, its three exercises and how each is judged."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..exercises import Exercise, Launch, unwritten_array
from ..metric_names import (
    BLOCK_THREADS,
    DISTINCT_LD,
    FEWEST_WAVEFRONTS,
    LD_REQUESTS,
    LD_SECTORS,
    READ_SECTORS,
    SHARED_LOADS,
    SHARED_STORES,
    WAVEFRONTS,
)
from ..pictures import warp_to_sectors
from ..pictures.style import BLACK, FAINT, INK, ORANGE, SKY, boxes, new_figure
from ..promises import at_most, coalesced, ratio

LANES = np.arange(32)


def times_read(counted: Any) -> float:
    """How often requests bring a byte, on average: bytes of all sectors loaded over the distinct bytes."""
    return 32 * counted[READ_SECTORS] / counted[DISTINCT_LD]


def load_line(counted: Any, array: str) -> Any:
    """The source line that loads from `array`, such as ``x = a[i];``; KeyError when there is none."""
    pattern = re.compile(rf"=.*(?<!\w)(?:{array}\[|\*{array};)")
    for line in counted.lines:
        if line.requests and pattern.search(line.text):
            return line
    raise KeyError(f"no line loads from {array!r}")


def times_asked_of(array: str) -> Callable[[Any], float]:
    """How often threads ask for an element of one of two inputs of equal size, where all threads ask."""

    def asked(p: Any) -> float:
        threads = p[BLOCK_THREADS]
        return 4 * load_line(p, array).requests * threads / -(-threads // 32) / (p[DISTINCT_LD] / 2)

    return asked


def times_read_of(array: str) -> Callable[[Any], float]:
    """How often requests bring a byte of one of two inputs of equal size."""
    return lambda p: 32 * load_line(p, array).sectors / (p[DISTINCT_LD] / 2)


# the rows of this chapter's tables: label -> metric, or function of a profile
LOADS = {
    "global load requests": LD_REQUESTS,
    "sectors loaded": LD_SECTORS,
    "sectors per request": ratio(LD_SECTORS, LD_REQUESTS),
    "bytes of distinct sectors loaded": DISTINCT_LD,
}
READS = LOADS | {
    "times a thread asks for an element of A": times_asked_of("a"),
    "times a thread asks for an element of B": times_asked_of("b"),
    "times a byte of A is read, in sectors": times_read_of("a"),
    "times a byte of B is read, in sectors": times_read_of("b"),
}
SHARED = {
    "shared store requests": SHARED_STORES,
    "shared load requests": SHARED_LOADS,
    "shared wavefronts": WAVEFRONTS,
    "shared wavefronts in excess": lambda p: p[WAVEFRONTS] - p[FEWEST_WAVEFRONTS],
}


def _random(*shape: int) -> np.ndarray:
    return np.random.default_rng(2).random(shape, np.float32)


# -- a product of rectangles -------------------------------------------------------


def _launch_rectangles(m: int, n: int, k: int) -> Launch:
    a, b, c = _random(m, k), _random(k, n), unwritten_array(m, n)
    args = (c, a, b, *map(np.int32, (m, n, k)))
    promised = not (m % 16 or n % 16 or k % 16)
    return Launch((-(-n // 16), -(-m // 16)), (16, 16), args, output=c, inputs=(a, b), promised=promised)


def _picture_rectangles() -> Figure:
    """The ragged shape on its grid of tiles."""
    figure = new_figure(9.0, 3.8)
    axes = figure.add_axes((0.02, 0.02, 0.96, 0.86))
    axes.set_axis_off()
    axes.set_aspect("equal")
    m, n, k = 20, 33, 50
    for x, y, wide, high, name in ((0, 0, k, m, "A"), (70, 0, n, k, "B"), (125, 0, n, m, "C")):
        right, down = (np.arange(-(-side // 16)) * 16 for side in (wide, high))
        for left in right:
            boxes(axes, x + left, -y - down - 16, 16, 16, facecolors=FAINT, edgecolors=INK, linewidths=0.6)
        boxes(axes, x, -y - high, wide, high, facecolors=SKY, edgecolors=BLACK, linewidths=1.2, alpha=0.6)
        label = f"{name}\n{high} x {wide}"
        axes.text(x + wide / 2, -y - high / 2, label, ha="center", va="center", fontsize=10)
    axes.set_xlim(-2, 175)
    axes.set_ylim(-68, 3)
    axes.set_title("Tiles of 16 x 16 reach past every edge", color=BLACK, fontsize=12, fontweight="bold")
    return figure


rectangles = Exercise(
    name="rectangles",
    task="C = A B, where A is m x k and B is k x n, of any size. Blocks of 16 x 16 threads; block (x, y) "
    "makes columns 16 x and rows 16 y onwards of C.",
    entry="rectangles",
    spec=lambda a, b: a.astype(float) @ b,
    launch=_launch_rectangles,
    cases=[{"m": 32, "n": 48, "k": 64}, {"m": 20, "n": 33, "k": 50}, {"m": 5, "n": 7, "k": 3}],
    stub=r"""
extern "C" __global__
void rectangles(float* c, const float* a, const float* b, int m, int n, int k) {
    // your code here
}
""",
    solution=r"""
extern "C" __global__
void rectangles(float* c, const float* a, const float* b, int m, int n, int k) {
    __shared__ float a_tile[16][16], b_tile[16][16];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
    float sum = 0;
    for (int first = 0; first < k; first += 16) {
        a_tile[y][x] = row < m && first + x < k ? a[row * k + first + x] : 0.0f;
        b_tile[y][x] = first + y < k && col < n ? b[(first + y) * n + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum += a_tile[y][i] * b_tile[i][x];
        __syncthreads();
    }
    if (row < m && col < n) c[row * n + col] = sum;
}
""",
    promises=[
        at_most(
            "times a byte of A or B is read, on average",
            times_read,
            2.4,  # A: 48 / 16 = 3 times, B: 32 / 16 = 2 times, weighted by their sizes
            "Each thread loads one element of either tile per step; the rest comes from shared memory.",
        )
    ],
    hints=[
        "Start from the kernel `tiled`. Which of m, n and k is the length of a row of A, of B, of C?",
        "A thread outside A still has work: it stores 0 in its place of the tile, and joins both barriers.",
        "Four guards: row < m and first + x < k for A, first + y < k and col < n for B. Two more for C.",
    ],
    picture=_picture_rectangles,
)


# -- A transposed times A ----------------------------------------------------------


def _launch_gram(rows: int, n: int) -> Launch:
    a, g = _random(rows, n), unwritten_array(n, n)
    args = (g, a, np.int32(rows), np.int32(n))
    promised = not (rows % 16 or n % 16)
    return Launch((-(-n // 16), -(-n // 16)), (16, 16), args, output=g, inputs=(a,), promised=promised)


def _picture_gram() -> Figure:
    down = 4 * (48 * (LANES % 16) + LANES // 16)
    return warp_to_sectors(down, title="Down columns of A, counted")


gram = Exercise(
    name="gram",
    task="G = A^T A: g[i][j] is column i of A times column j of A, where A is rows x n. "
    "Blocks of 16 x 16 threads; block (x, y) makes columns 16 x and rows 16 y onwards of G.",
    entry="gram",
    spec=lambda a: a.T.astype(float) @ a,
    launch=_launch_gram,
    cases=[{"rows": 64, "n": 48}, {"rows": 50, "n": 37}, {"rows": 3, "n": 17}],
    stub=r"""
extern "C" __global__ void gram(float* g, const float* a, int rows, int n) {
    // your code here
}
""",
    solution=r"""
extern "C" __global__ void gram(float* g, const float* a, int rows, int n) {
    __shared__ float left[16][16], right[16][16];
    int x = threadIdx.x, y = threadIdx.y;
    int i0 = blockIdx.y * 16, j0 = blockIdx.x * 16;
    float sum = 0;
    for (int first = 0; first < rows; first += 16) {
        int row = first + y;
        left[y][x] = row < rows && i0 + x < n ? a[row * n + i0 + x] : 0.0f;
        right[y][x] = row < rows && j0 + x < n ? a[row * n + j0 + x] : 0.0f;
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += left[k][y] * right[k][x];
        __syncthreads();
    }
    if (i0 + y < n && j0 + x < n) g[(i0 + y) * n + j0 + x] = sum;
}
""",
    promises=[
        coalesced(
            "A thread need not load what it will use. Let threadIdx.x follow the rows of A in both loads.",
        ),
        at_most(
            "times a byte of A is read, on average",
            times_read,
            6,  # as the left and as the right factor, n / 16 = 3 times each
            "Load two tiles of A per step, one for each factor, and multiply from shared memory.",
        ),
    ],
    hints=[
        "Both tiles are 16 rows of A: one starts at column 16 * blockIdx.y, the other at 16 * blockIdx.x.",
        "Load both with threadIdx.x along the row: left[y][x] = a[(first + y) * n + 16 * blockIdx.y + x].",
        "Thread (x, y) then adds up left[k][y] * right[k][x]. Zeros fill what lies outside A.",
    ],
    picture=_picture_gram,
)


# -- a tile with a halo --------------------------------------------------------


def _launch_window(n: int) -> Launch:
    x = np.random.default_rng(3).integers(-99, 100, n + 16, np.int32)
    y = np.full(n, -(2**31), np.int32)
    args = (y, x, np.int32(n))
    return Launch((-(-n // 128),), (128,), args, output=y, inputs=(x,), promised=n % 128 == 0)


def _window_sums(x: np.ndarray) -> np.ndarray:
    return np.lib.stride_tricks.sliding_window_view(x, 17).sum(axis=1)


def _picture_window() -> Figure:
    """Three neighbouring blocks, and what the first of them loads."""
    axes = new_figure(9.0, 2.4).add_axes((0.02, 0.05, 0.96, 0.75))
    axes.set_axis_off()
    axes.set_xlim(0, 384)
    axes.set_ylim(-2.1, 1.5)
    boxes(axes, np.arange(3) * 128, 0, 128, 0.8, facecolors=FAINT, edgecolors=INK, linewidths=0.8)
    boxes(axes, 128, -1.4, 128, 0.8, facecolors=SKY, edgecolors=BLACK, linewidths=1.2)
    boxes(axes, 256, -1.4, 16, 0.8, facecolors=ORANGE, edgecolors=BLACK, linewidths=1.2)
    texts = [(64 + 128 * block, 0.4, f"outputs of block {block}") for block in range(3)]
    tile, halo = (192, -1.0, "tile of block 1: 128 elements"), (264, -1.85, "and a halo of 16 (orange)")
    for x, y, text in (*texts, tile, halo):
        axes.text(x, y, text, ha="center", va="center", fontsize=10, color=BLACK)
    title = "A block needs a few elements that its neighbour needs too"
    axes.set_title(title, color=BLACK, fontsize=12, fontweight="bold")
    return axes.figure


window = Exercise(
    name="window",
    task="y[i] = x[i] + x[i + 1] + ... + x[i + 16], for n elements of y; x has n + 16. One thread per "
    "element of y, blocks of 128 threads.",
    entry="window",
    spec=_window_sums,
    launch=_launch_window,
    cases=[{"n": 1024}, {"n": 1000}, {"n": 5}],
    stub=r"""
extern "C" __global__ void window(int* y, const int* x, int n) {
    // your code here
}
""",
    solution=r"""
extern "C" __global__ void window(int* y, const int* x, int n) {
    __shared__ int tile[144];
    int first = blockIdx.x * 128, i = first + threadIdx.x, sum = 0;
    for (int t = threadIdx.x; t < 144; t += 128)
        if (first + t < n + 16) tile[t] = x[first + t];
    __syncthreads();
    if (i >= n) return;
    for (int t = 0; t <= 16; ++t) sum += tile[threadIdx.x + t];
    y[i] = sum;
}
""",
    promises=[
        at_most(
            "times a byte of x is read, on average",
            times_read,
            1.125,  # 128 elements and a halo of 16
            "Load the 144 elements that a block needs once, into shared memory, and add up from there.",
        )
    ],
    hints=[
        "The tile of a block has 144 elements, from x[128 * blockIdx.x] on: two rounds for 128 threads.",
        "for (int t = threadIdx.x; t < 144; t += 128) fills tile[t], where x has such an element.",
        "After the barrier, thread t adds up tile[t] to tile[t + 16]. Only then may threads past n return.",
    ],
    picture=_picture_window,
)
