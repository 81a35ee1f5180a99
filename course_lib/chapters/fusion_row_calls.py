"""Chapter 05, fusion: how CuPy and PyTorch treat rows and products, timed beside the chapter's kernels."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..kernels import Kernel
from ..points import Call, floats
from .fusion_calls import (
    FUSE,
    SEPARATE,
    TORCH,
    Make,
    call,
    copy_call,
    fused,
    join,
    matrix,
    on_array,
    single,
    torch_call,
)


def softmax(shape: tuple[int, int]) -> list[Call]:
    """Five CuPy steps; maximum, exponential, sum and division with `cupy.fuse`; PyTorch's one kernel."""

    def separate(cp: Any, x: Any) -> Any:
        e = cp.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    def make_fused(cp: Any) -> Callable[[], object]:
        (x,) = matrix(shape)(cp)
        shifted = join(cp, lambda v, top: cp.exp(v - top))

        def run() -> Any:
            e = shifted(x, x.max(axis=1, keepdims=True))
            return e / e.sum(axis=1, keepdims=True)

        return run

    library = torch_call(matrix(shape), lambda torch, x: torch.softmax(x, 1))
    makes = {SEPARATE: on_array(shape, separate), FUSE: make_fused, TORCH: library}
    size = shape[0] * shape[1]
    return [copy_call(size), *(call(name, make, 8 * size) for name, make in makes.items())]


def layer_norm(shape: tuple[int, int]) -> list[Call]:
    """Mean, variance, normalise, affine by CuPy; the point-wise steps joined; PyTorch's one kernel."""
    columns = shape[1]

    def separate_with(cp: Any, square: Callable, finish: Callable) -> Callable[[], object]:
        x, gamma, beta = arrays(cp)

        def run() -> Any:
            mean = x.mean(axis=1, keepdims=True)
            variance = square(x, mean).mean(axis=1, keepdims=True)
            return finish(x, mean, variance, gamma, beta)

        return single(run)

    def arrays(cp: Any) -> tuple:
        return (*matrix(shape)(cp), floats(cp, columns), floats(cp, columns))

    def square(cp: Any) -> Callable:
        return lambda x, m: (x - m) * (x - m)

    def finish(cp: Any) -> Callable:
        return lambda x, m, v, g, b: (x - m) / cp.sqrt(v + 1e-5) * g + b

    def library(torch: Any, x: Any, g: Any, b: Any) -> Any:
        return torch.nn.functional.layer_norm(x, (columns,), g, b, 1e-5)

    useful = 8 * shape[0] * columns
    return [
        copy_call(shape[0] * columns),
        call(SEPARATE, lambda cp: separate_with(cp, square(cp), finish(cp)), useful),
        call(FUSE, lambda cp: separate_with(cp, join(cp, square(cp)), join(cp, finish(cp))), useful),
        call(TORCH, torch_call(arrays, library), useful),
    ]


def row_sum(shape: tuple[int, int]) -> list[Call]:
    """The sum of every row: one call each, and one kernel for `cupy.fuse`, which takes a reduction too."""
    useful = 4 * shape[0] * shape[1]
    return [
        copy_call(shape[0] * shape[1]),
        call(SEPARATE, on_array(shape, lambda cp, x: x.sum(axis=1)), useful),
        call(FUSE, fused(shape, lambda cp, x: cp.sum(x, axis=1)), useful),
        call(TORCH, torch_call(matrix(shape), lambda torch, x: x.sum(1)), useful),
    ]


def row_length(n: int, kernel: Kernel) -> list[Call]:
    """Both stages where a row is cut into parts: the parts, then one block per row for what they left."""

    def both(rows: int) -> Make:
        def make(cp: Any) -> Callable[[], object]:
            compiled, parts = kernel.define(THREADS=256).compile(cp), 4 * max(1, 264 // rows)
            x, part, out = floats(cp, n), cp.zeros(rows * parts, cp.float32), cp.zeros(rows, cp.float32)

            def run() -> None:
                compiled((parts, rows), (256,), (part, x, np.int32(n // rows)))
                compiled((1, rows), (256,), (out, part, np.int32(parts)))

            return run

        return make

    return [
        copy_call(n, rows=0),
        *(call("parts then their sum", both(r), 4 * n, rows=r) for r in (1, 8, 64)),
    ]


def matmul(rows: int, depth: int, width: int) -> list[Call]:
    """The copy, cuBLAS, its product followed by a ReLU, and PyTorch's two calls.

    `cupy.fuse` cannot join a matrix product with anything: it makes the ReLU alone, a kernel of its own.
    """

    def arrays(cp: Any) -> tuple:
        a = floats(cp, rows * depth).reshape(rows, depth) - np.float32(0.5)
        return a, floats(cp, depth * width).reshape(depth, width)

    def product(cp: Any) -> Callable[[], object]:
        a, b = arrays(cp)
        return lambda: a @ b

    def separate(cp: Any) -> Callable[[], object]:
        a, b = arrays(cp)
        return lambda: cp.maximum(a @ b, 0)

    def relu_fused(cp: Any) -> Callable[[], object]:
        (a, b), relu = arrays(cp), join(cp, lambda v: cp.maximum(v, 0.0))
        return single(lambda: relu(a @ b))

    useful, flops = 4 * (rows * depth + depth * width + rows * width), 2 * rows * depth * width
    return [
        copy_call(useful // 8),
        call("cuBLAS product", product, useful, flops),
        call("cuBLAS product then ReLU", separate, useful, flops),
        call(f"cuBLAS product then {FUSE} ReLU", relu_fused, useful, flops),
        call(
            "PyTorch product then ReLU",
            torch_call(arrays, lambda torch, a, b: torch.relu(a @ b)),
            useful,
            flops,
        ),
    ]
