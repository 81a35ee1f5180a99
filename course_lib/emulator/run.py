"""Launching a program: its memory map, parameters and limits, and the order its blocks run in.

Blocks run in chunks, in an order that `seed` shuffles; a chunk that only spins is set aside
so that the blocks it waits for can run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from .chunk import Chunk
from .errors import LaunchError
from .global_races import GlobalRaces
from .hazards import HazardLog
from .lanes import Geometry
from .local import LocalMemory
from .memory import GlobalMemory
from .tally import Tally
from .undefined import is_undefined

if TYPE_CHECKING:
    from .prepared import Prepared
    from .trace import Trace

CHUNK_LANES = 32_768
CHUNK_BYTES = 128 << 20
STEP_BUDGET = 1_000_000
MOST_THREADS = 1 << 29
SEEDED_CHUNKS = 16
SEEDED_BLOCKS = 1 << 24  # a larger grid keeps its order


class Launch:
    """One kernel launch: memory map, parameters, limits and what is being observed."""

    def __init__(self, prepared: Prepared, observe: dict[int, int] | None, scratch: bool) -> None:
        program = self.program = prepared.program
        geometry = self.geometry = Geometry(prepared.grid, prepared.block)
        _check_size(program.kernel, geometry)
        self.shared_size = program.static_shared + prepared.shared_mem
        self.memory = GlobalMemory(scratch)
        self.symbols = program.map_variables(self.memory)
        self.arrays: dict[str, int] = {}
        self.undefined = {r.start for r, owner in self.memory.add_kept() if is_undefined(owner)}
        self.values = self._pack(prepared.parameters, prepared.names)
        self._cache: dict[tuple[int, str], np.generic] = {}
        self.printed, self.print_cut = 0, False
        self.spare_local: LocalMemory | None = None  # of a chunk that has ended
        self.step_budget = prepared.step_budget or STEP_BUDGET
        self.cooperative, self.plain_barriers = prepared.cooperative, prepared.plain_barriers
        self.tally = None if observe is None else Tally(len(program.blocks), observe)
        self.hazards = None if observe is None else HazardLog(program.kernel, geometry)
        self.races = None if observe is None else GlobalRaces(self)

    def _pack(self, parameters: list, names: list[str]) -> bytes:
        """The parameter block; maps arrays, and notes where those of unwritten memory begin."""
        declared, kept = self.program.parameters, self.program.facts.kept
        end = declared[-1].offset + declared[-1].size if declared else 0
        packed = bytearray(end)
        names = names or [parameter.name for parameter in declared]
        for parameter, value, name in zip(declared, parameters, names, strict=True):
            if isinstance(value, np.ndarray):
                address = self.memory.add_array(f"array {name!r}", value)
                region = self.memory.find(address)
                if region is not None:
                    self.arrays[parameter.name] = region.start
                    if is_undefined(value):
                        self.undefined.add(region.start)
                    if kept is None or parameter.name in kept:
                        self.memory.keep(value)
                value = address.to_bytes(8, "little")
            packed[parameter.offset : parameter.offset + parameter.size] = value
        return bytes(packed)

    def parameter(self, offset: int, dtype: str) -> np.generic:
        """The scalar of `dtype` at a byte offset of the parameter block."""
        key = (offset, dtype)
        if key not in self._cache:
            self._cache[key] = np.frombuffer(self.values, np.dtype(dtype), 1, offset)[0]
        return self._cache[key]

    def take_local(self, rows: int, row: int) -> LocalMemory:
        """Fresh local memory: so many rows, one a thread, of `row` bytes."""
        spare, self.spare_local = self.spare_local, None
        return spare if spare is not None and spare.fresh(rows, row) else LocalMemory(rows, row)

    def stored_regions(self) -> list:
        """Regions of global memory that the kernel may change."""
        stored = self.program.facts.stored
        known = self.arrays | self.symbols
        starts = None if stored is None else {known[name] for name in stored if name in known}
        return [r for r in self.memory.regions if r.writable and (starts is None or r.start in starts)]


def launch(
    prepared: Prepared,
    *,
    observe: dict[int, int] | None = None,
    seed: int | None = None,
    trace: Trace | None = None,
    scratch: bool = False,
) -> Launch:
    """Run a kernel to its end.

    `observe` turns counters and hazard checks on; they are in the returned `Launch`. It is the table of
    `merged.sass_widths`, empty where every access is counted as the PTX has it. `seed` shuffles the order
    of blocks. `trace` is filled with the path of one warp, where counters are on. With `scratch` the launch
    changes no array and no variable: it works on copies.

    Raises MemoryAccessError, DeadlockError, StepBudgetError, and LaunchError above 2^29 threads.
    """
    running = Launch(prepared, observe, scratch)
    if running.tally is not None:
        running.tally.trace = trace
    fresh = _chunks(running, seed)
    following = next(fresh, None)
    paused: deque[Chunk] = deque()
    with np.errstate(all="ignore"):
        while following or paused:
            chunk = Chunk(running, *following) if following else paused.popleft()
            following = next(fresh, None)
            if chunk.run():
                running.spare_local = chunk.local
            else:
                paused.append(chunk)
    return running


def _check_size(kernel: str, geometry: Geometry) -> None:
    if geometry.blocks * geometry.threads > MOST_THREADS:
        raise LaunchError(
            f"{kernel}: {geometry.blocks:,} blocks of {geometry.threads} threads are more than the "
            f"{MOST_THREADS:,} threads that the emulator takes on. Use a smaller size"
        )


def _chunks(running: Launch, seed: int | None) -> Iterator[tuple[int, int]]:
    """(first block, number of blocks) of each chunk; with a seed, more and smaller ones, shuffled."""
    geometry = running.geometry
    block_bytes = running.shared_size + running.program.local_size * geometry.threads
    most = max(1, min(CHUNK_LANES // geometry.threads, CHUNK_BYTES // max(1, block_bytes)))
    if seed is not None:
        most = min(most, -(-geometry.blocks // SEEDED_CHUNKS))
    starts: Iterable[int] = range(0, geometry.blocks, most)
    if seed is not None and geometry.blocks <= SEEDED_BLOCKS:
        starts = np.random.default_rng(seed).permutation(starts)
    for start in starts:
        yield int(start), min(most, geometry.blocks - int(start))
