"""Chapter 05, fusion: how CuPy and PyTorch do the same, timed beside the chapter's kernels.

Each function gives the calls of one sweep, the device's copy first. "separate CuPy" is the plain expression,
"cupy.fuse" the same with its point-wise steps joined (reductions and products stay apart), "PyTorch" one
call of that library.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..kernels import Kernel
from ..sweeps import Call, floats
from . import fusion_kernels as k

Make = Callable[[Any], Callable[[], object]]  # from the module `cp` to the call that is timed
COPY, SEPARATE, FUSE, TORCH = "device copy", "separate CuPy", "cupy.fuse", "PyTorch"


def call(variant: str, make: Make, useful: int, flops: int = 0, **columns: int) -> Call:
    """A call whose `make(cp)` gives the function to time; None, with the reason, where a library fails."""

    def launcher(cp: Any) -> Callable[[], object] | None:
        try:
            run = make(cp)
            run()
        except Exception as error:  # one library less must not end a recording
            print(f"{variant}: {type(error).__name__}: {error}")
            return None
        return run

    return Call({"variant": variant, **columns}, launcher, useful, flops)


def copy_call(n: int, **columns: int) -> Call:
    """The device's copy of n floats, the measure of every table."""

    def make(cp: Any) -> Callable[[], object]:
        x, out = floats(cp, n), cp.zeros(n, cp.float32)
        return lambda: out.data.copy_from_device_async(x.data, x.nbytes, cp.cuda.get_current_stream())

    return call(COPY, make, 8 * n, **columns)


def on_array(shape: tuple[int, ...], function: Callable) -> Make:
    """`make` for `function(cp, x)`, x an array of the shape."""

    def make(cp: Any) -> Callable[[], object]:
        x = floats(cp, int(np.prod(shape))).reshape(shape)
        return lambda: function(cp, x)

    return make


def fused(shape: tuple[int, ...], expression: Callable) -> Make:
    """`make` for a point-wise `expression(cp, x)` that `cupy.fuse` turns into one kernel."""

    def make(cp: Any) -> Callable[[], object]:
        x = floats(cp, int(np.prod(shape))).reshape(shape)
        joined = join(cp, lambda v: expression(cp, v))
        return single(lambda: joined(x))

    return make


def join(cp: Any, function: Callable) -> Callable:
    """`cupy.fuse` of a point-wise function; it makes the kernel's name of the function's, and a lambda has none."""
    return cp.fuse(kernel_name="fused")(function)


def single(run: Callable) -> Callable:
    """`run`, if what it returns is in float32: with some constants `cupy.fuse` computes in float64."""
    if (found := run().dtype) != np.float32:
        raise TypeError(f"the result is in {found}, not in float32")
    return run


def torch_call(arrays: Callable[[Any], tuple], function: Callable) -> Make:
    """`make` for `function(torch, *tensors)` on PyTorch's view of CuPy's arrays."""

    def make(cp: Any) -> Callable[[], object]:
        import torch

        torch.backends.cuda.matmul.allow_tf32 = False
        tensors = [torch.from_dlpack(array) for array in arrays(cp)]
        return lambda: function(torch, *tensors)

    return make


def matrix(shape: tuple[int, ...]) -> Callable[[Any], tuple]:
    """One array of the shape, as a function of the module."""
    return lambda cp: (floats(cp, int(np.prod(shape))).reshape(shape),)


# -- point-wise --------------------------------------------------------------------


def sin_cos(n: int) -> list[Call]:
    """Five CuPy kernels, or the one of `cupy.fuse`."""

    def expression(cp: Any, x: Any) -> Any:
        s, c = cp.sin(x), cp.cos(x)
        return s * s + c * c

    return [
        copy_call(n),
        call(SEPARATE, on_array((n,), expression), 8 * n),
        call(FUSE, fused((n,), expression), 8 * n),
    ]


