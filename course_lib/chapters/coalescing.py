"""Chapter 01, coalescing: the rows of its tables, its three exercises and how each is judged."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from .. import backend
from ..exercises import Exercise, Launch, unwritten_array
from ..gpus import device
from ..metric_names import (
    BLOCK_THREADS,
    BLOCKS,
    DISTINCT_LD,
    DISTINCT_ST,
    FEWEST_SECTORS,
    LD_REQUESTS,
    LD_SECTORS,
    READ_SECTORS,
    READS,
    SECTORS,
    ST_SECTORS,
)
from ..model import ModelledTime, modelled_time, scaled
from ..pictures import warp_to_sectors
from ..promises import at_most, ratio
from ..roofline import RooflinePoint, roofline_point
from ..timing import Timing, benchmark

LANES = np.arange(32)

sectors_per_request = ratio(LD_SECTORS, LD_REQUESTS)

# the rows of this chapter's tables: label -> metric, or function of a profile
LOADS = {
    "global load requests": LD_REQUESTS,
    "sectors loaded": LD_SECTORS,
    "sectors per request": sectors_per_request,
    "bytes of distinct sectors loaded": DISTINCT_LD,
}


def size_points(
    kernels: Sequence[Any], counts: Mapping[str, Any], sizes: Sequence[int]
) -> list[RooflinePoint]:
    """A point of the roofline per kernel `(out, in, n)` and size; prints the times, too.

    `counts`: each kernel's profile in blocks of 256 threads, one thread an element; a larger launch of it
    counts in proportion. Timed on this machine's GPU, else modelled. Points that lie close share a label.
    """
    points = []
    for size in sizes:
        found = []
        for kernel in kernels:
            small = counts[kernel.name]
            elements = small[BLOCKS] * small[BLOCK_THREADS]
            large = scaled(small, size / elements)
            time = _timed(kernel, size) if backend.on_gpu() else modelled_time(large, device())
            limit = f", {time.gpu}, limited by {time.limiter}" if isinstance(time, ModelledTime) else ""
            print(f"{kernel.name}, {size:,} floats: {time.ms:.4g} ms ({time.source}{limit})")
            found.append(roofline_point(f"{kernel.name}, {size:,}", large, time, device()))
        heights = [point.tflops for point in found]
        if max(heights) < 1.3 * min(heights):
            names = " and ".join(kernel.name for kernel in kernels)
            found = [replace(point, label=f"{names}, {size:,}") for point in found]
        points += found
    return points


def _timed(kernel: Any, size: int) -> Timing:
    x = backend.cp.zeros(size, backend.cp.float32)
    return benchmark(kernel, (size // 256,), (256,), (backend.cp.zeros_like(x), x, backend.cp.int32(size)))


def _random(*shape: int) -> np.ndarray:
    return np.random.default_rng(7).random(shape, np.float32)


# -- four elements per thread ------------------------------------------------------


def _launch_saxpy(n: int) -> Launch:
    a, x, y = np.float32(3), _random(2, n)[0].copy(), _random(2, n)[1].copy()
    return Launch((-(-n // 512),), (128,), (y, x, a, np.int32(n)), output=y, inputs=(a, x, y.copy()))


def _picture_saxpy() -> Figure:
    return warp_to_sectors(4 * LANES, title="Wanted of one load of x, counted")


saxpy_four = Exercise(
    name="saxpy_four",
    task="y = a * x + y. Blocks of 128 threads; block b owns elements 512 b to 512 b + 511, four per thread.",
    entry="saxpy_four",
    spec=lambda a, x, y: a * x + y,
    launch=_launch_saxpy,
    cases=[{"n": 2048}, {"n": 5000}, {"n": 100}],
    stub=r"""
extern "C" __global__ void saxpy_four(float *y, const float *x, float a, int n) {
    // your code here
}
""",
    solution=r"""
