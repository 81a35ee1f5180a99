"""Launching a program: chunks of blocks, the scheduler, limits on how long it may run.

A chunk runs its fragments lowest pc first, so lanes that took a branch wait where the
paths meet. All lanes of a chunk that agree form one fragment, and then nothing is
masked, split or joined. Blocks run in an order that `seed` shuffles; a chunk that
only spins is set aside so that the blocks it waits for can run.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from . import grid_sync
from .asynchronous import Copies
from .barriers import Barriers
from .divergence import join, split
from .errors import EmulatorError, StepBudgetError
from .fragment import Fragment
from .hazards import HazardLog, SharedShadow
from .lanes import Geometry, LaneSet
from .memory import GlobalMemory, Region, poisoned
from .stack import check_depth
from .tally import Tally
from .votes import BarrierVotes

if TYPE_CHECKING:
    from .program import Block, Program

CHUNK_LANES = 32_768
CHUNK_BYTES = 128 << 20
STEP_BUDGET = 1_000_000
SPIN_PATIENCE = 64


@dataclass(frozen=True)
class Frame:
    """A caller waiting for a device function: its registers, and the block to go on with."""

    registers: list
    following: int
    returns: tuple[tuple[int, int], ...]

    def with_registers(self, registers: list) -> Frame:
        """The same frame for other lanes."""
        return replace(self, registers=registers)


class Launch:
    """One kernel launch: memory map, parameters, limits and what is being observed."""

    def __init__(self, program: Program, geometry: Geometry, parameters: list, shared_mem: int, names: list[str],
                 widths: dict[int, int] | None, step_budget: int, cooperative: bool = False) -> None:  # fmt: skip
        observe = widths is not None
        self.program = program
        self.geometry = geometry
        self.shared_size = program.static_shared + shared_mem
        self.memory = GlobalMemory()
        self.symbols = program.map_variables(self.memory)
        self.values = self._pack(parameters, names)
        self._cache: dict[tuple[int, str], np.generic] = {}
        self.tally = Tally(len(program.blocks), widths) if observe else None
        self.hazards = HazardLog(program.kernel, geometry) if observe else None
        self.printed, self.print_cut = 0, False
        self.steps_left = step_budget
        self.step_budget = step_budget
        self.cooperative = cooperative

    def _pack(self, parameters: list, names: list[str]) -> bytes:
        declared = self.program.parameters
        end = declared[-1].offset + declared[-1].size if declared else 0
        packed = bytearray(end)
        names = names or [parameter.name for parameter in declared]
        for parameter, value, name in zip(declared, parameters, names, strict=True):
            if isinstance(value, np.ndarray):
                value = self.memory.add_array(f"array {name!r}", value).to_bytes(8, "little")
            packed[parameter.offset : parameter.offset + parameter.size] = value
        return bytes(packed)

    def parameter(self, offset: int, dtype: str) -> np.generic:
        """The scalar of `dtype` at a byte offset of the parameter block."""
        key = (offset, dtype)
        if key not in self._cache:
            self._cache[key] = np.frombuffer(self.values, np.dtype(dtype), 1, offset)[0]
        return self._cache[key]


class Chunk:
    """Some consecutive blocks that run together."""

    def __init__(self, launch: Launch, first_block: int, blocks: int) -> None:
        self.launch, self.program, self.geometry = launch, launch.program, launch.geometry
        self.first_block, self.blocks = first_block, blocks
        self.hazards, self.tally = launch.hazards, launch.tally
        self.steps = 0
        threads = self.geometry.threads
        self.shared_size, self.shared_row = launch.shared_size, -(-launch.shared_size // 16) * 16
        self.local_size = self.program.local_size
        self.local_row = -(-self.local_size // 16) * 16
        self.shared_memory = poisoned((blocks * self.shared_row,))
        self.local_memory = poisoned((blocks * threads * self.local_row,))
        self.shadow = None
        if self.hazards is not None and self.shared_row:
            self.shadow = SharedShadow(blocks, self.shared_row, self.program.shared_grain, threads, self.hazards)
        lanes = LaneSet(self.geometry, np.arange(first_block, first_block + blocks), np.arange(threads), True)
        self.ready = [Fragment(self, lanes, list(self.program.initial_registers), self.program.entry_block)]
        self.barriers = Barriers(self)
        self.copies = Copies(self)
        self.votes = BarrierVotes(self)

    # -- scheduling -----------------------------------------------------------

    def run(self) -> bool:
        """Run until all threads exited (True) or until the chunk only spins (False)."""
        while True:
            if not self.ready:
                self.ready = self.barriers.release()
                if not self.ready:
                    if self.barriers.parked:
                        self.barriers.raise_deadlock()
                    return True
            fragment = self._next()
            if self._advance(fragment) and not self._someone_else(fragment):
                return False

    def _someone_else(self, spinning: Fragment) -> bool:
        """After a spin: let barriers complete and the other fragments run first."""
        self.ready = self.barriers.release() + self.ready
        others = [one for one in self.ready if one is not spinning]
        if not others:
            return False
        self.ready.remove(spinning)
        self._advance(self._next())
        self.ready.append(spinning)
        return True

    def _next(self) -> Fragment:
        """Take the fragment to run next: lowest pc, joined with all others at that pc."""
        ready = self.ready
        if len(ready) == 1:
            return ready.pop()
        best = min(self._order(one) for one in ready)
        chosen = [one for one in ready if self._order(one) == best]
        if len(chosen) == 1:
            ready.remove(chosen[0])
            return chosen[0]
        self.ready = [one for one in ready if one not in chosen]
        return join(chosen, *self.live(chosen[0], chosen[0].pc))

    def _order(self, fragment: Fragment) -> tuple:
        """Sort key: fragments that wait for the rest of their warp come last, then the pc decides."""
        return (self._waits_for_warp(fragment), *(frame.following - 1 for frame in fragment.frames), fragment.pc)

    def _waits_for_warp(self, fragment: Fragment) -> bool:
        """A `.sync` instruction names lanes that are not here yet but still run elsewhere."""
        block = self.program.blocks[fragment.pc]
        if block.member_mask is None or fragment.lanes.whole_warps:
            return False
        mask = block.member_mask
        value = fragment.registers[mask] if isinstance(mask, int) else mask
        members = fragment.lanes.to_warps(np.asarray(value).astype(np.uint32))
        wanted = (members.max(1, keepdims=True) >> np.arange(32, dtype=np.uint32)) & 1 != 0
        missing = wanted & ~fragment.lanes.active
        if not missing.any():
            return False
        warps = fragment.lanes.warps[missing.any(1)]
        return any(one is not fragment and np.isin(one.lanes.warps, warps).any() for one in self.ready)

    def live(self, fragment: Fragment, pc: int) -> tuple[list[int], list[list[int]]]:
        """Registers needed at `pc`, and in each caller's frame."""
        program = self.program
        return program.blocks[pc].live_in, [program.blocks[frame.following].live_in for frame in fragment.frames]

    # -- executing ------------------------------------------------------------

    def _advance(self, fragment: Fragment) -> bool:
        """Run a fragment until it ends, splits, waits or passes another one. True: it only spins."""
        blocks, tally, launch, barriers = self.program.blocks, self.tally, self.launch, self.barriers
        alone = not self.ready
        limit = None if alone else min(self._order(one) for one in self.ready)
        while True:
            block = blocks[fragment.pc]
            self.steps += 1
            launch.steps_left -= 1
            if launch.steps_left < 0:
                self._out_of_steps(block)
            outcome = block.run(fragment.registers, fragment)
            if tally is not None:
                tally.block(fragment.pc, fragment)
            if barriers.skipping and fragment.pc in barriers.skipping:
                barriers.check_skipping(fragment)
            if not block.leave(self, fragment, block, outcome):
                return False
            if block.spins:
                fragment.spins += 1
                if fragment.spins % SPIN_PATIENCE == 0:
                    self.ready.append(fragment)
                    return True
            if limit is not None and self._order(fragment) >= limit:
                self.ready.append(fragment)
                return False

    def _out_of_steps(self, block: Block) -> None:
        raise StepBudgetError(
            f"{self.program.kernel}: stopped after {self.launch.step_budget:,} steps near line {block.line}; "
            "the kernel probably never ends. A loop condition that no thread changes is the usual reason."
        )

    # -- what happens at the end of a basic block; each returns True to go on --

    def go_on(self, fragment: Fragment, block: Block, _: object) -> bool:
        """Fall through or jump."""
        fragment.pc = block.following
        return True

    def branch(self, fragment: Fragment, block: Block, taken: np.ndarray | np.bool_) -> bool:
        """Conditional branch; splits the fragment where its lanes disagree."""
        if taken.all():
            fragment.pc = block.target
            return True
        if not taken.any():
            fragment.pc = block.following
            return True
        if self.tally is not None:
            self.tally.diverged(fragment.pc, fragment, taken)
        for mask, pc in ((taken, block.target), (~taken, block.following)):
            self.ready.append(split(fragment, mask, pc, *self.live(fragment, pc)))
        return False

    def switch(self, fragment: Fragment, block: Block, index: np.ndarray | np.generic) -> bool:
        """`brx.idx`: every lane goes to its own entry of a table."""
        choices = np.unique(index)
        if len(choices) == 1:
            fragment.pc = block.table[int(choices[0])]
            return True
        for choice in choices:
            pc = block.table[int(choice)]
            self.ready.append(split(fragment, index == choice, pc, *self.live(fragment, pc)))
        return False

    def barrier(self, fragment: Fragment, block: Block, which: tuple) -> bool:
        """`bar.sync`; `which` are the barrier's number and the number of threads (or None), as register values."""
        number, count = which
        if np.ndim(number) or np.ndim(count):
            return self._different_barriers(fragment, block, number, count)
        if self.barriers.arrive(fragment, int(number), None if count is None else int(count)):
            fragment.pc = block.following
            return True
        return False

    def _different_barriers(self, fragment: Fragment, block: Block, number, count) -> bool:
        """Lanes wait at barriers of their own: the fragment is split by barrier."""
        number = np.broadcast_to(number, fragment.lanes.shape)
        count = np.full(fragment.lanes.shape, -1) if count is None else np.broadcast_to(count, fragment.lanes.shape)
        for one, threads in {(int(a), int(b)) for a, b in zip(number.ravel(), count.ravel(), strict=True)}:
            mask = (number == one) & (count == threads)
            part = split(fragment, mask, fragment.pc, *self.live(fragment, block.following))
            if self.barriers.arrive(part, one, None if threads < 0 else threads):
                part.pc = block.following
                self.ready.append(part)
        return False

    def call(self, fragment: Fragment, block: Block, _: object) -> bool:
        """Enter a device function: fresh registers, arguments copied over."""
        check_depth(fragment)
        callee = block.callee
        registers = list(self.program.initial_registers)
        for source, destination in block.arguments:
            registers[destination] = fragment.registers[source]
        frame = Frame(fragment.registers, block.following, block.returns)
        fragment.frames = (*fragment.frames, frame)
        fragment.registers, fragment.origin = registers, None
        fragment.pc = callee
        return True

    def leave(self, fragment: Fragment, block: Block, _: object) -> bool:
        """`ret` or `exit`: back to the caller, or the lanes are done."""
        if fragment.frames and not block.exits:
            frame = fragment.frames[-1]
            for source, destination in frame.returns:
                frame.registers[destination] = fragment.registers[source]
            fragment.frames = fragment.frames[:-1]
            fragment.registers, fragment.origin = frame.registers, None
            fragment.pc = frame.following
            return True
        self.barriers.exited(fragment)
        return False

    def trap(self, fragment: Fragment, block: Block, _: object) -> bool:
        """`trap`: the kernel asked to be aborted."""
        advice = grid_sync.advice(self.program, self.launch.cooperative)
        raise EmulatorError(f"{self.program.kernel}, line {block.line}: the kernel executed trap{advice}")

    # -- observing ------------------------------------------------------------

    def observe(self, fragment: Fragment, space: str, address, offset: int, width: int, site: int,
                store: bool, value, region: Region | None) -> None:  # noqa: ANN001  # fmt: skip
        """A memory access is about to happen: count it and check it."""
        if self.tally is None:
            return
        if region is not None:
            self.tally.touch(fragment, address, offset, region, store, site)
        self.tally.access(fragment, space, address, offset, width, site, store)
        if self.copies.waiting and space.endswith("shared"):
            self.copies.check(fragment, address, offset, width, store, site)
        if self.shadow is not None and space == "shared":
            plain = address.lanes() if hasattr(address, "lanes") else address
            offsets = plain.astype(np.int64) + offset
            self.shadow.access(fragment, offsets, width, store, self.program.line(site), value, None)

    def report_inactive(self, fragment: Fragment, undefined: np.ndarray, site: int) -> None:
        """A shuffle or vote read lanes that do not take part."""
        if self.hazards is None:
            return
        lanes = fragment.lanes.from_warps(undefined)
        block, thread = fragment.where(lanes)
        opcode = self.program.opcode(site)
        message = f"{opcode} reads a lane that does not take part; the result is undefined and was poisoned"
        self.hazards.add("inactive lane", message, self.program.line(site), block, thread, occurrences=int(lanes.sum()))