def gelu(n: int) -> list[Call]:
    """The tanh form, written out for CuPy; a single function in PyTorch."""

    def expression(cp: Any, x: Any) -> Any:
        return x * 0.5 * (cp.tanh((x * x * x * 0.044715 + x) * 0.79788456) + 1.0)

    def torch_gelu(torch: Any, x: Any) -> Any:
        return torch.nn.functional.gelu(x, approximate="tanh")

    return [
        copy_call(n),
        call(SEPARATE, on_array((n,), expression), 8 * n),
        call(FUSE, fused((n,), expression), 8 * n),
        call(TORCH, torch_call(matrix((n,)), torch_gelu), 8 * n),
    ]


def steps(n: int) -> list[Call]:
    """1 to 16 launches of a one-step kernel, one after the other."""

    def chain(count: int) -> Make:
        def make(cp: Any) -> Callable[[], object]:
            kernel = k.STEPS4.define(STEPS=1).compile(cp)
            a, b = floats(cp, n), cp.zeros(n, cp.float32)

            def run() -> None:
                for turn in range(count):
                    out, x = (a, b) if turn % 2 else (b, a)
                    kernel((-(-n // 1024),), (256,), (out, x, np.int32(n)))

            return run

        return make

    counts = (1, 2, 4, 8, 16)
    return [copy_call(n, steps=0), *(call("a kernel each", chain(c), 8 * n, steps=c) for c in counts)]


def sigmoids(n: int) -> list[Call]:
    """Three sigmoids of PyTorch, forward and backward: one kernel each, every activation stored."""

    def forward(torch: Any, x: Any) -> Any:
        return torch.sigmoid(torch.sigmoid(torch.sigmoid(x)))

    def make_backward(cp: Any) -> Callable[[], object]:
        import torch

        x = torch.from_dlpack(floats(cp, n)).requires_grad_()
        out, g = forward(torch, x), torch.ones(n, device="cuda")
        return lambda: torch.autograd.grad(out, x, g, retain_graph=True)

    return [
        copy_call(n),
        call(f"{TORCH} forward", torch_call(matrix((n,)), forward), 8 * n),
        call(f"{TORCH} backward", make_backward, 8 * n),
    ]


def bits(n: int) -> list[Call]:
    """CuPy's ReLU of n numbers in 4 bytes each, and in 2."""

    def relu(dtype: type) -> Make:
        def make(cp: Any) -> Callable[[], object]:
            x = floats(cp, n).astype(dtype)
            return lambda: cp.maximum(x, 0)

        return make

    return [
        copy_call(n),
        call("CuPy fp32", relu(np.float32), 8 * n),
        call("CuPy fp16", relu(np.float16), 4 * n),
    ]


# -- rows --------------------------------------------------------------------------


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
    """The sum of every row: one call each."""
    useful = 4 * shape[0] * shape[1]
    return [
        copy_call(shape[0] * shape[1]),
        call(SEPARATE, on_array(shape, lambda cp, x: x.sum(axis=1)), useful),
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
    """cuBLAS, its product followed by a ReLU, and PyTorch's two calls."""

    def arrays(cp: Any) -> tuple:
        a = floats(cp, rows * depth).reshape(rows, depth) - np.float32(0.5)
        return a, floats(cp, depth * width).reshape(depth, width)

    def product(cp: Any) -> Callable[[], object]:
        a, b = arrays(cp)
        return lambda: a @ b

    def separate(cp: Any) -> Callable[[], object]:
        a, b = arrays(cp)
        return lambda: cp.maximum(a @ b, 0)

    useful, flops = 4 * (rows * depth + depth * width + rows * width), 2 * rows * depth * width
    return [
        call("cuBLAS product", product, useful, flops),
        call("cuBLAS product then ReLU", separate, useful, flops),
        call(
            "PyTorch product then ReLU",
            torch_call(arrays, lambda torch, a, b: torch.relu(a @ b)),
            useful,
            flops,
        ),
    ]
