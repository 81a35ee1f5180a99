"""Chapter 05, fusion: how CuPy and PyTorch do the same, timed beside the chapter's kernels.

Here are the point-wise ones, in `fusion_row_calls` the others. Each function gives the calls of a sweep, the
device's copy first. "separate CuPy" is the plain expression, "cupy.fuse" the same with its point-wise steps
joined (reductions and products stay apart), "PyTorch" one call of that library.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..points import Call, floats
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
    """`make` for an `expression(cp, x)`, point-wise or a reduction, that `cupy.fuse` makes one kernel."""

    def make(cp: Any) -> Callable[[], object]:
        x = floats(cp, int(np.prod(shape))).reshape(shape)
        joined = join(cp, lambda v: expression(cp, v))
        return single(lambda: joined(x))

    return make


def join(cp: Any, function: Callable) -> Callable:
    """`cupy.fuse` of a function. It wants a name for the kernel, and a lambda has none."""
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
    """Three sigmoids: forward in CuPy; in PyTorch forward and backward, every activation stored."""

    def sigmoid(cp: Any, x: Any) -> Any:
        return 1.0 / (cp.exp(-x) + 1.0)

    def expression(cp: Any, x: Any) -> Any:
        return sigmoid(cp, sigmoid(cp, sigmoid(cp, x)))

    def forward(torch: Any, x: Any) -> Any:
        return torch.sigmoid(torch.sigmoid(torch.sigmoid(x)))

    def make_backward(cp: Any) -> Callable[[], object]:
        import torch

        x = torch.from_dlpack(floats(cp, n)).requires_grad_()
        out, g = forward(torch, x), torch.ones(n, device="cuda")
        return lambda: torch.autograd.grad(out, x, g, retain_graph=True)

    return [
        copy_call(n),
        call(f"{SEPARATE} forward", on_array((n,), expression), 8 * n),
        call(f"{FUSE} forward", fused((n,), expression), 8 * n),
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
