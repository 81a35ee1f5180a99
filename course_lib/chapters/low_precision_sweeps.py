"""Chapter 12, low precision: the launches that are timed on a GPU.

With 50 launches per row: 3 s for `precision_product` and for `precision_product_8192`, 1 s for each of the
others.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import kernels
from ..kernels import Kernel
from ..points import LINEAR, LOOP, Arguments, Call, Point, Sweep, floats
from . import low_precision_kernels as k
from .tiling_kernels import TILED

BYTES = {"fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2, "e4m3": 1, "e5m2": 1}  # of an element in memory
MMA_TYPE = {"fp16": "f16"}  # what PTX calls a format, where it is another name


def work(n: int, element: str) -> dict[str, int]:
    """What a product of n x n elements, with a float32 result, has to move and to compute at least."""
    return {"useful_bytes": (2 * BYTES[element] + 4) * n * n, "flops": 2 * n**3}


# -- arrays: every format from the same float32 values, as raw bytes ---------------------------


def elements(cp: Any, n: int, element: str, depth: int = 0) -> Any:
    """n rows of `depth` values (n, if 0) from 0 to 1, in 8 bits up to 4, as the bytes of a format."""
    count = n * (depth or n)
    if BYTES[element] == 1:
        lowest = 0x20 if element == "e4m3" else 0x30  # 2^-3
        codes = cp.arange(count, dtype=cp.uint32) * np.uint32(2654435761) >> np.uint32(27)
        return (codes.astype(cp.uint8) + np.uint8(lowest)).reshape(n, -1)
    x = floats(cp, count).reshape(n, -1)
    if element == "bf16":
        return (x.view(cp.uint32) >> np.uint32(16)).astype(cp.uint16)
    return x.astype(cp.float16) if element == "fp16" else x


# -- products ------------------------------------------------------------------------------------


def tiled_fp32(n: int, columns: dict) -> Point:
    """The tiled kernel of chapter 02: one multiply-add a thread at a time."""
    matrices = _matrices(n, "fp32", lambda c, a, b: (c, a, b, np.int32(n)))
    return Point(columns, TILED.define(TILE=32), (n // 32, n // 32), (32, 32), matrices, **work(n, "fp32"))


def wmma_global(n: int, columns: dict, element: str) -> Point:
    """A tile of 16 x 16 a warp, operands straight from global memory."""
    stored, kind, deep = {
        "fp16": ("half", "half", 16),
        "bf16": ("__nv_bfloat16", "__nv_bfloat16", 16),
        "tf32": ("float", "precision::tf32", 8),
    }[element]
    macros = (f"-DSTORED={stored}", f"-DELEMENT={kind}", f"-DDEEP={deep}")
    kernel = Kernel(k.WMMA.name, k.WMMA.source, (*k.WMMA.options, *macros))
    matrices = _matrices(n, element, lambda c, a, b: (c, a, b, np.int32(n)))
    return Point(columns, kernel, (n // 64, n // 16), (32, 4), matrices, **work(n, element))


def wmma_tiled(n: int, columns: dict, pad: int = 8) -> Point:
    """Tiles of 128 x 128 in shared memory, fp16."""
    matrices = _matrices(n, "fp16", lambda c, a, b: (c, a, b, np.int32(n)))
    kernel = k.WMMA_TILED.define(PAD=pad)
    return Point(columns, kernel, (n // 128, n // 128), (256,), matrices, **work(n, "fp16"))


def mma_tiled(n: int, columns: dict, element: str, depth: int = 0, **sizes: int) -> Point:
    """The chapter's best kernel, in any format; `depth`: columns of A and B, if not n."""
    chosen = k.MMA_SIZES | sizes
    kernel = k.mma(MMA_TYPE.get(element, element), **chosen)
    pitch = (depth or n) * BYTES[element]

    def arguments(c: Any, a: Any, b: Any) -> tuple:
        return c, a.view(np.uint8), b.view(np.uint8), np.int32(n), np.int32(pitch)

    grid, block, shared = mma_launch(n, chosen)
    matrices = _matrices(n, element, arguments, depth)
    return Point(columns, kernel, grid, block, matrices, **work(n, element), shared=shared)


