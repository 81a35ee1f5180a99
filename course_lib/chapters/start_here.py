"""Chapter 00, start here: its three exercises on kernels and how each is judged."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..exercises import Exercise, Launch, unwritten_array
from ..metric_names import BLOCK_THREADS, BLOCKS, READ_SECTORS, READS
from ..pictures.style import BLACK, INK, PAPER, boxes, lane_colours, new_figure
from ..promises import at_most, exactly, written_sectors


def _random(*shape: int) -> np.ndarray:
    return np.random.default_rng(11).random(shape, np.float32)


def shares_picture(threads: int = 8, each: int = 4) -> Figure:
    """Which thread takes which element: in pieces of its own, and side by side with its neighbours."""
    figure = new_figure(9.0, 2.3)
    axes = figure.add_axes((0.13, 0.02, 0.86, 0.84))
    axes.set_axis_off()
    axes.set_xlim(-0.05, threads * each + 0.1)
    axes.set_ylim(0, 2.6)
    element = np.arange(threads * each)
    _draw_shares(axes, 1.5, element // each, element % each, "own pieces")
    _draw_shares(axes, 0.0, element % threads, element // threads, "neighbours")
    axes.set_title("Which thread takes which element", color=BLACK, fontsize=12, fontweight="bold")
    return figure


def _draw_shares(axes: Axes, y: float, thread: np.ndarray, turn: np.ndarray, name: str) -> None:
    """A row of elements in the colour of their thread; what is taken first has a thick border."""
    colours = lane_colours(int(thread.max()) + 1)
    width = np.where(turn == 0, 2.6, 0.6)
    boxes(
        axes, np.arange(thread.size), y, 1, 0.8, facecolors=colours[thread], edgecolors=INK, linewidths=width
    )
    for element, (number, when) in enumerate(zip(thread, turn, strict=True)):
        colour = PAPER if number > thread.max() / 2 else BLACK
        axes.text(element + 0.5, y + 0.39, str(number), ha="center", va="center", color=colour, fontsize=9)
        if when == 0:
            axes.text(element + 0.5, y + 0.98, "first", ha="center", va="center", color=INK, fontsize=7)
    axes.text(-0.4, y + 0.4, name, ha="right", va="center", color=INK, fontsize=9)


# -- every element once --------------------------------------------------------------


def _launch_copy(n: int) -> Launch:
    x, y = _random(n), unwritten_array(n)
    # otherwise a warp may part at its last element, and two halves of it ask for one sector
    whole = n % 8 == 0
    return Launch((4,), (128,), (y, x, np.int32(n)), output=y, inputs=(x,), promised=whole)


copy_all = Exercise(
    name="copy_all",
    task="Store x[i] in y[i] for all n elements, with 4 blocks of 128 threads, whatever n is.",
    entry="copy_all",
    spec=lambda x: x,
    launch=_launch_copy,
    cases=[{"n": 4096}, {"n": 5003}, {"n": 101}, {"n": 20000}],
    stub=r"""
extern "C" __global__ void copy_all(float* y, const float* x, int n) {
    // your code here
}
""",
    solution=r"""
extern "C" __global__ void copy_all(float* y, const float* x, int n) {
    int threads = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) y[i] = x[i];
}
""",
    promises=[
        exactly(
            "sectors read",
            READ_SECTORS,
            written_sectors,
            "Each sector is to be fetched once: neighbours read neighbours, and each element has one reader.",
        )
    ],
    hints=[
        "512 threads and n elements: each thread needs a loop.",
        "Thread t begins at element t. How far ahead is the next one that nobody else takes?",
        "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)",
    ],
    picture=shares_picture,
)

# -- rows in pairs -------------------------------------------------------------------


def _launch_pairs(rows: int, columns: int) -> Launch:
    x, y = _random(rows, columns), unwritten_array(rows // 2, columns)
    grid = (-(-columns // 128), rows // 2)
    args = (y, x, np.int32(rows), np.int32(columns))
    return Launch(grid, (128,), args, output=y, inputs=(x,), promised=columns % 8 == 0)


def _picture_pairs() -> Figure:
    """Four rows of a matrix, and which two make a row of the result."""
    figure = new_figure(9.0, 2.6)
    axes = figure.add_axes((0.1, 0.02, 0.88, 0.84))
    axes.set_axis_off()
    axes.set_xlim(-0.05, 25.1)
    axes.set_ylim(0, 4.2)
    colours = lane_colours(2)
    column = np.arange(12)
    for row in range(4):
        boxes(axes, column, 3.2 - row, 1, 0.8, facecolors=colours[row // 2], edgecolors=INK, linewidths=0.6)
        axes.text(-0.3, 3.6 - row, f"row {row} of x", ha="right", va="center", color=INK, fontsize=9)
    for row in range(2):
        boxes(
            axes, column + 13, 2.7 - 2 * row, 1, 0.8, facecolors=colours[row], edgecolors=INK, linewidths=0.6
        )
        axes.text(25.0, 3.65 - 2 * row, f"row {row} of y", ha="right", va="bottom", color=INK, fontsize=9)
        axes.annotate(
            "", (12.9, 3.1 - 2 * row), (12.1, 3.1 - 2 * row), arrowprops={"arrowstyle": "->", "color": INK}
        )
    axes.set_title("Two rows make one", color=BLACK, fontsize=12, fontweight="bold")
    return figure


pair_rows = Exercise(
    name="pair_rows",
    task="y[r][c] = x[2r][c] + x[2r + 1][c]. A grid of (columns / 128, rounded up) x (rows / 2) blocks of "
    "128 threads: block (b, r) makes 128 columns of row r.",
    entry="pair_rows",
    spec=lambda x: x[::2] + x[1::2],
    launch=_launch_pairs,
    cases=[{"rows": 8, "columns": 256}, {"rows": 6, "columns": 200}, {"rows": 2, "columns": 71}],
    stub=r"""
