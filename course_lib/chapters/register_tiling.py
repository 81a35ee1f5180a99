"""Chapter 09, register tiling: its three exercises and how each is judged."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..exercises import Exercise, Launch
from ..metric_names import (
    BLOCK_THREADS,
    BLOCKS,
    FEWEST_WAVEFRONTS,
    READS,
    SHARED_LOADS,
    ST_REQUESTS,
    WAVEFRONTS,
)
from ..pictures import warp_to_banks
from ..pictures.style import BLACK, FAINT, GREEN, INK, ORANGE, SKY, boxes, new_figure
from ..promises import at_most, exactly
from .tiling import times_read

EVEN_K = 32  # depth of the case of `max_plus` that keeps the promises


def warps(counted: Any) -> int:
    """Warps of a launch whose blocks are made of whole warps."""
    return int(counted[BLOCKS] * counted[BLOCK_THREADS] / 32)


def shared_excess(counted: Any) -> float:
    """Wavefronts of shared memory beyond the fewest possible."""
    return counted[WAVEFRONTS] - counted[FEWEST_WAVEFRONTS]


# -- a filter: four neighbours share a window ---------------------------------------


def _launch_fir(n: int) -> Launch:
    rng = np.random.default_rng(9)
    x, w = rng.random(n + 16, np.float32), rng.random(16, np.float32)
    y = np.full(n, np.nan, np.float32)
    args = (y, x, w, np.int32(n))
    return Launch((-(-n // 512),), (128,), args, output=y, inputs=(x, w), promised=n % 512 == 0)


def _spec_fir(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    return np.lib.stride_tricks.sliding_window_view(x[:-1].astype(float), 16) @ w


def _picture_fir() -> Figure:
    """The windows of four neighbours, and what they need together."""
    axes = new_figure(9.0, 2.9).add_axes((0.14, 0.03, 0.84, 0.83))
    axes.set_axis_off()
    axes.set(xlim=(0, 24), ylim=(-1.5, 4.1))
    for row in range(4):
        boxes(axes, row + np.arange(16), 3 - row, 1, 0.8, facecolors=SKY, edgecolors=INK, linewidths=0.6)
        axes.text(-0.2, 3.4 - row, f"y[i + {row}]" if row else "y[i]", ha="right", va="center", fontsize=9)
    for group in range(5):
        face = (ORANGE, GREEN)[group % 2]
        boxes(axes, 4 * group, -1.3, 4, 0.8, facecolors=face, edgecolors=BLACK, linewidths=1.2)
        axes.text(4 * group + 2, -0.9, f"float4 {group}", ha="center", va="center", fontsize=9)
    axes.text(-0.2, -0.9, "together", ha="right", va="center", fontsize=9)
    title = "Four windows of 16 elements of x: 64 uses of 19 elements"
    axes.set_title(title, color=BLACK, fontsize=12, fontweight="bold")
    return axes.figure


fir = Exercise(
    name="fir",
    task="y[i] = w[0] x[i] + w[1] x[i + 1] + ... + w[15] x[i + 15], for n elements of y; x has n + 16. "
    "Blocks of 128 threads make 512 elements, thread t the four from 512 b + 4 t on.",
    entry="fir",
    spec=_spec_fir,
    launch=_launch_fir,
    cases=[{"n": 1024}, {"n": 1001}, {"n": 5}],
    stub=r"""
extern "C" __global__ void fir(float* y, const float* x, const float* w, int n) {
    // your code here
}
""",
    solution=r"""
