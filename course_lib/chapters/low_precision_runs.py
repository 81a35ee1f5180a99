"""Chapter 12, low precision: small runs of its kernels, as the notebook needs them."""

from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np
from matplotlib.figure import Figure

from .. import standin
from ..emulator.counters import count_shared
from ..gpus import device
from ..pictures import warp_to_banks
from ..profile import Profile, profile
from .low_precision_formats import quantised
from .low_precision_kernels import MMA_SIZES, OPTIONS, SHAPES
from .low_precision_sweeps import mma_launch
from .tiling_kernels import TILED

KINDS: Mapping[str, Any] = {  # what PTX calls a format -> its type in memory
    "tf32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
}
NEEDED = {
    "tf32": 8.0,
    "f16": 8.0,
    "bf16": 8.0,
    "e4m3": 8.9,
    "e5m2": 8.9,
}  # compute capability, for `mma_tiled`
WMMA_MACROS = ("-std=c++17", "-DSTORED=half", "-DELEMENT=half", "-DDEEP=16")


def able(cp: Any, kind: str) -> Any:
    """`cp`, or the emulator's stand-in for it where this GPU cannot run `mma_tiled` in the format."""
    capability = float(device().architecture.capability)
    return cp if capability >= NEEDED[kind] else standin


def mma_kernel(cp: Any, source: str, kind: str, **macros: int) -> Any:
    """`mma_tiled` for a format of `KINDS`; `macros` replace sizes of `MMA_SIZES`."""
    cp, sizes = able(cp, kind), MMA_SIZES | macros
    options = (f'-DTYPE="{kind}"', f'-DSHAPE="{SHAPES[kind]}"', *(f"-D{n}={v}" for n, v in sizes.items()))
    kernel = cp.RawKernel(source, "mma_tiled", options=(*OPTIONS, *options))
    kernel.max_dynamic_shared_size_bytes = mma_launch(sizes["BM"], sizes)[2]
    return kernel


def mma_product(
    cp: Any, source: str, kind: str, a: np.ndarray, b: np.ndarray, **macros: int
) -> tuple[np.ndarray, Profile]:
    """A B^T of two n x n matrices, by `mma_tiled` in a format: the result and its counts."""
    cp, n, sizes = able(cp, kind), len(a), MMA_SIZES | macros
    kernel = mma_kernel(cp, source, kind, **macros)
    grid, block, shared = mma_launch(n, sizes)
    stored = [m.astype(KINDS[kind]).view(np.uint8) for m in (a, b)]
    args = cp.zeros((n, n), cp.float32), *map(cp.asarray, stored), np.int32(n), np.int32(stored[0].shape[1])
    kernel(grid, block, args, shared_mem=shared)
    return cp.asnumpy(args[0]), profile(kernel, grid, block, args, shared)


def kernel_errors(source: str, n: int = 64) -> dict[str, float]:
    """Largest relative error of an element of A B^T, by the tiled fp32 kernel and by `mma_tiled` (`source`).

    Against NumPy in float64, on the emulator whatever the GPU. The n x n inputs are random from 0 to 1, so no
    element is near 0; n is a multiple of 64. `mma_tiled` is given fp16 and bf16 rounded to nearest, and fp32
    for TF32, of which the tensor core leaves out 13 bits.
    """
    rng = np.random.default_rng(12)
    a, b = (rng.random((n, n), np.float32) for _ in "ab")
    exact = a.astype(np.float64) @ b.astype(np.float64).T
    args = standin.zeros((n, n), np.float32), standin.asarray(a), standin.asarray(b.T.copy()), np.int32(n)
    TILED.define(TILE=32).compile(standin)((n // 32, n // 32), (32, 32), args)
    found = {"fp32": standin.asnumpy(args[0])}
    small = {"BM": 64, "BN": 64, "WM": 32, "WN": 32}
    for name, kind in {"tf32": "tf32", "fp16": "f16", "bf16": "bf16"}.items():
        found[name] = mma_product(standin, source, kind, a, b, **small)[0]
    return {name: float((np.abs(c - exact) / exact).max()) for name, c in found.items()}


def error_words(source: str) -> str:
    """The errors of `kernel_errors`, in a line."""
    errors = ", ".join(f"{name} {error:.1e}" for name, error in kernel_errors(source).items())
    return f"largest relative error, 64 x 64 values from 0 to 1, computed on the emulator: {errors}"


def scaled_values(cp: Any, kernel: Any, bits: int, x: np.ndarray) -> tuple[np.ndarray, Profile]:
    """1.5 x by a kernel of 16 bytes a thread, in a format of 32, 16 or 8 bits: the result and its counts."""
    kind = {32: np.float32, 16: np.float16, 8: ml_dtypes.float8_e4m3fn}[bits]
    given = cp.asarray(x.astype(kind).view(np.uint32))
    pieces = given.size // 4
    args = cp.zeros_like(given), given, np.float32(1.5), np.int32(pieces)
    launch = (-(-pieces // 256),), (256,), args
    kernel(*launch)
    return cp.asnumpy(args[0]).view(kind).astype(np.float64), profile(kernel, *launch)


def quantised_by(cp: Any, kernel: Any, x: np.ndarray) -> tuple[bool, Profile]:
    """Whether codes and scales of the kernel are those of NumPy and `ml_dtypes`, and its counts."""
    codes, scales = cp.zeros(x.size, cp.uint8), cp.zeros(x.size // 32, cp.uint8)
    args = codes, scales, cp.asarray(x), np.int32(x.size // 4)
    launch = (-(-x.size // 1024),), (256,), args
    kernel(*launch)
    ours, their_scales = quantised(x, "mxfp8")
    same = (cp.asnumpy(codes) == ours.view(np.uint8).ravel()).all()
    return bool(same and (cp.asnumpy(scales) == their_scales.ravel()).all()), profile(kernel, *launch)


def two_products(cp: Any, tiled: Any, wmma: Any, a: np.ndarray, b: np.ndarray) -> dict[str, tuple]:
    """A B^T by the tiled fp32 kernel (A B) and by `wmma_global`: the result and the counts of each."""
    n = len(a)
    launches = {
        "fp32 tiled": (tiled, (n // 32, n // 32), (32, 32), np.float32, b.T),
        "fp16 wmma": (wmma, (n // 64, n // 16), (32, 4), np.float16, b),
    }
    found = {}
    for name, (kernel, grid, block, kind, right) in launches.items():
        inputs = [cp.asarray(np.ascontiguousarray(m).astype(kind)) for m in (a, right)]
        args = cp.zeros((n, n), cp.float32), *inputs, np.int32(n)
        kernel(grid, block, args)
        found[name] = cp.asnumpy(args[0]), profile(kernel, grid, block, args)
    return found


def ldmatrix_banks(swizzle: bool) -> Figure:
    """The banks of one `ldmatrix` of a 16 x 32-byte piece of a tile with rows of 128 bytes."""
    lane = np.arange(32)
    row, chunk = lane % 16, lane // 16
    place = chunk ^ row % 8 if swizzle else chunk
    title = "ldmatrix, swizzled, counted" if swizzle else "ldmatrix, counted"
    return warp_to_banks(128 * row + 16 * place, width=16, title=title)


def ldmatrix_wavefronts(pitch: int) -> int:
    """Wavefronts of the same `ldmatrix` without a swizzle, in a tile whose rows lie `pitch` bytes apart."""
    lane = np.arange(32)
    return int(count_shared((pitch * (lane % 16) + 16 * (lane // 16))[None], None, 16, False).wavefronts)