def mma_launch(n: int, sizes: dict[str, int]) -> tuple[tuple[int], tuple[int], int]:
    """Grid, block and bytes of shared memory of `mma_tiled` for n x n elements."""
    bm, bn, warps = sizes["BM"], sizes["BN"], sizes["BM"] // sizes["WM"] * (sizes["BN"] // sizes["WN"])
    return (n // bm * (n // bn),), (32 * warps,), (bm + bn) * 128 * sizes["STAGES"]


def _matrices(n: int, element: str, arguments: Callable, depth: int = 0) -> Arguments:
    """C in float32, A and B in the format, and what else `arguments(c, a, b)` adds."""

    def make(cp: Any) -> tuple:
        a, b = (elements(cp, n, element, depth) for _ in "ab")
        return arguments(cp.zeros((n, n), cp.float32), a, b)

    return make


def _named(variant: str, element: str, n: int) -> dict[str, int | str]:
    return {"variant": variant, "format": element, "size": n}


def products(n: int) -> list[Point]:
    """The tiled fp32 kernel, then tensor cores: from global memory, from tiles, with conflicts, without."""
    return [
        tiled_fp32(n, _named("tiled", "fp32", n)),
        *(wmma_global(n, _named("wmma global", e, n), e) for e in ("tf32", "bf16", "fp16")),
        wmma_tiled(n, _named("wmma tiled", "fp16", n)),
        mma_tiled(n, _named("mma unswizzled", "fp16", n), "fp16", SWIZZLE=0),
        *best_products(n),
    ]


def best_products(n: int) -> list[Point]:
    """The best kernel in every format."""
    formats = ("tf32", "bf16", "fp16", "e4m3", "e5m2")
    return [mma_tiled(n, _named("mma tiled", e, n), e) for e in formats]


# -- libraries -----------------------------------------------------------------------------------


def library_products(n: int) -> list[Call]:
    """cuBLAS through CuPy in fp32, tf32, fp16 and bf16; e4m3 by PyTorch, which hands it to cuBLASLt."""
    found = [
        Call(_named("cuBLAS", e, n), lambda cp, e=e: cublas(cp, n, e), **work(n, e))
        for e in ("fp32", "tf32", "bf16", "fp16")
    ]
    return [*found, Call(_named("PyTorch", "e4m3", n), lambda cp: torch_e4m3(cp, n), **work(n, "e4m3"))]


def cublas(cp: Any, n: int, element: str) -> Callable[[], object] | None:
    """A B^T by cuBLAS; None where this CuPy does not know the format."""
    try:
        from cupy._core import _routines_linalg as linalg
    except ImportError:
        return None
    a = elements(cp, n, element)
    if element == "bf16":
        try:
            import ml_dtypes

            a = a.view(ml_dtypes.bfloat16)
        except (TypeError, ValueError):
            return None
    mode = linalg.COMPUTE_TYPE_TF32 if element == "tf32" else linalg.COMPUTE_TYPE_DEFAULT
    kind = np.dtype(np.float32)

    def product() -> object:
        before = linalg.get_compute_type(kind)
        linalg.set_compute_type(kind, mode)
        try:
            return cp.matmul(a, a.T)
        finally:
            linalg.set_compute_type(kind, before)

    try:
        product()
    except (TypeError, ValueError):
        return None
    return product


def torch_e4m3(cp: Any, n: int) -> Callable[[], object] | None:
    """A B^T in e4m3 with one scale a matrix, by PyTorch in the null stream, as CuPy; None without it."""
    try:
        import torch
    except ImportError:
        return None
    a = torch.from_dlpack(elements(cp, n, "e4m3")).view(torch.float8_e4m3fn)
    one = torch.ones((), device="cuda")

    def product() -> object:
        return torch._scaled_mm(a, a.t(), one, one, out_dtype=torch.bfloat16)

    try:
        product()
    except (RuntimeError, AttributeError):
        return None
    return product


# -- one value after the other -----------------------------------------------------------------------


def scaling(n: int) -> list[Point]:
    """n values times a number: 16 bytes a thread in three formats, then a value a thread."""
    wide = [_scaled(n, e, k.SCALE.define(BITS=8 * BYTES[e]), 16 // BYTES[e]) for e in STORED]
    single = [_scaled(n, e, _one_by_one(e), 1) for e in STORED]
    return wide + single


STORED = {"fp32": "float", "fp16": "half", "e4m3": "__nv_fp8_e4m3"}


def _one_by_one(element: str) -> Kernel:
    return Kernel(
        k.SCALE_ONE.name, k.SCALE_ONE.source, (*k.SCALE_ONE.options, f"-DELEMENT={STORED[element]}")
    )


def _scaled(n: int, element: str, kernel: Kernel, each: int) -> Point:
    threads, words = n // each, n * BYTES[element] // 4

    def arguments(cp: Any) -> tuple:
        kind = {1: cp.uint8, 2: cp.float16, 4: cp.float32}[BYTES[element]] if each == 1 else cp.uint32
        out, given = (cp.zeros(words, cp.uint32).view(kind) for _ in range(2))
        return out, given, np.float32(1.5), np.int32(threads)

    columns = {"format": element, "values a thread": each}
    grid, useful = (-(-threads // 256),), 2 * n * BYTES[element]
    return Point(columns, kernel, grid, (256,), arguments, useful, n)


def blocks_of_32(n: int) -> list[Point]:
    """n floats copied, quantised to MXFP8, and back."""

    def arguments(order: tuple[int, ...]) -> Arguments:
        def make(cp: Any) -> tuple:
            made = (floats(cp, n), cp.zeros(n, cp.uint8), cp.zeros(n // 32, cp.uint8))
            return (*(made[i] for i in order), np.int32(n // 4))

        return make

    def copied(cp: Any) -> tuple:
        return cp.zeros(n, cp.float32), floats(cp, n), np.int32(n)

    cases = [
        ("copy", kernels.COPY_FLOAT4, copied, 8 * n),
        ("quantise", k.QUANTISE, arguments((1, 2, 0)), 5 * n + n // 32),
        ("dequantise", k.DEQUANTISE, arguments((0, 1, 2)), 5 * n + n // 32),
    ]
    grid = (-(-n // 1024),)
    return [Point({"kernel": name}, kern, grid, (256,), args, useful) for name, kern, args, useful in cases]


# The products are not modelled from a smaller square (small = 0): their loads grow with the cube of the size
# and their stores with its square. `low_precision_model` does it by two sizes, and a test compares.
SWEEPS = (
    Sweep("precision_product", "rows", 4096, products, 0, LOOP, library_products),
    Sweep("precision_product_8192", "rows", 8192, best_products, 0, LOOP, library_products),
    Sweep("precision_scale", "values", 1 << 28, scaling, 1 << 16, LINEAR),
    Sweep("precision_mx", "floats", 1 << 27, blocks_of_32, 1 << 16, LINEAR),
)