extern "C" __global__ void fir(float* y, const float* x, const float* w, int n) {
    __shared__ __align__(16) float tile[528];
    int first = blockIdx.x * 512, t = threadIdx.x;
    for (int i = t; i < 528; i += 128) tile[i] = first + i < n + 16 ? x[first + i] : 0.0f;
    __syncthreads();
    float near[20], sum[4] = {};
#pragma unroll
    for (int i = 0; i < 20; i += 4) *(float4*)&near[i] = *(float4*)&tile[4 * t + i];
#pragma unroll
    for (int j = 0; j < 16; ++j)
        for (int i = 0; i < 4; ++i) sum[i] += w[j] * near[i + j];
    for (int i = 0; i < 4; ++i)
        if (first + 4 * t + i < n) y[first + 4 * t + i] = sum[i];
}
""",
    promises=[
        at_most(
            "shared loads of a warp",
            lambda p: p[SHARED_LOADS] / warps(p),
            9,  # 5 float4 of x, and 4 of w for whoever stages it too
            "Load the window of all four results once, 16 bytes at a time, and keep it in registers.",
        ),
        at_most(
            "times a byte of x and w is read, on average",
            times_read,
            2.5,  # x hardly more than once; every warp may read w for itself
            "Stage the 528 elements that a block needs in shared memory.",
        ),
    ],
    hints=[
        "The four results of a thread need 19 neighbours of x: five float4 from tile[4 * t] on.",
        "Copy them to an array near[20]; then y[i] needs near[0] to near[15], y[i + 1] near[1] to near[16].",
        "near stays in registers only if every index is known to the compiler: #pragma unroll the loops.",
    ],
    picture=_picture_fir,
)


# -- the largest sum: a product with max for + and + for times -----------------------


def _launch_max_plus(m: int, n: int, k: int) -> Launch:
    rng = np.random.default_rng(10)
    a, b = (rng.integers(-99, 0, shape, np.int32) for shape in ((m, k), (k, n)))
    if k == 1:  # as far down as sums may go
        a, b = a - 2**28, b - 2**28
    c = np.full((m, n), 2**30, np.int32)
    args = (c, a, b, *map(np.int32, (m, n, k)))
    promised = not (m % 64 or n % 64) and k == EVEN_K
    return Launch((-(-n // 64), -(-m // 64)), (16, 16), args, output=c, inputs=(a, b), promised=promised)


def _picture_max_plus() -> Figure:
    """A thread's 16 results and the 8 values that they need in one step."""
    axes = new_figure(9.0, 4.0).add_axes((0.02, 0.02, 0.96, 0.86))
    axes.set_axis_off()
    axes.set_aspect("equal")
    axes.set(xlim=(-62, 108), ylim=(-68, 14))
    boxes(axes, 0, -64, 64, 64, facecolors=FAINT, edgecolors=INK)
    at = 16 * np.arange(4)
    across, down = np.meshgrid(at + 5, -at - 4)
    boxes(axes, across.ravel(), down.ravel() - 2, 2, 2, facecolors=GREEN, edgecolors=BLACK)
    boxes(axes, -12, -at - 6, 2, 2, facecolors=SKY, edgecolors=BLACK)
    boxes(axes, at + 5, 8, 2, 2, facecolors=ORANGE, edgecolors=BLACK)
    left, above, inside = (-16, -32, "4 of a column of A"), (70, 9, "4 of a row of B"), (70, -32, "16 of C")
    for x, y, text in (left, above, inside):
        axes.text(x, y, text, ha="right" if x < 0 else "left", va="center", fontsize=10, color=BLACK)
    title = "One step of k: 8 values loaded, 16 results brought up to date"
    axes.set_title(title, color=BLACK, fontsize=12, fontweight="bold")
    return axes.figure


max_plus = Exercise(
    name="max_plus",
    task="c[i][j] = the largest a[i][l] + b[l][j] over all l, where A is m x k and B is k x n, of any size. "
    "Blocks of 16 x 16 threads make 64 x 64 elements, 4 x 4 a thread.",
    entry="max_plus",
    spec=lambda a, b: (a[:, :, None] + b[None]).max(axis=1),
    launch=_launch_max_plus,
    cases=[{"m": 64, "n": 128, "k": EVEN_K}, {"m": 70, "n": 33, "k": 20}, {"m": 3, "n": 5, "k": 1}],
    stub=r"""
extern "C" __global__
void max_plus(int* c, const int* a, const int* b, int m, int n, int k) {
    // your code here
}
""",
    solution=r"""
#define NOTHING (-(1 << 29))  // below every sum; added to itself it does not overflow

extern "C" __global__
void max_plus(int* c, const int* a, const int* b, int m, int n, int k) {
    __shared__ int a_tile[64][16], b_tile[16][64];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 64 + y, col = blockIdx.x * 64 + x;
    int best[16];
    for (int i = 0; i < 16; ++i) best[i] = 2 * NOTHING;
    for (int first = 0; first < k; first += 16) {
        for (int i = 0; i < 64; i += 16) {
            bool a_in = row + i < m && first + x < k, b_in = first + y < k && col + i < n;
            a_tile[y + i][x] = a_in ? a[(row + i) * k + first + x] : NOTHING;
            b_tile[y][x + i] = b_in ? b[(first + y) * n + col + i] : NOTHING;
        }
        __syncthreads();
        for (int l = 0; l < 16; ++l) {
            int left[4], right[4];
            for (int i = 0; i < 4; ++i) left[i] = a_tile[y + 16 * i][l];
            for (int j = 0; j < 4; ++j) right[j] = b_tile[l][x + 16 * j];
            for (int i = 0; i < 16; ++i) best[i] = max(best[i], left[i / 4] + right[i % 4]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 16; ++i)
        if (row + i / 4 * 16 < m && col + i % 4 * 16 < n)
            c[(row + i / 4 * 16) * n + col + i % 4 * 16] = best[i];
}
""",
    promises=[
        at_most(
            "shared loads of a warp in a step of k",
            lambda p: p[SHARED_LOADS] / warps(p) / EVEN_K,
            8,  # 4 of A, 4 of B; fewer where ptxas joins them
            "In each step copy 4 values of A and 4 of B to registers, and use each of them 4 times.",
        ),
        at_most(
            "times a byte of A or B is read, on average",
            times_read,
            1.34,  # A: 128 / 64 = 2 times, B: once, weighted by their sizes
            "The 64 x 64 results of a block share 64 rows of A and 64 columns of B: stage them.",
        ),
    ],
    hints=[
        "Start from `register_tile` with TM = TN = 4. Addition becomes max, multiplication becomes addition.",
        "What lies outside A and B must never win. 0 is not small enough; the least int may overflow.",
        "Thread (x, y) makes rows y + 16 i and columns x + 16 j. Each of the 16 needs its own guard.",
    ],
    picture=_picture_max_plus,
)


