"""Chapter 03, bank conflicts: its three exercises and how each is judged."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..emulator.counters import count_shared
from ..exercises import Exercise, Launch
from ..metric_names import (
    BLOCK_THREADS,
    BLOCKS,
    FEWEST_WAVEFRONTS,
    READS,
    SHARED_LOADS,
    STATIC_BYTES,
    WAVEFRONTS,
)
from ..pictures import warp_to_banks
from ..pictures.style import (
    BLACK,
    FAINT,
    INK,
    ORANGE,
    PAPER,
    boxes,
    draw_lane_row,
    draw_threads,
    lane_colours,
    new_figure,
)
from ..promises import at_most, coalesced, exactly, ratio

LANES = np.arange(32)


def excess(counted: Any) -> float:
    """Shared wavefronts beyond the fewest possible, loads and stores."""
    return counted[WAVEFRONTS] - counted[FEWEST_WAVEFRONTS]


NO_EXCESS = exactly(
    "shared wavefronts in excess",
    excess,
    0,
    "Take one shared access of one warp and write down its 32 banks: which lanes meet in a bank?",
)


def _launch_row_sums(rows: int) -> Launch:
    a = np.random.default_rng(3).random((rows, 32), np.float32)
    y = np.full(rows, np.nan, np.float32)
    return Launch((-(-rows // 32),), (32, 8), (y, a, np.int32(rows)), output=y, inputs=(a,))


row_sums = Exercise(
    name="row_sums",
    task="y[r] = sum of row r of a matrix with 32 columns. A block of 32 x 8 threads stages 32 rows in "
    "shared memory; then thread r of its first warp adds up row r.",
    entry="row_sums",
    spec=lambda a: a.sum(axis=1),
    launch=_launch_row_sums,
    cases=[{"rows": 64}, {"rows": 70}, {"rows": 5}],
    stub=r"""
extern "C" __global__ void row_sums(float* y, const float* a, int rows) {
    // your code here
}
""",
    solution=r"""
