"""Chapter 02, tiling: the products of matrices that are timed on a GPU.

With 50 launches per row: 3 s for `tiling_2048`, 20 s for `tiling_4096` (16 of them for the bad mapping; 12 s
with `--n 30`), 2 s for `tiling_int`, 9 s for `tiling_edges`.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..kernels import Kernel
from ..points import Arguments, Call, Point, Sweep, floats
from . import tiling_kernels as k

TILES = (8, 16, 32)
CUBIC = (3, 2, 2)  # how counts, blocks and distinct bytes grow with n


def work(n: int) -> dict[str, int]:
    """What every product of two n x n matrices of 4-byte elements has to move and to compute at least."""
    return {"useful_bytes": 12 * n * n, "flops": 2 * n**3}


def square_grid(n: int, tile: int) -> tuple[int, int]:
    """Blocks that cover n x n elements, tile x tile each."""
    return (-(-n // tile), -(-n // tile))


def point(kernel: Kernel, columns: dict[str, int | str], n: int, tile: int, arguments: Arguments) -> Point:
    """One product, in blocks of tile x tile threads."""
    return Point(columns, kernel, square_grid(n, tile), (tile, tile), arguments, **work(n))


# -- float: the two mappings, three tiles, cuBLAS ----------------------------------


def matmul(n: int) -> list[Point]:
    """C = A B of n x n floats: the bad mapping, the coalesced one, and three tiles."""
    variants = {"naive": (k.NAIVE, 32), "coalesced": (k.COALESCED, 32)}
    variants |= {f"tiled {tile}": (k.TILED.define(TILE=tile), tile) for tile in TILES}
    return [
        point(kernel, {"variant": name, "size": n}, n, tile, matrices(n, n))
        for name, (kernel, tile) in variants.items()
    ]


def cublas(n: int) -> list[Call]:
    """The same product by cuBLAS, in full fp32."""

    def launcher(cp: Any) -> Callable[[], object]:
        if os.environ.get("CUPY_TF32", "0") != "0":
            raise RuntimeError("CUPY_TF32 is set: cuBLAS would round its inputs; unset it to record fp32")
        a, b = (floats(cp, n * n).reshape(n, n) for _ in "ab")
        cp.matmul(a, b)
        return lambda: cp.matmul(a, b)

    return [Call({"variant": "cuBLAS", "size": n}, launcher, **work(n))]


def matrices(n: int, pitch: int) -> Arguments:
    """C, A and B, rows `pitch` floats apart, and n."""

    def make(cp: Any) -> tuple:
        a, b = (floats(cp, n * pitch).reshape(n, pitch) for _ in "ab")
        return (cp.zeros((n, pitch), cp.float32), a, b, np.int32(n))

    return make


# -- int: is every element right? --------------------------------------------------


@dataclass(frozen=True)
class Compared(Point):
    """A product of integers; before it is timed, the column `errors` gets the elements that differ from
    those of the untiled kernel with the bad mapping."""

    def launcher(self, cp: Any) -> Callable[[], object]:
        """As for a `Point`; runs both kernels once and fills in the column."""
        args = self.arguments(cp)
        compiled, untiled = self.kernel.compile(cp), with_type(k.NAIVE, "int").compile(cp)
        n = int(args[-1])
        expected = cp.zeros_like(args[0])
        untiled(square_grid(n, 32), (32, 32), (expected, *args[1:]))
        compiled(self.grid, self.block, args)
        self.columns["errors"] = int((args[0] != expected).sum())  # type: ignore[index]
        return lambda: compiled(self.grid, self.block, args)


def with_type(kernel: Kernel, name: str) -> Kernel:
    """A kernel for elements of another C type."""
    return Kernel(kernel.name, kernel.source, (*kernel.options, f"-DNUMBER={name}"))


def integers(n: int) -> list[Point]:
    """C = A B of n x n ints: coalesced, and in tiles of 16."""
    variants = {"coalesced": (k.COALESCED, 32), "tiled 16": (k.TILED.define(TILE=16), 16)}
    return [
        Compared(
            {"variant": name, "size": n, "errors": -1},
            with_type(kernel, "int"),
            square_grid(n, tile),
            (tile, tile),
            int_matrices(n),
            useful_bytes=12 * n * n,
        )
        for name, (kernel, tile) in variants.items()
    ]


def int_matrices(n: int) -> Arguments:
    """C, A and B with elements from -100 to 99, and n."""

    def make(cp: Any) -> tuple:
        a, b = ((200 * floats(cp, 2 * n * n)[part::2] - 100).astype(cp.int32) for part in (0, 1))
        return (cp.zeros((n, n), cp.int32), a.reshape(n, n), b.reshape(n, n), np.int32(n))

    return make


# -- edges: sizes the tile does not divide, with and without padded rows -----------


def edges(n: int) -> list[Point]:
    """The guarded kernel at n - 1, rows packed and rows padded to n, and at n."""
    cases = {"packed": (n - 1, n - 1), "padded": (n - 1, n), "even": (n, n)}
    return [
        point(
            k.GUARDED.define(TILE=tile),
            {"tile": tile, "rows": name, "size": size, "pitch": pitch},
            size,
            tile,
            _pitched(size, pitch),
        )
        for tile in TILES
        for name, (size, pitch) in cases.items()
    ]


def _pitched(n: int, pitch: int) -> Arguments:
    made = matrices(n, pitch)
    return lambda cp: (*made(cp), np.int32(pitch))


SWEEPS = (
    Sweep("tiling_2048", "rows", 2048, matmul, 128, CUBIC, cublas),
    Sweep("tiling_4096", "rows", 4096, matmul, 128, CUBIC, cublas),
    Sweep("tiling_int", "rows", 4096, integers, 128, CUBIC),
    Sweep("tiling_edges", "rows", 4096, edges, 128, CUBIC),
)