# -- panels: a transposed tile, 16 bytes at a time -------------------------------------


def _launch_panels(rows: int, depth: int) -> Launch:
    a = np.random.default_rng(11).random((rows, depth), np.float32)
    panels = -(-rows // 128)
    out = np.full((panels, depth, 128), np.nan, np.float32)
    args = (out, a, np.int32(rows), np.int32(depth))
    return Launch((depth // 8, panels), (256,), args, output=out, inputs=(a,), promised=rows % 128 == 0)


def _spec_panels(a: np.ndarray) -> np.ndarray:
    rows, depth = a.shape
    padded = np.zeros((-(-rows // 128) * 128, depth), a.dtype)
    padded[:rows] = a
    return padded.reshape(-1, 128, depth).transpose(0, 2, 1)


def _picture_panels() -> Figure:
    t = np.arange(32)
    title = "A store of a warp into tile[8][128], counted"
    return warp_to_banks(4 * (t % 2 * 4 * 128 + t // 2), store=True, title=title)


panels = Exercise(
    name="panels",
    task="out[p][k][r] = a[128 p + r][k], and 0 where a has no such row: panels of 128 rows, transposed. "
    "a is rows x depth, 8 divides depth. Block (s, p) of 256 threads makes out[p][8 s] to out[p][8 s + 7].",
    entry="panels",
    spec=_spec_panels,
    launch=_launch_panels,
    cases=[{"rows": 256, "depth": 16}, {"rows": 200, "depth": 8}, {"rows": 5, "depth": 24}],
    stub=r"""
extern "C" __global__ void panels(float* out, const float* a, int rows, int depth) {
    // your code here
}
""",
    solution=r"""
extern "C" __global__ void panels(float* out, const float* a, int rows, int depth) {
    __shared__ __align__(16) float tile[8][132];
    int t = threadIdx.x, k = t % 2 * 4, row = blockIdx.y * 128 + t / 2;
    float4 four = {};
    if (row < rows) four = *(float4*)&a[row * depth + blockIdx.x * 8 + k];
    tile[k][t / 2] = four.x;
    tile[k + 1][t / 2] = four.y;
    tile[k + 2][t / 2] = four.z;
    tile[k + 3][t / 2] = four.w;
    __syncthreads();
    out += (blockIdx.y * depth + blockIdx.x * 8) * 128;
    *(float4*)&out[4 * t] = *(float4*)&tile[t / 32][t % 32 * 4];
}
""",
    promises=[
        exactly(
            "global loads and stores of a warp",
            lambda p: (p[READS] + p[ST_REQUESTS]) / warps(p),
            2,
            "One float4 in, one float4 out for each thread: 256 threads x 4 floats are the whole slice.",
        ),
        exactly(
            "wavefronts in excess",
            shared_excess,
            0,
            "Two lanes that hold the same row go to columns k and k + 4 of the tile: which banks are those?",
        ),
    ],
    hints=[
        "Thread t reads row t / 2 of the panel, from column 4 * (t % 2) of the slice on: 32 bytes a row.",
        "Its four floats go to tile[k][t / 2] to tile[k + 3][t / 2]. Row k + 4 must begin 16 banks further.",
        "4 * pitch mod 32 = 16, and 4 divides the pitch: 132. Then a warp reads a row of the tile as float4.",
    ],
    picture=_picture_panels,
)
