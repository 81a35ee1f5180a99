"""The launches recorded for chapter 03: conflicts by offset and by padding, and a transpose."""

from collections.abc import Mapping, Sequence

import numpy as np

from .. import kernels as k
from ..points import LOOP, SQUARE, Arguments, Point, Sweep, square


def banks(repeat: int) -> list[Point]:
    """1024 threads access word t * OFFSET of shared memory, `repeat` times; 2 blocks per SM of an H200."""

    def arguments(offset: int) -> Arguments:
        return lambda cp: (cp.zeros(264 * 1024, cp.int32), np.int32(offset), np.int32(repeat))

    return [
        Point({"access": access, "offset": o}, kernel, (264,), (1024,), arguments(o), warm=True)
        for access, kernel in (("load", k.BANK_LOAD), ("store", k.BANK_STORE))
        for o in range(65)
    ]


def padding(n: int) -> list[Point]:
    """Tiled transpose of n x n floats with 0 to 33 words of padding."""
    return [_transpose(k.TRANSPOSE_TILED.define(PAD=p), n, {"padding": p}) for p in range(34)]


def transpose(n: int) -> list[Point]:
    """Transpose of n/2 x n/2 and n x n floats, in four ways, and the copy they are compared with."""
    ways = {
        "copy": k.TRANSPOSE_COPY,
        "naive": k.TRANSPOSE_NAIVE,
        "tiled": k.TRANSPOSE_TILED,
        "padded": k.TRANSPOSE_TILED.define(PAD=1),
        "swizzled": k.TRANSPOSE_SWIZZLED,
    }
    return [
        _transpose(kernel, size, {"variant": way, "size": size})
        for size in (n // 2, n)
        for way, kernel in ways.items()
    ]


def _transpose(kernel: k.Kernel, n: int, columns: Mapping[str, int | str]) -> Point:
    return Point(columns, kernel, (n // 32, n // 32), (32, 8), square(n, 1), 8 * n * n)


SWEEPS: Sequence[Sweep] = (
    Sweep("bank_offset", "accesses per thread", 1024, banks, 16, LOOP),
    Sweep("bank_padding", "rows of the matrix", 8192, padding, 128, SQUARE),
    Sweep("bank_transpose", "rows of the larger matrix", 8192, transpose, 256, SQUARE),
)
