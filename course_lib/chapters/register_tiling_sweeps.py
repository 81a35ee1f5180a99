"""Chapter 09, register tiling: the ladder of products that is timed on a GPU, with cuBLAS in the same run.

GPU time, with 20 launches per row: 9 s for `register_tiling_4096` (7 of them for the bad mapping), 1 s for
`register_tiling_2048`, 4 s each for `register_tiling_8192` and `register_tiling_sides`.
"""

from collections.abc import Mapping

from ..kernels import OPTIONS, Kernel
from ..points import Call, Point, Sweep
from . import register_tiling_kernels as k
from . import tiling_kernels as low
from .tiling_sweeps import CUBIC, cublas, matrices, square_grid, work

# the last rung: sizes of tiles, chosen on an H200
BEST = {"BM": 128, "BN": 128, "BK": 8, "TM": 8, "TN": 8, "WM": 32, "WN": 64, "GROUP": 4, "BLOCKS": 2}
SIDES = (1, 2, 4, 8)  # of the register tiles that are compared
FEW = 20  # timed launches of what takes long


def register_tile(tm: int, tn: int) -> Kernel:
    """`REGISTER_TILE` with tm x tn elements a thread."""
    return k.REGISTER_TILE.define(TM=tm, TN=tn)


def vectors(lanes: int, pad: int = 4) -> Kernel:
    """`VECTORS` with an order of its lanes and `pad` unused floats behind each row of A's tile."""
    return k.VECTORS.define(LANES=lanes, PAD=pad)


def buffered(sizes: Mapping[str, int] = BEST) -> Kernel:
    """`BUFFERED` with these sizes."""
    return Kernel(k.BUFFERED.name, k.BUFFERED.source, (*OPTIONS, *(f"-D{n}={v}" for n, v in sizes.items())))


def threads_of(sizes: Mapping[str, int]) -> int:
    """Threads of a block of `BUFFERED`: 32 for each of its warps' tiles."""
    return 32 * (sizes["BM"] // sizes["WM"]) * (sizes["BN"] // sizes["WN"])


def shared_of(sizes: Mapping[str, int]) -> int:
    """Bytes of the two slices of A and B that a block of `BUFFERED` holds."""
    return 2 * 4 * sizes["BK"] * (sizes["BM"] + 4 + sizes["BN"])


def register_tile_point(columns: Mapping[str, int | str], tm: int, tn: int, n: int) -> Point:
    """A product of n x n floats by `REGISTER_TILE`."""
    grid = (n // (16 * tn), n // (16 * tm))
    return Point(columns, register_tile(tm, tn), grid, (16, 16), matrices(n, n), **work(n), n=FEW)


def buffered_point(columns: Mapping[str, int | str], n: int, sizes: Mapping[str, int] = BEST) -> Point:
    """A product of n x n floats by `BUFFERED`."""
    grid = (n // sizes["BM"] * (n // sizes["BN"]),)
    shared, block = shared_of(sizes), (threads_of(sizes),)
    return Point(columns, buffered(sizes), grid, block, matrices(n, n), **work(n), shared=shared, n=FEW)


def low_rungs(n: int) -> list[Point]:
    """Chapter 02's kernels: the bad mapping, the coalesced one, tiles of 32."""
    variants = {"naive": low.NAIVE, "coalesced": low.COALESCED, "tiled 32": low.TILED.define(TILE=32)}
    return [
        Point(
            {"variant": name, "size": n},
            kernel,
            square_grid(n, 32),
            (32, 32),
            matrices(n, n),
            **work(n),
            n=FEW,
        )
        for name, kernel in variants.items()
    ]


def high_rungs(n: int) -> list[Point]:
    """From 8 x 8 elements a thread to the double buffer."""
    wide = {"16-byte loads": vectors(0), "warp tiles": vectors(2)}
    grid = (n // 128, n // 128)
    return [
        register_tile_point({"variant": "8 x 8 a thread", "size": n}, 8, 8, n),
        *(
            Point({"variant": name, "size": n}, kernel, grid, (256,), matrices(n, n), **work(n), n=FEW)
            for name, kernel in wide.items()
        ),
        buffered_point({"variant": "double buffer", "size": n}, n),
    ]


def ladder(n: int) -> list[Point]:
    """All rungs, the slowest first."""
    one_column = register_tile_point({"variant": "8 x 1 a thread", "size": n}, 8, 1, n)
    return [*low_rungs(n), one_column, *high_rungs(n)]


def sides(n: int) -> list[Point]:
    """Every register tile with sides of `SIDES`."""
    return [register_tile_point({"TM": tm, "TN": tn}, tm, tn, n) for tm in SIDES for tn in SIDES]


def library(n: int) -> list[Call]:
    """The same product by cuBLAS, in full fp32."""
    return cublas(n)


# The last rungs at other sizes are modelled from the counts of `register_tiling_4096` (small = 0).
SWEEPS = (
    Sweep("register_tiling_4096", "rows", 4096, ladder, 256, CUBIC, library),
    Sweep("register_tiling_2048", "rows", 2048, high_rungs, 0, CUBIC, library),
    Sweep("register_tiling_8192", "rows", 8192, high_rungs, 0, CUBIC, library),
    Sweep("register_tiling_sides", "rows", 4096, sides, 128, CUBIC),
)