extern "C" __global__ void row_sums(float* y, const float* a, int rows) {
    __shared__ float tile[32][33];
    int first = blockIdx.x * 32, x = threadIdx.x;
    for (int r = threadIdx.y; r < 32 && first + r < rows; r += 8)
        tile[r][x] = a[(first + r) * 32 + x];
    __syncthreads();
    if (threadIdx.y > 0 || first + x >= rows) return;
    float sum = 0;
    for (int c = 0; c < 32; ++c) sum += tile[x][c];
    y[first + x] = sum;
}
""",
    promises=[
        coalesced("Let a warp load one row, neighbours from neighbours, and add up from shared memory."),
        NO_EXCESS,
    ],
    hints=[
        "Row r of the tile: lane x of warp r stores tile[r][x]. Four rounds of 8 warps fill 32 rows.",
        "Adding up, lane x reads tile[x][c]: 32 rows, one column. Where do the rows start?",
        "Declare tile[32][33], and let threadIdx.y == 0 alone add up, after __syncthreads().",
    ],
    picture=lambda: warp_to_banks(128 * LANES, title="Column of tile[32][32]"),
)


def _launch_polynomials(rows: int) -> Launch:
    a = np.random.default_rng(4).random((rows, 32), np.float32)
    y, x = np.full(rows, np.nan, np.float32), np.float32(0.75)
    return Launch((-(-rows // 32),), (256,), (y, a, x, np.int32(rows)), output=y, inputs=(a, x))


def _picture_polynomials() -> Figure:
    """float4 0 of each row: 4 phases of 8 lanes, and every lane's 4 words lie in banks 0 to 3."""
    figure = new_figure(9.0, 4.2)
    for phase in range(4):
        axes = figure.add_axes((0.06 + 0.48 * (phase % 2), 0.47 - 0.45 * (phase // 2), 0.44, 0.36))
        axes.set_axis_off()
        axes.set_xlim(0, 32)
        axes.set_ylim(0, 3.6)
        _draw_phase(axes, LANES[8 * phase : 8 * phase + 8], f"phase {phase + 1}")
    waves = int(count_shared(128 * LANES[None], None, 16, False).wavefronts)
    title = f"float4 0 of each row: 4 phases, each lane wants 4 banks; {waves} wavefronts, counted"
    figure.text(0.5, 0.93, title, ha="center", color=BLACK, fontsize=12, fontweight="bold")
    return figure


def _draw_phase(axes: Axes, lanes: np.ndarray, name: str) -> None:
    """8 lanes above, 32 banks below, and a line from each lane to each of the 4 banks of its float4."""
    boxes(
        axes, 4 * (lanes % 8), 2.3, 4, 0.6, facecolors=lane_colours()[lanes], edgecolors=INK, linewidths=0.6
    )
    boxes(axes, LANES, 0, 1, 0.55, facecolors=[ORANGE] * 4 + [FAINT] * 28, edgecolors=INK, linewidths=0.6)
    for lane in lanes:
        colour = PAPER if lane > 14 else BLACK
        axes.text(4 * (lane % 8) + 2, 2.59, str(lane), ha="center", va="center", color=colour, fontsize=8)
    for bank in (*range(4), *range(7, 32, 4)):
        axes.text(bank + 0.5, 0.26, str(bank), ha="center", va="center", color=BLACK, fontsize=7)
    each, bank = np.repeat(lanes, 4), np.tile(np.arange(4), len(lanes))
    draw_threads(axes, each, 4 * (each % 8) + 0.5 + bank, 2.3, bank + 0.5, 0.55)
    for y, text in ((2.59, "lane"), (0.26, "bank")):
        axes.text(-0.3, y, text, ha="right", va="center", color=INK, fontsize=8)
    ways = int(count_shared(128 * LANES[None], np.isin(LANES, lanes)[None], 16, False).ways)
    axes.text(16, 3.2, f"{name}: {ways} lanes queue for banks 0 to 3", ha="center", color=INK, fontsize=9)


polynomials = Exercise(
    name="polynomials",
    task="Row r holds the 32 coefficients of a polynomial: y[r] = a[r][0] + a[r][1] x + ... + a[r][31] x^31. "
    "A block of 256 threads stages 32 rows as 32 x 8 float4; thread r of its first warp evaluates row r.",
    entry="polynomials",
    spec=lambda a, x: (a.astype(float) * float(x) ** np.arange(32)).sum(axis=1),
    launch=_launch_polynomials,
    cases=[{"rows": 64}, {"rows": 70}, {"rows": 5}],
    stub=r"""
extern "C" __global__ void polynomials(float* y, const float4* a, float x, int rows) {
    // your code here
}
""",
    solution=r"""
extern "C" __global__ void polynomials(float* y, const float4* a, float x, int rows) {
    __shared__ float4 tile[32][8];
    int first = blockIdx.x * 32, t = threadIdx.x, row = t / 8, chunk = t % 8;
    if (first + row < rows) tile[row][chunk ^ (row % 8)] = a[first * 8 + t];
    __syncthreads();
    if (t >= 32 || first + t >= rows) return;
    float sum = 0;
    for (int c = 7; c >= 0; --c) {
        float4 v = tile[t][c ^ (t % 8)];
        sum = (((sum * x + v.w) * x + v.z) * x + v.y) * x + v.x;
    }
    y[first + t] = sum;
}
""",
    promises=[
        at_most(
            "static shared bytes per block",
            STATIC_BYTES,
            4096,
            "32 x 8 float4 are 4,096 bytes: no room for padding. Permute the chunks within each row.",
        ),
        at_most(
            "shared loads per block",
            ratio(SHARED_LOADS, BLOCKS),
            8,
            "32 floats are 8 float4: read 16 bytes at a time, by one warp only.",
        ),
        NO_EXCESS,
    ],
    hints=[
        "A 16-byte access is served 8 lanes at a time. Lanes 0 to 7 must meet 8 different chunk columns.",
        "Keep chunk c of row r in column c ^ (r % 8), and look for it there.",
        "Horner from the end: for c = 7 ... 0, sum = (((sum * x + v.w) * x + v.z) * x + v.y) * x + v.x.",
    ],
    picture=_picture_polynomials,
)


def _launch_warp_scan(n: int) -> Launch:
    x = np.random.default_rng(5).integers(-99, 100, n, np.int32)
    y = np.full(n, -(2**31), np.int32)
    return Launch((-(-n // 128),), (128,), (y, x, np.int32(n)), output=y, inputs=(x,))


def _sums_so_far(x: np.ndarray) -> np.ndarray:
    return np.concatenate([np.cumsum(part) for part in np.split(x, range(32, x.size, 32))])


def _picture_warp_scan() -> Figure:
    """Five rounds: in each, a lane adds the value `step` lanes to its left."""
    figure = new_figure(9.0, 4.2)
    axes = figure.add_axes((0.09, 0.02, 0.895, 0.88))
    axes.set_axis_off()
    axes.set_xlim(0, 32)
    axes.set_ylim(-5.15, 0.5)
    draw_lane_row(axes, LANES, 1.0, bottom=0, height=0.4)
    for turn, step in enumerate((1, 2, 4, 8, 16), 1):
        lanes = LANES[step:]
        draw_threads(axes, lanes, lanes - step + 0.5, 1.0 - turn, lanes + 0.5, 0.4 - turn)
        boxes(axes, LANES, -turn, 1, 0.4, facecolors=FAINT, edgecolors=INK, linewidths=0.6)
        axes.text(-0.2, 0.2 - turn, f"step {step}", ha="right", va="center", color=INK, fontsize=9)
    axes.text(-0.2, 0.2, "lane", ha="right", va="center", color=INK, fontsize=9)
    title = "In every step a lane adds what a lane further left has summed up"
    axes.set_title(title, color=BLACK, fontsize=12, fontweight="bold")
    return figure


warp_scan = Exercise(
    name="warp_scan",
    task="Running sums within groups of 32: y[i] = x[g] + ... + x[i], where g = i rounded down to a multiple "
    "of 32. One thread per element, blocks of 128 threads, no shared memory.",
    entry="warp_scan",
    spec=_sums_so_far,
    launch=_launch_warp_scan,
    cases=[{"n": 256}, {"n": 1000}, {"n": 20}],
    stub=r"""
extern "C" __global__ void warp_scan(int* y, const int* x, int n) {
    // your code here
}
""",
    solution=r"""
extern "C" __global__ void warp_scan(int* y, const int* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    int sum = i < n ? x[i] : 0;
    for (int step = 1; step < 32; step *= 2) {
        int left = __shfl_up_sync(0xffffffff, sum, step);
        if (lane >= step) sum += left;
    }
    if (i < n) y[i] = sum;
}
""",
    promises=[
        exactly("shared wavefronts", WAVEFRONTS, 0, "__shfl_up_sync hands a value to another lane directly."),
        at_most(
            "global load requests per warp",
            lambda p: 32 * p[READS] / p[BLOCKS] / p[BLOCK_THREADS],
            1,
            "Load x[i] once into a register; everything else comes from the other lanes.",
        ),
    ],
    hints=[
        "After the round with step 1 a lane holds the sum of 2 elements, after step 2 of 4, then 8, 16, 32.",
        "__shfl_up_sync(0xffffffff, sum, step) is the sum of the lane `step` below; all 32 lanes call it.",
        "A lane below `step` has nobody there: it calls the shuffle too, but does not add.",
    ],
    picture=_picture_warp_scan,
)
