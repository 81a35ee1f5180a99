"""Chapter 05, fusion: what is recorded of it, fused kernels beside the library's ways to do the same.

Arrays hold 2^26 floats (256 MiB), far more than L2. Every table ends with the device's own copy, by which the
others are judged.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..gpus import DEFAULT, gpu
from ..kernels import Kernel
from ..points import LINEAR, Call, Point, Sweep, floats
from . import fusion_calls as calls
from . import fusion_kernels as k
from . import fusion_persistent as persistent
from . import fusion_row_calls as row_calls
from . import fusion_rows as r

COLUMNS = 8192  # of the matrices whose rows are normalised or added up
DEPTH, WIDTH = 64, 256  # of the matrix product: n x 64 by 64 x 256
THREADS = 256
SMS = gpu(DEFAULT).sms
LONGER = (1, 0, 1)  # how counts, blocks and bytes grow where a larger size means longer rows


# -- kernels -----------------------------------------------------------------------


def _each(variant: str, kernel: Kernel, n: int, inputs: int = 1, outputs: int = 1) -> Point:
    """A fast point-wise kernel on n floats: its outputs, its inputs, n."""

    def arguments(cp: Any) -> tuple:
        made = [cp.zeros(n, cp.float32) for _ in range(outputs)]
        return (*made, *(floats(cp, n) for _ in range(inputs)), np.int32(n))

    grid = (-(-n // (4 * THREADS)),)
    return Point({"variant": variant}, kernel, grid, (THREADS,), arguments, 4 * n * (inputs + outputs))


def _clear(kernel: Kernel, n: int) -> Point:
    """The notebook's point-wise kernel on n floats."""

    def arguments(cp: Any) -> tuple:
        x = floats(cp, n)
        return (cp.zeros(n, cp.float32), x, x, x, np.int32(n), np.int32(1))

    return Point({"variant": "fused"}, kernel, (-(-n // THREADS),), (THREADS,), arguments, 8 * n)


def _rows(variant: str, kernel: Kernel, rows: int, threads: int, vectors: int = 0, blocks: int = 0) -> Point:
    """A kernel that turns every row of a matrix into one like it; `vectors` as long as a row follow x.

    `blocks`: at most so many, for a kernel that is told the number of rows and takes several.
    """

    def arguments(cp: Any) -> tuple:
        out = cp.zeros((rows, COLUMNS), cp.float32)
        x = floats(cp, rows * COLUMNS).reshape(rows, COLUMNS)
        counts = (COLUMNS, rows) if blocks else (COLUMNS,)
        return (out, x, *(floats(cp, COLUMNS) for _ in range(vectors)), *map(np.int32, counts))

    grid = (min(blocks, rows) if blocks else rows,)
    return Point({"variant": variant}, kernel, grid, (threads,), arguments, 8 * rows * COLUMNS)


def _fast_rows(kernel: Kernel, following: Kernel, rows: int, vectors: int = 0) -> list[Point]:
    """The same on three block sizes, asking for the next row meanwhile, and without streaming accesses."""
    sizes = (256, 512, 1024)
    made = [_rows(f"fused float4 {t} threads", kernel.define(THREADS=t), rows, t, vectors) for t in sizes]
    for threads, blocks in ((512, 2 * SMS), (1024, SMS)):
        label = f"fused float4 {threads} threads next row meanwhile"
        made.append(_rows(label, following.define(THREADS=threads), rows, threads, vectors, blocks))
    plain = kernel.define(THREADS=512, PLAIN=1)
    return [*made, _rows("fused float4 512 threads plain accesses", plain, rows, 512, vectors)]


def _sums(
    columns: dict, kernel: Kernel, grid: tuple[int, ...], threads: int, shape: tuple, *more: int
) -> Point:
    """A kernel that adds up every row of a matrix: one float per block, x, the row length, `more`."""

    def arguments(cp: Any) -> tuple:
        x = floats(cp, shape[0] * shape[1]).reshape(shape)
        out = cp.zeros(max(int(np.prod(grid)), shape[0]), cp.float32)
        return (out, x, np.int32(shape[1]), *map(np.int32, more))

    return Point(columns, kernel, grid, (threads,), arguments, 4 * shape[0] * shape[1])


def sin_cos(n: int) -> list[Point]:
    """sin(x)^2 + cos(x)^2 in one kernel."""
    return [_clear(k.SIN_COS, n), _each("fused float4", k.SIN_COS4, n)]


def gelu(n: int) -> list[Point]:
    """GeLU in its tanh form in one kernel."""
    return [_clear(k.GELU, n), _each("fused float4", k.GELU4, n)]


def steps(n: int) -> list[Point]:
    """1 to 256 steps x -> 0.5 x + 1 in one kernel."""
    made = []
    for count in (1, 2, 4, 8, 16, 32, 64, 128, 256):
        point = _each("fused float4", k.STEPS4.define(STEPS=count), n)
        columns = {"variant": "fused float4", "steps": count}
        made.append(
            Point(columns, point.kernel, point.grid, point.block, point.arguments, point.useful_bytes)
        )
    return made


def sigmoids(n: int) -> list[Point]:
    """Three stacked sigmoids, forward and backward: activations stored, or recomputed."""
    return [
        _each("stored forward", k.FORWARD_STORED4, n, outputs=3),
        _each("stored backward", k.BACKWARD_STORED4, n, inputs=3),
        _each("recomputed forward", k.FORWARD4, n),
        _each("recomputed backward", k.BACKWARD_RECOMPUTED4, n, inputs=2),
    ]


def bits(n: int) -> list[Point]:
    """ReLU of n numbers in 4 bytes each, and in 2."""

    def halves(cp: Any) -> tuple:
        return (cp.zeros(n, cp.float16), floats(cp, n).astype(cp.float16), np.int32(n))

    grid = (-(-n // (8 * THREADS)),)
    half = Point({"variant": "fp16"}, k.RELU_HALF, grid, (THREADS,), halves, 4 * n)
    return [_each("fp32", k.RELU4, n), half]


def softmax(rows: int) -> list[Point]:
    """Softmax of every row in one kernel."""
    clear = r.SOFTMAX.define(EACH=COLUMNS // 256)
    return [_rows("fused", clear, rows, 256), *_fast_rows(r.SOFTMAX4, persistent.SOFTMAX_NEXT4, rows)]


def layer_norm(rows: int) -> list[Point]:
    """LayerNorm of every row in one kernel."""
    clear = r.LAYER_NORM.define(EACH=COLUMNS // 256)
    fast = _fast_rows(r.LAYER_NORM4, persistent.LAYER_NORM_NEXT4, rows, 2)
    return [_rows("fused", clear, rows, 256, 2), *fast]


def row_sum(rows: int) -> list[Point]:
    """The sum of every row."""
    shape = (rows, COLUMNS)
    made = [_sums({"variant": "fused"}, r.ROW_SUM, (1, rows), 256, shape)]
    for threads in (256, 512, 1024):
        kernel, label = r.ROW_SUM4.define(THREADS=threads), {"variant": f"fused float4 {threads} threads"}
        made.append(_sums(label, kernel, (rows,), threads, shape))
    kernel, label = r.ROW_SUM_WARP4.define(THREADS=256), {"variant": "fused float4 a warp per row"}
    return [*made, _sums(label, kernel, (-(-rows // 8),), 256, shape, rows)]


def row_length(n: int) -> list[Point]:
    """The sums of 1 to 512 rows that hold n floats together: a block per row, or at least 1,056 blocks."""
    kernel = r.ROW_SUM_PARTS4.define(THREADS=256)
    return [
        _sums({"variant": variant, "rows": rows}, kernel, (parts, rows), 256, (rows, n // rows))
        for rows in (1, 8, 64, 512)
        for variant, parts in (("a block per row", 1), ("parts", max(1, 1056 // rows)))
    ]


def matmul(rows: int) -> list[Point]:
    """ReLU(A B), A of rows x 64 and B of 64 x 256: the ReLU in the product's kernel, or not yet done."""

    def arguments(cp: Any) -> tuple:
        a, b = floats(cp, rows * DEPTH).reshape(rows, DEPTH), floats(cp, DEPTH * WIDTH).reshape(DEPTH, WIDTH)
        return (cp.zeros((rows, WIDTH), cp.float32), a - np.float32(0.5), b, np.int32(WIDTH), np.int32(DEPTH))

    useful = 4 * (rows * DEPTH + DEPTH * WIDTH + rows * WIDTH)
    clear, fast = ((WIDTH // 16, rows // 16), (16, 16)), ((WIDTH // 128, rows // 128), (256,))
    return [
        Point(
            {"variant": variant},
            kernel.define(RELU=relu),
            *shape,
            arguments,
            useful,
            2 * rows * DEPTH * WIDTH,
        )
        for variant, relu, kernel, shape in (
            ("product", 0, k.MATMUL, clear),
            ("product with ReLU", 1, k.MATMUL, clear),
            ("8 x 8 per thread", 0, k.MATMUL_FAST, fast),
            ("8 x 8 per thread with ReLU", 1, k.MATMUL_FAST, fast),
        )
    ]


def _of_rows(made: Callable[[tuple[int, int]], list[Call]]) -> Callable[[int], list[Call]]:
    """The calls on a matrix, as a function of its number of rows."""
    return lambda rows: made((rows, COLUMNS))


def _length_calls(n: int) -> list[Call]:
    return row_calls.row_length(n, r.ROW_SUM_PARTS4)


def _matmul_calls(rows: int) -> list[Call]:
    return row_calls.matmul(rows, DEPTH, WIDTH)


SWEEPS: Sequence[Sweep] = (
    Sweep("fusion_sin_cos", "floats", 1 << 26, sin_cos, 1 << 14, LINEAR, calls.sin_cos),
    Sweep("fusion_gelu", "floats", 1 << 26, gelu, 1 << 14, LINEAR, calls.gelu),
    Sweep("fusion_steps", "floats", 1 << 26, steps, 1 << 14, LINEAR, calls.steps),
    Sweep("fusion_sigmoids", "floats", 1 << 26, sigmoids, 1 << 14, LINEAR, calls.sigmoids),
    Sweep("fusion_bits", "numbers", 1 << 26, bits, 1 << 14, LINEAR, calls.bits),
    Sweep("fusion_softmax", "rows of 8192 floats", 8192, softmax, 16, LINEAR, _of_rows(row_calls.softmax)),
    Sweep(
        "fusion_layer_norm",
        "rows of 8192 floats",
        8192,
        layer_norm,
        32,
        LINEAR,
        _of_rows(row_calls.layer_norm),
    ),
    Sweep("fusion_row_sum", "rows of 8192 floats", 8192, row_sum, 16, LINEAR, _of_rows(row_calls.row_sum)),
    Sweep("fusion_row_length", "floats", 1 << 26, row_length, 1 << 21, LONGER, _length_calls),
    Sweep("fusion_matmul", "rows of A", 1 << 18, matmul, 128, LINEAR, _matmul_calls),
)
