"""Chapter 08, flash attention: bytes and times of long sequences, from counts of one block.

A block does the same for every key, so whatever is counted grows linearly with the keys. Two small launches
of a single block give the line; blocks and keys of a long sequence do the rest.
"""

from collections.abc import Mapping
from functools import cache

import numpy as np

from .. import standin
from ..agreement import Agreement, compare
from ..evidence import recording
from ..gpus import DEFAULT, WARP, Gpu, gpu
from ..metric_names import BLOCKS, REGISTERS
from ..model import ModelledTime, modelled_time
from ..occupancy import occupancy
from ..points import Point
from ..profile import profile
from . import flash_sweeps as sweeps
from .flash_sweeps import KEYS, QUERIES, WIDTH

NAIVE = ("scores", "softmax", "apply")  # the three kernels, in order
FEW, MORE = KEYS, 3 * KEYS  # keys of the two launches behind every line
_UNIQUE = "course__unique_{}"


# -- bytes -------------------------------------------------------------------------


def asked_bytes(s: int, width: int, queries: int) -> dict[str, dict[str, int]]:
    """Bytes that the kernels ask of memory for one head without a mask, by kernel and by what they are.

    `s`: queries and keys; `width`: floats of a row; `queries`: of a block. Sectors are whole for a `s` and a
    `width` that 8 divides; then 32 times the counted sectors are the same number.
    """
    rows, matrix, blocks = 4 * s * width, 4 * s * s, -(-s // queries)
    return {
        "scores": {"Q and out": rows, "K and V": blocks * rows, "matrix": matrix},
        "softmax": {"Q and out": 0, "K and V": 0, "matrix": 4 * matrix},
        "apply": {"Q and out": rows, "K and V": blocks * rows, "matrix": matrix},
        "flash": {"Q and out": 2 * rows + 4 * s, "K and V": 2 * blocks * rows, "matrix": 0},
    }


def distinct_bytes(variant: str, s: int, heads: int) -> tuple[int, int]:
    """Distinct bytes that a kernel of the sweep loads and stores."""
    rows, matrix = 4 * s * WIDTH * heads, 4 * s * s * heads
    return {
        "scores": (2 * rows, matrix),
        "softmax": (matrix, matrix),
        "online": (matrix, matrix),
        "apply": (matrix + rows, rows),
        "flash": (3 * rows, rows + 4 * s * heads),
        "flash causal": (3 * rows, rows + 4 * s * heads),
    }[variant]


def together(*profiles: Mapping[str, float]) -> dict[str, float]:
    """Counts of several launches, added up."""
    return {
        name: sum(p[name] for p in profiles)
        for name in profiles[0]
        if name.endswith(".sum") or name.startswith(("memory_", "course__unique"))
    }


# -- times -------------------------------------------------------------------------


def modelled(variant: str, s: int, heads: int, on: str | Gpu = DEFAULT) -> ModelledTime:
    """Modelled time of one kernel of the sweep `flash_attention`, s a multiple of 128."""
    few, more = _block("flash" if variant == "flash causal" else variant)
    queries = 32 if variant in ("softmax", "online") else QUERIES
    blocks = s // queries
    keys = queries * blocks * (blocks + 1) // 2 if variant == "flash causal" else s * blocks
    counts = dict(few)
    for name, value in few.items():
        if name.endswith(".sum") or name.startswith("memory_"):
            slope = (more[name] - value) / (MORE - FEW)
            counts[name] = heads * (blocks * (value - FEW * slope) + keys * slope)
    loaded, stored = distinct_bytes(variant, s, heads)
    counts[BLOCKS] = heads * blocks
    loaded *= _passes(variant, counts, s, on)
    counts |= {_UNIQUE.format(n): loaded for n in ("dram_bytes_ld", "pair_bytes_ld")}
    counts[_UNIQUE.format("dram_bytes_st")] = stored
    return modelled_time(counts, on)


def _passes(variant: str, counts: Mapping[str, float], s: int, on: str | Gpu) -> int:
    """How often the matrix comes from DRAM: once, or once a pass where L2 cannot hold the rows in work."""
    passes = {"softmax": 3, "online": 2}.get(variant, 1)
    found = gpu(on)
    resident = occupancy(256, int(counts[REGISTERS]), 2048, on).blocks * found.sms
    in_work = min(resident, counts[BLOCKS]) * WARP * s * 4
    return passes if in_work > found.l2.size_bytes else 1


@cache
def _block(variant: str) -> tuple[Mapping[str, float], Mapping[str, float]]:
    """Counts of one block with few keys and with more."""
    return _one_block(variant, FEW), _one_block(variant, MORE)


def _one_block(variant: str, keys: int) -> Mapping[str, float]:
    """The first block of a launch whose queries are those of one block and whose keys are `keys`."""
    point = _point(variant)
    queries = 32 if variant in ("softmax", "online") else QUERIES
    args = list(point.arguments(standin))
    whole = [i for i, value in enumerate(args) if isinstance(value, np.int32)]
    args[whole[0]], args[whole[1]] = np.int32(queries), np.int32(keys)
    if "shift" in point.kernel.source.split("extern")[1].split("{")[0]:
        args[whole[3]] = np.int32(keys)
    return profile(point.compiled(standin), (1, 1), point.block, tuple(args))


def _point(variant: str) -> Point:
    """A point of the sweep with arrays large enough for one block."""
    side = max(QUERIES, MORE)
    made = [*sweeps.naive(side, 1), sweeps.online(side, 1), sweeps.flash(side, 1, {"variant": "flash"})]
    return next(point for point in made if point.columns["variant"] == variant)


def naive_ms(s: int, heads: int, on: str = DEFAULT) -> float:
    """Modelled milliseconds of the three kernels."""
    return sum(modelled(variant, s, heads, on).ms for variant in NAIVE)


def agreement(on: str = DEFAULT) -> Agreement | None:
    """Modelled beside recorded times of every kernel of the sweep; None where nothing is recorded."""
    table = recording("flash_attention", on)
    if table is None:
        return None
    points = [point.columns for point in sweeps.attention(sweeps.SWEEPS[0].size)]
    times = [modelled(str(c["variant"]), int(c["sequence"]), int(c["heads"]), on) for c in points]
    return compare(table, times)
