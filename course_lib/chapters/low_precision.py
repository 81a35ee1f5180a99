"""Chapter 12, low precision: its three exercises and how each is judged."""

import numpy as np
from matplotlib.figure import Figure

from ..exercises import Exercise, Launch
from ..metric_names import BLOCKS, READS, TENSOR, WAVEFRONTS
from ..pictures.style import BLACK, BLUE, FAINT, INK, ORANGE, PAPER, boxes, new_figure
from ..promises import at_most, coalesced, exactly, ratio
from .low_precision_formats import quantised

RTOL = 1e-5  # products or sums in fp16 are off by more, those in float32 by far less


# -- half_dots: multiply in fp16, add in float32 -----------------------------------------------


def _launch_half_dots(rows: int, pairs: int) -> Launch:
    rng = np.random.default_rng(21)
    a, b = (rng.random((rows, 2 * pairs)) for _ in "ab")
    a[:, :64] *= 4000  # large ones come first: a sum in fp16 does not notice the others
    a, b = a.astype(np.float16), b.astype(np.float16)
    y = np.full(rows, np.nan, np.float32)
    args = (y, a, b, np.int32(rows), np.int32(pairs))
    return Launch((-(-rows // 4),), (32, 4), args, output=y, inputs=(a, b))


def _picture_half_dots() -> Figure:
    """32 lanes and the pairs of a row that each of them loads."""
    figure = new_figure(9.0, 1.9)
    axes = figure.add_axes((0.02, 0.05, 0.96, 0.75))
    axes.set_axis_off()
    axes.set_xlim(0, 33)
    axes.set_ylim(-1.2, 1.2)
    lanes = np.arange(32)
    boxes(axes, lanes, 0, 1, 0.8, facecolors=[BLUE if i % 2 == 0 else ORANGE for i in lanes], edgecolors=INK)
    for lane in lanes:
        colour = PAPER if lane % 2 == 0 else BLACK
        axes.text(lane + 0.5, 0.4, str(lane), ha="center", va="center", color=colour, fontsize=8)
    axes.text(32.2, 0.4, "0 ...", va="center", color=INK, fontsize=9)
    text = (
        "each box: a pair of halves, 4 bytes; in it the lane that loads it. 32 pairs are 128 bytes, 4 sectors"
    )
    axes.text(0, -0.5, text, color=INK, fontsize=9)
    axes.set_title("A warp walks along a row, pair by pair", color=BLACK, fontsize=12, fontweight="bold")
    return figure


HALF_DOTS = r"""
#include <cuda_fp16.h>

extern "C" __global__
void half_dots(float* y, const half2* a, const half2* b, int rows, int pairs) {
"""
half_dots = Exercise(
    name="half_dots",
    task="y[r] = sum over k of a[r][k] * b[r][k]: rows of fp16 values in pairs, the sum in float32. "
    "Blocks of 32 x 4 threads: a warp for each row.",
    entry="half_dots",
    spec=lambda a, b: (a.astype(float) * b.astype(float)).sum(axis=1),
    launch=_launch_half_dots,
    cases=[{"rows": 8, "pairs": 1024}, {"rows": 5, "pairs": 1000}, {"rows": 3, "pairs": 17}],
    stub=HALF_DOTS + "    // your code here\n}\n",
    solution=HALF_DOTS
    + r"""    int row = blockIdx.x * 4 + threadIdx.y;
    if (row >= rows) return;
    float sum = 0;
    for (int k = threadIdx.x; k < pairs; k += 32) {
        float2 u = __half22float2(a[row * pairs + k]), v = __half22float2(b[row * pairs + k]);
        sum += u.x * v.x + u.y * v.y;
    }
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
    if (threadIdx.x == 0) y[row] = sum;
}
""",
    rtol=RTOL,
    promises=[
        coalesced("Let neighbouring lanes load neighbouring pairs."),
        at_most(
            "load requests per block",
            ratio(READS, BLOCKS),
            4 * 2 * 32,
            "A pair is loaded in one access of 4 bytes: `half2 u = a[i]`.",
        ),
    ],
    hints=[
        "Lane x takes the pairs x, x + 32, x + 64, ...; five shuffles add up the 32 sums.",
        "__half22float2(h) makes a float2 of a half2, exactly. Multiply and add those.",
        "`if (row >= rows) return;` sends whole warps home, so the shuffles of the others are complete.",
    ],
    picture=_picture_half_dots,
)


# -- mx_groups: a scale for each 32 values --------------------------------------------------------


def _launch_mx_groups(groups: int) -> Launch:
    rng = np.random.default_rng(22)
    size = 2.0 ** rng.integers(-30, 30, groups)
    x = (rng.standard_normal((groups, 32)) * size[:, None]).astype(np.float32)
    x[0] = 0
    x[1, 5] = np.copysign(np.abs(x[1]).max() * 1.97, x[1, 5])  # between 448 and 512 once it is scaled
    x[2, 7] = -0.0
    x[3:4] = 1e-37 * rng.uniform(0.2, 1, 32)  # the byte would be negative; none is subnormal: they become 0
    x[4:5, 9] = np.nextafter(np.float32(2.0**30), np.float32(0))  # its logarithm, rounded, is 30
    out = np.full(33 * groups, 0xAA, np.uint8)
    args = (out, x.ravel(), np.int32(groups))
    return Launch((-(-groups // 4),), (128,), args, output=out, inputs=(x,))


def _mx_bytes(x: np.ndarray) -> np.ndarray:
    codes, scales = quantised(x, "mxfp8")
    return np.concatenate([codes.view(np.uint8).ravel(), scales.ravel()])


def _picture_mx_groups() -> Figure:
    """The bytes of the output: codes of all groups, then their scales."""
    figure = new_figure(9.0, 1.9)
    axes = figure.add_axes((0.02, 0.05, 0.96, 0.75))
    axes.set_axis_off()
    axes.set_xlim(0, 34)
    axes.set_ylim(-1.2, 1.2)
    starts, names = (0, 9, 18), ("codes of group 0", "codes of group 1", "...")
    for start, name in zip(starts, names, strict=True):
        boxes(axes, np.array([start]), 0, 8.8, 0.8, facecolors=FAINT, edgecolors=INK)
        axes.text(start + 4.4, 0.4, name, ha="center", va="center", color=BLACK, fontsize=9)
    boxes(axes, np.arange(28, 33), 0, 1, 0.8, facecolors=ORANGE, edgecolors=INK)
    for i, text in enumerate(("0", "1", "2", "...", "")):
        axes.text(28.5 + i, 0.4, text, ha="center", va="center", color=BLACK, fontsize=9)
    axes.text(0, -0.5, "32 bytes each: value / scale, as e4m3", color=INK, fontsize=9)
    axes.text(28, -0.5, "a byte a group: scales", color=INK, fontsize=9)
    axes.set_title("What `out` holds", color=BLACK, fontsize=12, fontweight="bold")
    return figure


MX_GROUPS = r"""
#include <cuda_fp8.h>

extern "C" __global__ void mx_groups(unsigned char* out, const float* x, int groups) {
"""
mx_groups = Exercise(
    name="mx_groups",
    task="MXFP8: out[32 g + i] is the e4m3 code of x[32 g + i] / s, and out[32 groups + g] the byte of the "
    "scale s = 2^(byte - 127), where byte = 127 + floor(log2(largest |x| of group g)) - 8, or 0 if that is "
    "negative or the group is all 0. Blocks of 128 threads: a warp for each group, a lane for each value.",
    entry="mx_groups",
    spec=_mx_bytes,
    launch=_launch_mx_groups,
    cases=[{"groups": 64}, {"groups": 37}, {"groups": 3}],
    stub=MX_GROUPS + "    // your code here\n}\n",
    solution=MX_GROUPS
    + r"""    int i = blockIdx.x * 128 + threadIdx.x, group = i / 32;
    if (group >= groups) return;
    float v = x[i], most = fabsf(v);
    for (int step = 16; step > 0; step /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, step));
    int scale = max((int)(__float_as_uint(most) >> 23) - 8, 0);
    float inverse = __uint_as_float((254 - scale) << 23);
    out[i] = __nv_cvt_float_to_fp8(v * inverse, __NV_SATFINITE, __NV_E4M3);
    if (i % 32 == 0) out[32 * groups + group] = scale;
}
""",
    promises=[
        at_most(
            "load requests per block",
            ratio(READS, BLOCKS),
            4,
            "Each lane loads its own value once; the largest of 32 comes by shuffles.",
        ),
        exactly("shared wavefronts", WAVEFRONTS, 0, "A group is a warp: use shuffles."),
    ],
    hints=[
        "The largest |x| of 32 lanes: five rounds of fmaxf with __shfl_xor_sync.",
        "Bits 23 to 30 of a float are floor(log2) + 127: __float_as_uint(most) >> 23.",
        "1 / s is the float with exponent field 254 - byte: __uint_as_float((254 - byte) << 23).",
        "__nv_cvt_float_to_fp8(v, __NV_SATFINITE, __NV_E4M3) clamps to 448; __NV_NOSAT would give NaN.",
    ],
    picture=_picture_mx_groups,
)


# -- tensor_tiles: a product by wmma ----------------------------------------------------------------


def _launch_tensor_tiles(m: int, n: int, k: int) -> Launch:
    rng = np.random.default_rng(23)
    a, b = (rng.random(shape).astype(np.float16) for shape in ((m, k), (k, n)))
    c = np.full((m, n), np.nan, np.float32)
    args = (c, a, b, np.int32(m), np.int32(n), np.int32(k))
    promised = (m, n, k) == (32, 128, 256)
    return Launch((-(-n // 64), m // 16), (32, 4), args, output=c, inputs=(a, b), promised=promised)


def _picture_tensor_tiles() -> Figure:
    """C in tiles of 16 x 16; a block of four warps takes four of a row."""
    figure = new_figure(9.0, 2.6)
    axes = figure.add_axes((0.02, 0.04, 0.96, 0.82))
    axes.set_axis_off()
    axes.set_xlim(-1, 17)
    axes.set_ylim(-3.1, 1.1)
    for row in range(3):
        for column in range(6):
            colour = BLUE if (row, column // 4) == (1, 0) else FAINT
            boxes(axes, np.array([1.5 * column]), -row, 1.45, 0.95, facecolors=colour, edgecolors=INK)
    for warp in range(4):
        axes.text(1.5 * warp + 0.72, -0.52, f"warp {warp}", ha="center", va="center", color=PAPER, fontsize=8)
    words = (
        "blue: block (0, 1)\ntiles of 16 x 16 of C\nwarp y of block (x, z):\ncolumns 64 x + 16 y, rows 16 z"
    )
    axes.text(9.6, -0.6, words, color=INK, fontsize=9, va="center")
    axes.set_title("A warp makes one tile of C", color=BLACK, fontsize=12, fontweight="bold")
    return figure


TENSOR_TILES = r"""
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda::wmma;

extern "C" __global__
void tensor_tiles(float* c, const half* a, const half* b, int m, int n, int k) {
"""
tensor_tiles = Exercise(
    name="tensor_tiles",
    task="C = A B by tensor cores: A is m x k, B is k x n, both in rows of fp16; C is float32; m, n, k are "
    "multiples of 16. Blocks of 32 x 4 threads: warp y of block (x, z) makes columns 64 x + 16 y and rows "
    "16 z onwards; some warps have none.",
    entry="tensor_tiles",
    spec=lambda a, b: a.astype(float) @ b.astype(float),
    launch=_launch_tensor_tiles,
    cases=[{"m": 32, "n": 128, "k": 256}, {"m": 16, "n": 48, "k": 512}, {"m": 48, "n": 16, "k": 16}],
    stub=TENSOR_TILES + "    // your code here\n}\n",
    solution=TENSOR_TILES
    + r"""    int row = blockIdx.y * 16, column = blockIdx.x * 64 + threadIdx.y * 16;
    if (column >= n) return;
    fragment<matrix_a, 16, 16, 16, half, row_major> x;
    fragment<matrix_b, 16, 16, 16, half, row_major> y;
    fragment<accumulator, 16, 16, 16, float> sum;
    fill_fragment(sum, 0.0f);
    for (int first = 0; first < k; first += 16) {
        load_matrix_sync(x, &a[row * k + first], k);
        load_matrix_sync(y, &b[first * n + column], n);
        mma_sync(sum, x, y, sum);
    }
    store_matrix_sync(&c[row * n + column], sum, n, mem_row_major);
}
""",
    rtol=RTOL,
    promises=[
        exactly(
            "operations of tensor cores",
            TENSOR,
            2 * 32 * 128 * 256,
            "Each tile of C needs one mma_sync for every 16 of k, by one warp.",
        ),
        exactly("products by threads", "course__products.sum", 0, "Leave the multiplication to mma_sync."),
    ],
    hints=[
        "Three fragments: matrix_a and matrix_b of half, both row_major here, and an accumulator of float.",
        "fill_fragment(sum, 0.0f) first; then for each 16 of k: load_matrix_sync twice, mma_sync once.",
        "load_matrix_sync(y, &b[first * n + column], n): the last argument is the distance between rows.",
    ],
    picture=_picture_tensor_tiles,
)
tensor_tiles.wrong = (
    "Which element of A and of B does each fragment load? A and B lie in rows: what does its layout say, "
    "what is the distance between rows, and which warp has this tile?"
)
