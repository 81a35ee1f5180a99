"""Chapter 10, pipelines: the launches that are timed on a GPU.

With 50 launches per row: 2 s of GPU time, and the time to compile. X has 2^21 rows, 537 MB. The blocks of
every launch stay: 132 for each block an SM is to hold.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..gpus import DEFAULT, gpu
from ..kernels import Kernel
from ..occupancy import occupancy
from ..points import Arguments, Call, Point, Sweep, floats
from . import pipeline_kernels as k

SMS = gpu(DEFAULT).sms
ROWS = 1 << 21
SIZE = f"2^{ROWS.bit_length() - 1} rows"
REGISTERS = 96  # of a thread, or some fewer, as compiled: two blocks of 256 threads fit on an SM
MORE_REGISTERS = 98  # of a kernel with producers, for tiles of 512: one block fits
STATIC = 48 << 10  # bytes of shared memory that a kernel may declare
TILE = 256  # float4 in a tile of 4 KB
STREAM = (1, 0, 1)  # with the rows grow counts and bytes; the blocks stay
TILES, BLOCKS, STAGES, PRODUCERS = (256, 512, 1024), (1, 2), (2, 3, 4, 6), (2, 3, 4, 6)


def kernel(variant: str, stages: int) -> tuple[Kernel, int, int]:
    """Source, threads of a block and buffers of a variant with so many stages."""
    return {
        "one buffer": (k.ONE_BUFFER, k.THREADS, 1),
        "registers": (k.REGISTERS, k.THREADS, 2),
        "stages": (k.STAGED, k.THREADS, stages),
        "producer warps": (k.WARPS, k.THREADS + 32 * stages, stages),
        "one producer": (k.MBARRIER, k.THREADS + 32, stages),
    }[variant]


def point(variant: str, stages: int, tile: int, blocks: int, rows: int, sms: int = SMS) -> Point:
    """One launch: `blocks` blocks on each of `sms` SMs, tiles of `tile` float4, `rows` rows of X."""
    source, threads, buffers = kernel(variant, stages)
    columns = {"variant": variant, "stages": buffers, "tile": tile, "blocks": blocks}
    return Point(
        columns,
        k.tiled(source, tile, stages if variant in STAGED else 0),
        (sms * blocks,),
        (threads,),
        arguments(rows, tile),
        useful_bytes=rows * (64 + 16) * 4,
        flops=2 * rows * 64 * 16,
    )


STAGED = ("stages", "producer warps", "one producer")


def fits(variant: str, stages: int, tile: int, blocks: int) -> bool:
    """Whether so many blocks fit on an SM of an H200, their buffers declared as static shared memory."""
    _, threads, buffers = kernel(variant, stages)
    shared = buffers * tile * k.FLOAT4
    registers = MORE_REGISTERS if threads > k.THREADS and tile == 512 else REGISTERS
    return shared < STATIC and occupancy(threads, registers, shared, gpu(DEFAULT)).blocks >= blocks


def arguments(rows: int, tile: int) -> Arguments:
    """Y, X, W and the number of tiles."""
    return lambda cp: (
        cp.zeros((rows, 16), cp.float32),
        floats(cp, rows * 64).reshape(rows, 64),
        floats(cp, 64 * 16).reshape(64, 16),
        np.int32(rows * k.ROW // tile),
    )


def shapes(rows: int) -> list[Point]:
    """Every variant for several tiles, with 1 and 2 blocks an SM, as far as they fit."""
    choices = [("one buffer", 0), ("registers", 0), *(("stages", count) for count in STAGES)]
    choices += [(name, count) for name in ("producer warps", "one producer") for count in PRODUCERS]
    return [
        point(variant, count, tile, blocks, rows)
        for blocks in BLOCKS
        for tile in TILES
        for variant, count in choices
        if fits(variant, count, tile, blocks)
    ]


def cublas(rows: int) -> list[Call]:
    """The same product by cuBLAS, in full fp32."""

    def launcher(cp: Any) -> Callable[[], object]:
        y, x, w, _ = arguments(rows, TILE)(cp)
        cp.matmul(x, w, out=y)
        return lambda: cp.matmul(x, w, out=y)

    columns = {"variant": "cuBLAS", "stages": 0, "tile": 0, "blocks": 0}
    return [Call(columns, launcher, useful_bytes=rows * 80 * 4, flops=2 * rows * 64 * 16)]


# Not modelled by the model of the course (small = 0): it lets the use of a tile hide behind the latency of
# the next in every variant, and so cannot order one buffer against two. The chapter has a model of its own.
SWEEPS = (Sweep("pipeline_shapes", "rows", ROWS, shapes, 0, STREAM, cublas),)
