"""The launches recorded for chapter 01: copies, strides, layouts, wide loads, and a matrix product."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import kernels as k
from ..points import LINEAR, THREADS, Point, Sweep, floats, square


def _per_element(
    kernel: k.Kernel,
    sizes: tuple[int, int],
    threads: int,
    scalars: tuple[int, ...],
    columns: Mapping[str, int | str],
    useful: int,
) -> Point:
    """A launch of `threads` threads; `sizes`: floats of output and input; `scalars` follow as int32."""

    def arguments(cp: Any) -> tuple:
        return (cp.zeros(sizes[0], cp.float32), floats(cp, sizes[1]), *map(np.int32, scalars))

    return Point(columns, kernel, (-(-threads // THREADS),), (THREADS,), arguments, useful)


def offset(n: int) -> list[Point]:
    """Copy of n floats shifted by 0 to 32 elements."""
    return [_per_element(k.COPY_OFFSET, (n + o, n + o), n, (n, o), {"offset": o}, 8 * n) for o in range(33)]


def stride(n: int) -> list[Point]:
    """n outputs, each from an input `stride` elements after the last."""
    return [_per_element(k.READ_STRIDED, (n, n * s), n, (n, s), {"stride": s}, 8 * n) for s in range(1, 33)]


def layout(n: int) -> list[Point]:
    """n points of 3 floats, as an array of structures or a structure of arrays; 3 fields are read, or 1."""
    cases = [
        ("aos", 3, k.SUM_AOS),
        ("soa", 3, k.SUM_SOA),
        ("aos", 1, k.SCALE_X_AOS),
        ("soa", 1, k.SCALE_X_SOA),
    ]
    return [
        _per_element(kernel, (n, 3 * n), n, (n,), {"layout": name, "fields": fields}, 4 * n * (fields + 1))
        for name, fields, kernel in cases
    ]


def vector(n: int) -> list[Point]:
    """Copy of n floats, 1, 2 or 4 by each thread in one access."""
    widths = {1: k.COPY_FLOAT, 2: k.COPY_FLOAT2, 4: k.COPY_FLOAT4}
    return [_per_element(kernel, (n, n), n // w, (n,), {"width": w}, 8 * n) for w, kernel in widths.items()]


def matmul(n: int) -> list[Point]:
    """Products of two square matrices of n/2 and of n: the bad mapping and the coalesced one."""
    return [
        Point(
            {"mapping": mapping, "size": size},
            kernel,
            (-(-size // 32), -(-size // 32)),
            (1024,),
            square(size, 2),
            12 * size * size,
            2 * size**3,
        )
        for size in (n // 2, n)
        for mapping, kernel in (("naive", k.MATMUL_NAIVE), ("coalesced", k.MATMUL_COALESCED))
    ]


SWEEPS: Sequence[Sweep] = (
    Sweep("coalescing_offset", "floats copied", 1 << 26, offset, 1 << 14, LINEAR),
    Sweep("coalescing_stride", "floats written", 1 << 25, stride, 1 << 14, LINEAR),
    Sweep("coalescing_layout", "points", 1 << 26, layout, 1 << 14, LINEAR),
    Sweep("coalescing_vector", "floats copied", 1 << 26, vector, 1 << 14, LINEAR),
    Sweep("coalescing_matmul", "rows of the larger matrix", 2048, matmul, 128, (3, 2, 2)),
)
