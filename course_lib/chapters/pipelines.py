"""Chapter 10, pipelines: a small model of tiles that are loaded while others are used.

On an SM some blocks stay, and each works through its tiles. A tile is asked for, is there after the latency
of DRAM, and is then used.

* Arriving tiles of an SM are at least as far apart as its share of DRAM's bandwidth allows.
* Alone, a block uses a tile in `CLOCKS_EACH` clocks for each instruction of a warp: the next one needs its
  result (chapter 07), and two warps on a scheduler are too few to fill the gaps.
* Blocks on one SM do not disturb each other, until its busiest unit (counted) is never idle.

When the next tile is asked for is what distinguishes the kernels (`Scheme`).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from heapq import heappop, heappush
from itertools import count

import numpy as np

from ..gpus import DEFAULT, WARP, Gpu, measured_of
from ..gpus import gpu as find_gpu
from ..metric_names import INSTRUCTIONS, WAVEFRONTS
from ..profile import profile
from . import pipeline_kernels as k
from .pipeline_sweeps import ROWS, arguments, kernel

TILES = 24  # of each block, simulated
LARGEST = 1024  # float4 in a tile of which three are 48 KB, what a kernel may declare
CLOCKS_EACH = 4  # from an instruction to the next that needs its result


@dataclass(frozen=True)
class Scheme:
    """`ahead`: which tile after this one is asked for; at the end of this one's use, or at its start.

    So many tiles of a block are in flight at most, while none or another is used.
    """

    buffers: int
    ahead: int
    at_end: bool


def one_buffer() -> Scheme:
    """Ask, wait, use, and only then ask for the next."""
    return Scheme(1, 1, True)


def staged(stages: int) -> Scheme:
    """While one of `stages` buffers is used, the others are in flight; one buffer: `one_buffer`."""
    return one_buffer() if stages == 1 else Scheme(stages, stages - 1, False)


def producers(stages: int) -> Scheme:
    """A buffer is asked for again as soon as it is empty, by warps that do nothing else."""
    return Scheme(stages, stages, True)


@dataclass(frozen=True)
class Costs:
    """Clocks of an SM for a tile.

    `latency` of DRAM, `transfer` of the bytes at the SM's share of DRAM, `use` by a block alone, and `unit`:
    how long that keeps the busiest unit of the SM.
    """

    latency: float
    transfer: float
    use: float
    unit: float


@dataclass(frozen=True)
class Span:
    """One tile of a block, in clocks: asked for, complete in shared memory, used from and to."""

    block: int
    tile: int
    asked: float
    arrived: float
    start: float
    end: float


def simulate(scheme: Scheme, costs: Costs, blocks: int = 1, tiles: int = TILES) -> list[Span]:
    """The tiles of all blocks of one SM, in the order in which their use ends."""
    return _Simulation(scheme, costs, blocks, tiles).run()


class _Simulation:
    """Events in the order of time: (clock, number, what happens, block, tile)."""

    def __init__(self, scheme: Scheme, costs: Costs, blocks: int, tiles: int) -> None:
        self.scheme, self.costs, self.tiles = scheme, costs, tiles
        self.events: list[tuple] = []
        self.numbers = count()  # of events at the same clock, the first comes first
        self.asked, self.arrived = {}, {}  # (block, tile) -> clock
        self.next, self.busy = [0] * blocks, [False] * blocks
        self.way_free = self.unit_free = -np.inf
        self.spans: list[Span] = []
        for block in range(blocks):
            for tile in range(min(scheme.ahead, tiles)):
                self._at(0.0, self._ask, block, tile)

    def run(self) -> list[Span]:
        while self.events:
            clock, _, happens, block, tile = heappop(self.events)
            happens(clock, block, tile)
        return self.spans

    def _at(self, clock: float, happens, block: int, tile: int) -> None:
        heappush(self.events, (clock, next(self.numbers), happens, block, tile))

    def _ask(self, clock: float, block: int, tile: int) -> None:
        self.asked[block, tile] = clock
        self.way_free = max(clock + self.costs.latency, self.way_free + self.costs.transfer)
        self._at(self.way_free, self._arrive, block, tile)

    def _arrive(self, clock: float, block: int, tile: int) -> None:
        self.arrived[block, tile] = clock
        self._use(clock, block)

    def _use(self, clock: float, block: int) -> None:
        tile = self.next[block]
        if self.busy[block] or (block, tile) not in self.arrived:
            return
        self.busy[block], self.next[block] = True, tile + 1
        self.unit_free = max(clock, self.unit_free) + self.costs.unit
        end = max(clock + self.costs.use, self.unit_free)
        asked, arrived = self.asked[block, tile], self.arrived[block, tile]
        self.spans.append(Span(block, tile, asked, arrived, clock, end))
        if not self.scheme.at_end:
            self._ask_ahead(clock, block, tile)
        self._at(end, self._end, block, tile)

    def _end(self, clock: float, block: int, tile: int) -> None:
        self.busy[block] = False
        if self.scheme.at_end:
            self._ask_ahead(clock, block, tile)
        self._use(clock, block)

    def _ask_ahead(self, clock: float, block: int, tile: int) -> None:
        if tile + self.scheme.ahead < self.tiles:
            self._at(clock, self._ask, block, tile + self.scheme.ahead)


def period(spans: Iterable[Span]) -> float:
    """Clocks of the SM for each tile, once the pipeline is full: over the second half of the tiles."""
    ends = np.sort([span.end for span in spans])
    half = len(ends) // 2
    return float((ends[-1] - ends[half - 1]) / (len(ends) - half))


# -- costs, from counts and from the table of GPUs -------------------------------------


def per_tile(variant: str, stages: int, tile: int, metric: str) -> float:
    """A count for each tile of one block: of 6 tiles, less that of 2, over 4.

    Tiles beyond `LARGEST` are counted as several of it.
    """
    if tile > LARGEST:
        return tile / LARGEST * per_tile(variant, stages, LARGEST, metric)
    many, few = (_counts(variant, stages, tile, tiles)[metric] for tiles in (6, 2))
    return (many - few) / 4


@cache
def _counts(variant: str, stages: int, tile: int, tiles: int) -> dict[str, float]:
    from .. import standin as cp

    source, threads, _ = kernel(variant, stages)
    compiled = k.tiled(source, tile, stages).compile(cp)
    args = arguments(tiles * tile // k.ROW, tile)(cp)
    return dict(profile(compiled, (1,), (threads,), args))


@cache
def costs(variant: str, stages: int, tile: int, gpu: str | Gpu = DEFAULT) -> Costs:
    """What a tile of `tile` float4 costs a variant; latency and rates as measured, or as on the H200."""
    found = find_gpu(gpu)
    measured = measured_of(found)
    read = (found.measured and found.measured.dram_read_gb_per_s) or found.memory.dram_gb_per_s
    copy = (found.measured and found.measured.copy_gb_per_s) or found.memory.dram_gb_per_s
    seconds = tile * (k.FLOAT4 / read + 4 * (2 / copy - 1 / read)) / 1e9  # of the whole chip
    instructions, wavefronts = (
        per_tile(*_counted_like(variant, stages), tile, metric) for metric in (INSTRUCTIONS, WAVEFRONTS)
    )
    rates = found.architecture.rates
    return Costs(
        latency=measured.dram_latency_us * 1e-6 * found.clock_hz,
        transfer=found.clock_hz * seconds * found.sms,
        use=CLOCKS_EACH * instructions / (k.THREADS // WARP),
        unit=max(instructions / rates.issue, wavefronts / rates.shared_wavefronts),
    )


def _counted_like(variant: str, stages: int) -> tuple[str, int]:
    """Whose counts stand for a variant: a few stages for many, as their loops are the same.

    The barriers of `one producer` are loops: what they execute depends on how long they wait.
    """
    if variant == "stages":
        return variant, min(stages, 3)
    return ("producer warps" if variant == "one producer" else variant), 2


def scheme(variant: str, stages: int) -> Scheme:
    """How a variant of `pipeline_sweeps` asks for its tiles."""
    if variant == "one buffer":
        return one_buffer()
    if variant == "registers":
        return staged(2)
    return staged(stages) if variant == "stages" else producers(stages)


def predicted_ms(
    variant: str, stages: int, tile: int, blocks: int, rows: int = ROWS, gpu: str | Gpu = DEFAULT
) -> float:
    """Milliseconds for `rows` rows of X with `blocks` blocks on every SM."""
    found = find_gpu(gpu)
    measured = measured_of(found)
    spans = simulate(scheme(variant, stages), costs(variant, stages, tile, gpu), blocks)
    clocks = period(spans) * rows * k.ROW / tile / found.sms
    return clocks / found.clock_hz * 1e3 + measured.launch_us * 1e-3


def bytes_in_flight(scheme: Scheme, tile: int, blocks: int) -> int:
    """Bytes of X in flight to an SM at most."""
    return scheme.ahead * blocks * tile * k.FLOAT4


def little_bytes(gpu: str | Gpu = DEFAULT) -> float:
    """Little's law: bytes that must be in flight for an SM to keep its share of DRAM busy."""
    found = find_gpu(gpu)
    measured = measured_of(found)
    rate = (found.measured and found.measured.dram_read_gb_per_s) or found.memory.dram_gb_per_s
    return rate * 1e9 * measured.dram_latency_us * 1e-6 / found.sms
