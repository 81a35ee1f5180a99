"""Chapter 07, wave quantization: the launches that are timed on a GPU.

With 50 launches per row: 1 to 3 s a sweep. The numbers of blocks are those that matter on the 132 SMs of an
H200.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..gpus import DEFAULT, gpu
from ..kernels import Kernel
from ..occupancy import occupancy
from ..points import LOOP, Arguments, Call, Point, Sweep, floats, no_points
from . import wave_kernels as k

SMS = gpu(DEFAULT).sms
ROOM = {1: 120 << 10, 2: 100 << 10, 4: 50 << 10}  # blocks per SM -> shared bytes with which so many fit
WAITING, FILLING = 128, 256  # threads of a block
RECORDED_UNITS = 512  # of a tile


def room(resident: int, threads: int) -> int:
    """Shared bytes with which `resident` blocks fit on an SM of an H200, and no more."""
    if occupancy(threads, 32, ROOM[resident], gpu(DEFAULT)).blocks != resident:
        raise ValueError(f"{ROOM[resident]} bytes do not make {resident} blocks")
    return ROOM[resident]


def around(wave: int, parts: int, waves: int = 4) -> list[int]:
    """Numbers of blocks up to `waves` waves of `wave` blocks, `parts` in each, and one past whole ones."""
    steps = {wave * part // parts for part in range(parts // 2, waves * parts + 1)}
    return sorted(steps | {wave * whole + 1 for whole in range(1, waves)})


def one_each(chains: int, threads: int, resident: int, blocks: Iterable[int], units: int) -> list[Point]:
    """One tile a block, for several numbers of blocks."""
    kernel, shared = k.chains(k.ONE_EACH, chains), room(resident, threads)
    return [
        Point(
            {"blocks": count},
            kernel,
            (count,),
            (threads,),
            arguments(count, threads, units),
            flops=2 * count * threads * units * k.STEPS,
            warm=True,
            shared=shared,
        )
        for count in blocks
    ]


def arguments(tiles: int, threads: int, units: int) -> Arguments:
    """Results, tiles, units and 1."""
    return lambda cp: (
        cp.zeros(tiles * threads, cp.float32),
        np.int32(tiles),
        np.int32(units),
        np.float32(1),
    )


# -- steps: time against the number of blocks --------------------------------------


def waiting(units: int) -> list[Point]:
    """One warp to a scheduler, each multiply-add waiting for the last; 2 blocks an SM, in nobody's way."""
    return one_each(1, WAITING, 2, around(2 * SMS, 8), units)


def filling(units: int) -> list[Point]:
    """A block keeps its SM busy and has it for itself."""
    return one_each(4, FILLING, 1, around(SMS, 6), units)


def sharing(units: int) -> list[Point]:
    """The same block, but 4 of them on an SM at once: each is four times slower."""
    return one_each(4, FILLING, 4, around(4 * SMS, 8), units)


def many(units: int) -> list[Point]:
    """The block that has its SM for itself, in some 50 waves: a wave more or less is 2 %."""
    blocks = [49 * SMS, 49 * SMS + 66, *(50 * SMS + more for more in (-1, 0, 1, 66)), 51 * SMS]
    return one_each(4, FILLING, 1, blocks, units)


# -- cures: the same tiles, shared out in other ways -------------------------------

TILES = (98, 120, 132, 133, 160, 198, 264, 265, 330, 396, 397)
PARTS = 4


def cures(units: int) -> list[Point]:
    """Tiles of a block that fills its SM: a block each, in 4 parts, or by 132 blocks that stay."""
    return [cure(name, tiles, units) for name in CURES for tiles in TILES]


def cure(name: str, tiles: int, units: int) -> Point:
    """One launch of `cures`."""
    kernel, grid = CURES[name]
    return Point(
        {"variant": name, "tiles": tiles},
        k.chains(kernel, 4),
        grid(tiles),
        (FILLING,),
        arguments(tiles, FILLING, units),
        flops=2 * tiles * FILLING * units * k.STEPS,
        warm=True,
        shared=room(1, FILLING),
    )


CURES: dict[str, tuple[Kernel, Callable[[int], tuple[int, ...]]]] = {
    "a block a tile": (k.ONE_EACH, lambda tiles: (tiles,)),
    "persistent": (k.PERSISTENT, lambda tiles: (min(tiles, SMS),)),
    "split in 4": (k.SPLIT, lambda tiles: (tiles, PARTS)),
    "equal shares": (k.SHARES, lambda tiles: (SMS,)),
}


# -- matrix products of cuBLAS: alignment against waves ----------------------------

ODD_SIZES = range(1785, 1801)
EVEN_SIZES = (*range(1536, 2561, 64), 2040, 2056, 2064)
ALIGNED = 8  # float16 elements in 16 bytes


def gemm(size: int) -> list[Call]:
    """float16 products by cuBLAS: around 1792, multiples of 64, and odd sizes copied to padded rows."""
    packed = sorted({*ODD_SIZES, *EVEN_SIZES})
    calls = [_product("packed", n, lambda cp, n=n: packed_product(cp, n)) for n in packed]
    ragged = [n for n in ODD_SIZES if n % ALIGNED]
    return calls + [_product("padded", n, lambda cp, n=n: padded_product(cp, n)) for n in ragged]


def _product(variant: str, n: int, launcher: Callable[[Any], Callable[[], object]]) -> Call:
    return Call({"variant": variant, "size": n}, launcher, useful_bytes=6 * n * n, flops=2 * n**3)


def halves(cp: Any, n: int) -> Any:
    """n x n float16 values."""
    return floats(cp, n * n).reshape(n, n).astype(cp.float16)


def packed_product(cp: Any, n: int) -> Callable[[], object]:
    """A B of n x n float16, rows one after the other."""
    a, b, c = (halves(cp, n) for _ in "abc")
    return _run_once(lambda: cp.matmul(a, b, out=c))


def padded_product(cp: Any, n: int) -> Callable[[], object]:
    """The same, A and B copied to rows of a multiple of 16 bytes first; the copies are part of the time."""
    a, b = halves(cp, n), halves(cp, n)
    rows = -(-n // ALIGNED) * ALIGNED
    wide_a, wide_b, wide_c = (cp.zeros((rows, rows), cp.float16) for _ in "abc")
    inner_a, inner_b, inner_c = (wide[:n, :n] for wide in (wide_a, wide_b, wide_c))

    def product() -> Any:
        inner_a[...] = a
        inner_b[...] = b
        cp.matmul(wide_a, wide_b, out=wide_c)
        return inner_c

    return _run_once(product)


def _run_once(call: Callable[[], object]) -> Callable[[], object]:
    """The call, after the first one, which chooses and loads kernels."""
    call()
    return call


# `waves_cures` and `waves_many` are not modelled (small = 0). The model takes a launch's work as spread
# evenly over its blocks, and blocks that stay and stride over whole tiles have unequal work; 50 waves are too
# many blocks to count one by one. The chapter predicts both from its waves.
SWEEPS = (
    Sweep("waves_waiting", "units a tile", RECORDED_UNITS, waiting, 2, LOOP),
    Sweep("waves_filling", "units a tile", RECORDED_UNITS, filling, 2, LOOP),
    Sweep("waves_sharing", "units a tile", RECORDED_UNITS, sharing, 2, LOOP),
    Sweep("waves_many", "units a tile", 64, many, 0, LOOP),
    Sweep("waves_cures", "units a tile", RECORDED_UNITS, cures, 0, LOOP),
    Sweep("waves_gemm", "around it, rows", 1792, no_points, 0, LOOP, gemm),
)
