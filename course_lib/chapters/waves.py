"""Chapter 07, wave quantization: how many waves a launch takes, which SM does what when, and the time of it.

Nothing here runs a kernel. All of it follows from numbers of blocks, SMs and clocks, so it is "modelled".
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from ..gpus import Gpu, measured_of
from ..gpus import gpu as find_gpu
from . import wave_kernels as k

FMA_CLOCKS = 4  # until the result of a multiply-add can be used (for Volta: arXiv 1804.06826)
SCHEDULERS = 4  # of an SM: one warp instruction a clock each


def tiles(rows: int, columns: int, tile: tuple[int, int]) -> int:
    """Tiles of `tile` rows and columns that cover a matrix; those at the edges may be mostly empty."""
    return -(-rows // tile[0]) * -(-columns // tile[1])


def waves(blocks: int, sms: int, per_sm: int = 1) -> list[int]:
    """Blocks of each wave: as many as there are places while they last, then the tail.

    >>> waves(160, 148)
    [148, 12]
    """
    places = sms * per_sm
    full, tail = divmod(blocks, places)
    return [places] * full + ([tail] if tail else [])


def efficiency(blocks: int, sms: int, per_sm: int = 1) -> float:
    """The share of the places that have a block, over all waves: 1 when the last wave is full."""
    return blocks / (len(waves(blocks, sms, per_sm)) * sms * per_sm)


@dataclass(frozen=True)
class Turn:
    """A block, or part of one, in a place on an SM: from `start` to `end`. `wave` counts from 0."""

    place: int
    start: float
    end: float
    wave: int


def hardware_order(costs: Sequence[float], places: int) -> list[Turn]:
    """The GPU's own way: the next block goes to the place that is free first. `costs`: their times."""
    free = [(0.0, place) for place in range(places)]
    turns, taken = [], [0] * places
    for cost in costs:
        start, place = heapq.heappop(free)
        turns.append(Turn(place, start, start + cost, taken[place]))
        taken[place] += 1
        heapq.heappush(free, (start + cost, place))
    return turns


def fixed_order(costs: Sequence[float], places: int) -> list[Turn]:
    """Blocks that stay: place p takes the tiles p, p + places, p + 2 places, whatever they cost."""
    turns, now = [], [0.0] * places
    for tile, cost in enumerate(costs):
        place = tile % places
        turns.append(Turn(place, now[place], now[place] + cost, tile // places))
        now[place] += cost
    return turns


def equal_shares(count: int, places: int) -> list[Turn]:
    """Blocks that stay and share out the work within the tiles: `count` tiles of cost 1, cut anywhere."""
    turns = []
    for place in range(places):
        next_, end = Fraction(count * place, places), Fraction(count * (place + 1), places)
        first, piece = next_, 0
        while next_ < end:
            stop = min(end, Fraction(int(next_) + 1))
            turns.append(Turn(place, float(next_ - first), float(stop - first), piece))
            next_, piece = stop, piece + 1
    return turns


def split(count: int, parts: int, places: int) -> list[Turn]:
    """Every tile in `parts` blocks of cost 1/parts."""
    return hardware_order([1 / parts] * (count * parts), places)


def finish(turns: Sequence[Turn]) -> float:
    """When the last of them ends."""
    return max(turn.end for turn in turns)


# -- the time of the recorded kernels ----------------------------------------------


def block_clocks(resident: int, chains: int, threads: int, units: float) -> float:
    """Clocks that `resident` blocks on one SM take together.

    A chain of multiply-adds needs `FMA_CLOCKS` for each; a scheduler starts one instruction a clock. The
    slower of the two sets the pace.
    """
    each = units * k.STEPS
    waits = FMA_CLOCKS * each / chains
    issues = resident * -(-threads // (32 * SCHEDULERS)) * each
    return max(waits, issues)


def predicted_ms(
    blocks: int, *, chains: int, threads: int, resident: int, units: float, gpu: str | Gpu = "H200"
) -> float:
    """Milliseconds of a launch of `one_each`: whole waves, the tail spread over the SMs, and the launch.

    Args:
        blocks: tiles, one a block.
        chains, threads, units: as in `wave_kernels`.
        resident: blocks that fit on an SM.
    """
    found = find_gpu(gpu)
    full, tail = divmod(blocks, found.sms * resident)
    clocks = full * block_clocks(resident, chains, threads, units)
    if tail:
        clocks += block_clocks(-(-tail // found.sms), chains, threads, units)
    return 1e3 * clocks / found.clock_hz + launch_ms(found)


def predicted_cure_ms(variant: str, count: int, units: int, parts: int, gpu: str | Gpu = "H200") -> float:
    """Milliseconds of a launch of `wave_sweeps.cures`: the busiest SM's share of the work, and the launch.

    Raises KeyError for an unknown variant.
    """
    found = find_gpu(gpu)
    busiest = {
        "a block a tile": -(-count // found.sms),
        "persistent": -(-count // found.sms),
        "split in 4": -(-count * parts // found.sms) / parts,
        "equal shares": count / found.sms,
    }[variant]
    clocks = block_clocks(1, 4, 256, busiest * units)
    return 1e3 * clocks / found.clock_hz + launch_ms(found)


def launch_ms(gpu: Gpu) -> float:
    """What a launch takes, as measured on an H200."""
    return 1e-3 * (measured_of(gpu).launch_us or 0)
