"""Chapter 06, occupancy: the launches that are timed on a GPU.

With 50 launches per row: 2 s for `occupancy_loads`, 3 s each for `occupancy_coarse` and `occupancy_spills`.
"""

from typing import Any

import numpy as np

from ..gpus import DEFAULT, gpu
from ..occupancy import occupancy
from ..points import LINEAR, Arguments, Built, Point, Sweep, floats
from . import occupancy_kernels as k

CUBIC = (3, 2, 2)  # how counts, blocks and distinct bytes grow with n

# -- time against occupancy: unused shared memory holds blocks back ----------------

COUNT = 64  # floats a thread adds up
SMALL_BLOCK = 64  # threads, so that 32 blocks fill an SM
RESIDENT = (4, 8, 12, 16, 24, 32)  # blocks per SM of an H200
LOADS = (1, 2, 4, 8)
STATIC_LIMIT = 48 << 10  # bytes of shared memory that a kernel may declare
PER_BLOCK = SMALL_BLOCK * COUNT  # floats
WHOLE_WAVES = 15 * gpu(DEFAULT).sms * 32  # blocks: with any of RESIDENT they run in whole waves


def reserved_bytes(blocks: int) -> int:
    """Shared bytes with which `blocks` blocks fit on an SM of an H200, and no more."""
    arch = gpu(DEFAULT).architecture
    share = arch.shared_per_sm_bytes // blocks // arch.shared_unit_bytes * arch.shared_unit_bytes
    reserved = min(share - arch.shared_reserved_bytes, STATIC_LIMIT)
    if occupancy(SMALL_BLOCK, 32, reserved, DEFAULT).blocks != blocks:
        raise ValueError(f"{reserved} bytes do not make {blocks} blocks")
    return reserved


def loads(n: int) -> list[Point]:
    """n floats added up, 64 by each thread, for 8 to 64 resident warps and 1 to 8 loads in flight in each."""
    blocks = n // PER_BLOCK

    def arguments(cp: Any) -> tuple:
        return (cp.zeros(blocks * SMALL_BLOCK, cp.float32), floats(cp, n), np.int32(COUNT))

    return [
        Point(
            {"loads": count, "warps": resident * SMALL_BLOCK // 32},
            k.ADD_UP.define(LOADS=count, RESERVED=reserved_bytes(resident)),
            (blocks,),
            (SMALL_BLOCK,),
            arguments,
            4 * n,
        )
        for count in LOADS
        for resident in RESIDENT
    ]


# -- coarsening: fewer warps, each with more to do ---------------------------------


def product(n: int, per: int, blocks: int, columns: dict[str, int | str]) -> Built:
    """C = A B of n x n floats, per x per elements a thread; `blocks` per SM are asked for, 0: none."""
    side = -(-n // (16 * per))
    unknown = {"registers": -1, "local_bytes": -1}
    return Built(
        columns | unknown, k.coarse(per, blocks), (side, side), (16, 16), matrices(n), 12 * n * n, 2 * n**3
    )


def coarse(n: int) -> list[Point]:
    """1, 4, 16 or 64 elements a thread."""
    return [product(n, per, 0, {"per": per}) for per in (1, 2, 4, 8)]


def spills(n: int) -> list[Point]:
    """64 elements a thread, with as few registers as 1 to 8 blocks on an SM leave each thread."""
    return [product(n, 8, blocks, {"blocks": blocks}) for blocks in (1, 3, 4, 5, 6, 8)]


def matrices(n: int) -> Arguments:
    """C, A, B and n."""

    def make(cp: Any) -> tuple:
        a, b = (floats(cp, n * n).reshape(n, n) for _ in "ab")
        return (cp.zeros((n, n), cp.float32), a, b, np.int32(n))

    return make


# `occupancy_spills` is never modelled (small = 0): spilled registers are loads and stores of the machine
# code, and the model knows those of the PTX only.
SWEEPS = (
    Sweep("occupancy_loads", "floats", WHOLE_WAVES * PER_BLOCK, loads, 16 * PER_BLOCK, LINEAR),
    Sweep("occupancy_coarse", "rows", 4096, coarse, 128, CUBIC),
    Sweep("occupancy_spills", "rows", 4096, spills, 0, CUBIC),
)