extern "C" __global__ void pair_rows(float* y, const float* x, int rows, int columns) {
    // your code here
}
""",
    solution=r"""
extern "C" __global__ void pair_rows(float* y, const float* x, int rows, int columns) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y;
    if (c >= columns) return;
    y[r * columns + c] = x[2 * r * columns + c] + x[(2 * r + 1) * columns + c];
}
""",
    promises=[
        exactly(
            "sectors read",
            READ_SECTORS,
            lambda p: 2 * written_sectors(p),
            "Thread t of a block takes column t of its 128: then a warp reads 128 bytes in a row.",
        )
    ],
    hints=[
        "The row is blockIdx.y, the column comes from blockIdx.x and threadIdx.x.",
        "Element (r, c) of a matrix that is stored by rows is x[r * columns + c].",
        "The last block of a row has threads without a column: let them return.",
    ],
    picture=_picture_pairs,
)

# -- more arithmetic for the same bytes --------------------------------------------------


def _launch_both(n: int) -> Launch:
    a, b, y = _random(n), _random(n)[::-1].copy(), unwritten_array(2 * n)
    return Launch((-(-n // 128),), (128,), (y, a, b, np.int32(n)), output=y, inputs=(a, b))


def loads_per_warp(p: Mapping) -> float:
    """Global read requests over the warps of the launch."""
    return 32 * p[READS] / (p[BLOCKS] * p[BLOCK_THREADS])


def _picture_both() -> Figure:
    """Two loads, two results."""
    figure = new_figure(9.0, 2.0)
    axes = figure.add_axes((0.02, 0.02, 0.96, 0.8))
    axes.set_axis_off()
    axes.set_xlim(0, 32.2)
    axes.set_ylim(0, 3)
    for y, name in ((1.8, "a"), (0.4, "b")):
        boxes(axes, 3, y, 8, 0.8, facecolors=lane_colours(2)[0], edgecolors=INK, linewidths=0.6)
        axes.text(7, y + 0.4, name, ha="center", va="center", color=BLACK, fontsize=10)
    boxes(axes, [18, 25], 1.1, 7, 0.8, facecolors=lane_colours(2)[1], edgecolors=INK, linewidths=0.6)
    for x, name in ((21.5, "y: a + b"), (28.5, "a - b")):
        axes.text(x, 1.5, name, ha="center", va="center", color=PAPER, fontsize=10)
    for y in (2.2, 0.8):
        axes.annotate("", (17.8, 1.5), (11.2, y), arrowprops={"arrowstyle": "->", "color": INK})
    axes.set_title("Read once, two results", color=BLACK, fontsize=12, fontweight="bold")
    return figure


both = Exercise(
    name="both",
    task="y[i] = a[i] + b[i] and y[n + i] = a[i] - b[i], one thread for each i, blocks of 128 threads.",
    entry="both",
    spec=lambda a, b: np.concatenate([a + b, a - b]),
    launch=_launch_both,
    cases=[{"n": 1024}, {"n": 1001}, {"n": 43}],
    stub=r"""
extern "C" __global__ void both(float* y, const float* a, const float* b, int n) {
    // your code here
}
""",
    solution=r"""
extern "C" __global__ void both(float* y, const float* a, const float* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float u = a[i], v = b[i];
    y[i] = u + v;
    y[n + i] = u - v;
}
""",
    promises=[
        at_most(
            "global load requests per warp",
            loads_per_warp,
            2,
            "y might overlap a or b: after a store the compiler loads again. Load into variables first.",
        )
    ],
    hints=[
        "Two loads are enough: a[i] and b[i]. Where does the compiler get them for the second result?",
        "A store to y could change a or b, as far as the compiler knows.",
        "float u = a[i], v = b[i]; and only then the two stores.",
    ],
    picture=_picture_both,
)