def launch(program: Program, grid: tuple[int, int, int], block: tuple[int, int, int], parameters: list,
           shared_mem: int = 0, *, observe: dict[int, int] | None = None, step_budget: int = STEP_BUDGET,
           seed: int | None = None, names: list[str] | None = None, cooperative: bool = False) -> Launch:  # fmt: skip
    """Run a kernel to its end.

    `parameters`: per kernel parameter the raw bytes of its exact size, or a NumPy array, passed as a
    pointer to its first element and changed in place. `shared_mem`: dynamic shared memory in bytes.
    `observe` turns counters and hazard checks on; they are in the returned `Launch`. It is the table of
    `merged.sass_widths`, empty where every access is counted as the PTX has it. `seed` shuffles
    the order of blocks; `names` are the parameters' names for messages; `cooperative` allows a barrier of
    the whole grid. Raises MemoryAccessError, DeadlockError, StepBudgetError.
    """
    geometry = Geometry(grid, block)
    running = Launch(program, geometry, parameters, shared_mem, names or [], observe, step_budget, cooperative)
    block_bytes = running.shared_size + program.local_size * geometry.threads
    per_chunk = max(1, min(CHUNK_LANES // geometry.threads, CHUNK_BYTES // max(1, block_bytes)))
    starts = np.arange(0, geometry.blocks, per_chunk)
    if seed is not None:
        starts = np.random.default_rng(seed).permutation(starts)
    fresh = deque(int(start) for start in starts)
    paused: deque[Chunk] = deque()
    with np.errstate(all="ignore"):
        while fresh or paused:
            if fresh:
                start = fresh.popleft()
                chunk = Chunk(running, start, min(per_chunk, geometry.blocks - start))
            else:
                chunk = paused.popleft()
            if not chunk.run():
                paused.append(chunk)
    return running