extern "C" __global__ void saxpy_four(float *y, const float *x, float a, int n) {
    int first = blockIdx.x * 512 + threadIdx.x;
    for (int k = 0; k < 4; ++k) {
        int i = first + 128 * k;
        if (i < n) y[i] = a * x[i] + y[i];
    }
}
""",
    promises=[
        at_most(
            "sectors, loads and stores",
            SECTORS,
            FEWEST_SECTORS,
            "Look at one load of one warp. Lanes 0 and 1 should ask for neighbouring elements.",
        ),
        at_most(
            "load requests",
            READS,
            lambda p: 32 * p[BLOCKS],
            "512 elements are 16 warps' worth, of x and of y: 32 load requests a block. Use every lane.",
        ),
    ],
    hints=[
        "On a CPU a thread takes four neighbouring elements. Here the 32 lanes of a warp should.",
        "In round k, thread t takes element 512 * blockIdx.x + 128 * k + t.",
        "The last block is not full: test i < n in every round.",
    ],
    picture=_picture_saxpy,
)


# -- a matrix stored by columns ----------------------------------------------------


def _launch_columns(rows: int, columns: int) -> Launch:
    matrix, factor = _random(columns, rows), _random(columns)
    out = unwritten_array(columns, rows)
    grid = (-(-rows // 32), -(-columns // 8))
    args = (out, matrix, factor, np.int32(rows), np.int32(columns))
    return Launch(grid, (256,), args, output=out, inputs=(matrix, factor), promised=rows % 8 == 0)


def _picture_columns() -> Figure:
    """Row-major habit on a matrix of 64 rows stored by columns: a warp over 8 columns and 4 rows."""
    row, column = LANES // 8, LANES % 8
    return warp_to_sectors(4 * (column * 64 + row), title="By habit, 64 rows, counted")


scale_columns = Exercise(
    name="scale_columns",
    task="Multiply column c by factor[c]. Element (row, column) lies at column * rows + row. "
    "A block owns 32 rows by 8 columns.",
    entry="scale_columns",
    spec=lambda matrix, factor: matrix * factor[:, None],
    launch=_launch_columns,
    cases=[{"rows": 64, "columns": 24}, {"rows": 40, "columns": 17}, {"rows": 37, "columns": 11}],
    stub=r"""
extern "C" __global__ void scale_columns(
        float *out, const float *m, const float *factor, int rows, int columns) {
    // your code here
}
""",
    solution=r"""
extern "C" __global__ void scale_columns(
        float *out, const float *m, const float *factor, int rows, int columns) {
    int row = blockIdx.x * 32 + threadIdx.x % 32;
    int column = blockIdx.y * 8 + threadIdx.x / 32;
    if (row >= rows || column >= columns) return;
    int at = column * rows + row;
    out[at] = m[at] * factor[column];
}
""",
    promises=[
        at_most(
            "sectors, loads and stores",
            SECTORS,
            FEWEST_SECTORS,
            "Neighbours in memory differ by one row. So neighbouring threads must differ by one row.",
        )
    ],
    hints=[
        "Which index, row or column, moves the address by one element?",
        "That index must follow threadIdx.x % 32; the other one follows threadIdx.x / 32.",
        "Both edges can be ragged: compare row with rows and column with columns.",
    ],
    picture=_picture_columns,
)


# -- array of structures to structure of arrays ------------------------------------


def _launch_bodies(n: int) -> Launch:
    bodies, planes = _random(n, 4), unwritten_array(4, n)
    args = (planes, bodies, np.int32(n))
    return Launch((-(-n // 128),), (128,), args, output=planes, inputs=(bodies,), promised=n % 8 == 0)


def _picture_bodies() -> Figure:
    return warp_to_sectors(16 * LANES, width=16, title="16 bytes by each lane, counted")


split_bodies = Exercise(
    name="split_bodies",
    task="Turn n bodies (x, y, z, mass) into four planes of n floats. One thread per body.",
    entry="split_bodies",
    spec=lambda bodies: bodies.T,
    launch=_launch_bodies,
    cases=[{"n": 1024}, {"n": 1000}, {"n": 77}],
    stub=r"""
extern "C" __global__ void split_bodies(float *planes, const float *bodies, int n) {
    // your code here
}
""",
    solution=r"""
extern "C" __global__ void split_bodies(float *planes, const float *bodies, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 body = reinterpret_cast<const float4 *>(bodies)[i];
    planes[i] = body.x;
    planes[n + i] = body.y;
    planes[2 * n + i] = body.z;
    planes[3 * n + i] = body.w;
}
""",
    promises=[
        at_most(
            "load requests",
            READS,
            lambda p: p[BLOCKS] * p[BLOCK_THREADS] / 32,
            "A body is 16 bytes, and one load can bring 16 bytes to each lane.",
        ),
        at_most(
            "sectors loaded",
            READ_SECTORS,
            lambda p: p[DISTINCT_LD] / 32,
            "Every sector should be asked for once.",
        ),
        at_most(
            "sectors stored",
            ST_SECTORS,
            lambda p: p[DISTINCT_ST] / 32,
            "In each store, the 32 lanes of a warp should write neighbours of one plane.",
        ),
    ],
    hints=[
        "Four loads of one float each would touch the same 16 sectors four times.",
        "reinterpret_cast<const float4 *>(bodies)[i] is body i, in one load.",
        "Plane k starts at planes + k * n. Guard i < n before the load.",
    ],
    picture=_picture_bodies,
)
