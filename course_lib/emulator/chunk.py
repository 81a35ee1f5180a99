"""A chunk: some blocks that run together, and the scheduler of their fragments.

A chunk runs its fragments in the order of `ranks`, so lanes that took a branch wait where
the paths meet. All lanes of a chunk that agree form one fragment, and then nothing is
masked, split or joined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from . import grid_sync
from .address import Plain
from .asynchronous import Copies
from .barriers import Barriers
from .divergence import join, split
from .errors import EmulatorError, StepBudgetError
from .fragment import Fragment
from .lanes import LaneSet
from .memory import poisoned
from .observe import Observer
from .stack import check_depth
from .votes import BarrierVotes

if TYPE_CHECKING:
    from .hazards import Hazard
    from .program import Block
    from .run import Launch

SPIN_PATIENCE = 64
STEP_LANES = 2048  # a step of the budget is one instruction for fewer than so many threads


@dataclass(frozen=True)
class Frame:
    """A caller waiting for a device function: its registers, and the block to go on with."""

    registers: list
    following: int
    returns: tuple[tuple[int, int], ...]

    def with_registers(self, registers: list) -> Frame:
        """The same frame for other lanes."""
        return replace(self, registers=registers)


class Chunk:
    """Consecutive blocks from `first_block` on: their memory, barriers and fragments."""

    def __init__(self, launch: Launch, first_block: int, blocks: int) -> None:
        self.launch, self.program, self.geometry = launch, launch.program, launch.geometry
        self.first_block, self.blocks = first_block, blocks
        self.hazards, self.tally = launch.hazards, launch.tally
        self.steps, self.steps_left = 0, launch.step_budget
        threads = self.geometry.threads
        self.shared_size, self.shared_row = launch.shared_size, -(-launch.shared_size // 16) * 16
        self.local_size = self.program.local_size
        self.shared_memory = poisoned((blocks * self.shared_row,))
        self.local = launch.take_local(blocks * threads, -(-self.local_size // 16) * 16)
        self.observer = Observer(self) if launch.tally is not None else None
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
        """After a spin: let barriers complete and the other fragments run first.

        Those that wait for lanes of the spinning one go on waiting for it.
        """
        self.ready = self.barriers.release() + self.ready
        spun = [spinning]
        while True:
            others = [one for one in self.ready if one not in spun and not self._waits_for_warp(one)]
            if not others:
                return False
            other = self._next(others)
            if not self._advance(other, spun):
                return True
            spun.append(other)

    def _next(self, among: list[Fragment] | None = None) -> Fragment:
        """Take the fragment to run next, of all or of some: lowest rank, joined with others at that pc."""
        ready = self.ready
        if len(ready) == 1:
            return ready.pop()
        among = among or ready
        best = min(self._order(one) for one in among)
        chosen = [one for one in among if self._order(one) == best]
        if len(chosen) == 1:
            ready.remove(chosen[0])
            return chosen[0]
        self.ready = [one for one in ready if one not in chosen]
        return join(chosen, *self.live(chosen[0], chosen[0].pc))

    def _order(self, fragment: Fragment) -> tuple:
        """Sort key: fragments that wait for the rest of their warp come last, then their block decides."""
        ranks = self.program.ranks
        callers = (ranks[frame.following - 1] for frame in fragment.frames)
        return (self._waits_for_warp(fragment), *callers, ranks[fragment.pc])

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
        return program.blocks[pc].live_in, [
            program.blocks[frame.following].live_in for frame in fragment.frames
        ]

    # -- executing ------------------------------------------------------------

    def _advance(self, fragment: Fragment, aside: Sequence[Fragment] = ()) -> bool:
        """Run a fragment until it ends, splits, waits or passes another one, except those `aside`.

        True: it only spins.
        """
        blocks, tally, barriers = self.program.blocks, self.tally, self.barriers
        limit = min((self._order(one) for one in self.ready if one not in aside), default=None)
        while True:
            block = blocks[fragment.pc]
            self.steps += 1
            self.steps_left -= len(block.instructions) * (1 + fragment.lanes.count // STEP_LANES)
            if self.steps_left < 0:
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
            passed = limit is not None and self._order(fragment) >= limit
            if passed or (aside and self._waits_for_warp(fragment)):
                self.ready.append(fragment)
                return False

    def _out_of_steps(self, block: Block) -> None:
        raise StepBudgetError(
            f"{self.program.kernel}: stopped after {self.launch.step_budget:,} steps near line {block.line}; "
            "the kernel probably never ends. A loop condition that no thread changes is the usual reason. "
            f"(A step is one instruction for up to {STEP_LANES:,} threads; if the kernel only needs more, "
            "raise kernel.step_budget.)",
            self.found(),
        )

    def found(self) -> list[Hazard]:
        """Findings so far."""
        return self.hazards.findings if self.hazards is not None else []

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
        """`bar.sync`; `which`: the barrier's number, and how many threads it needs (None: all)."""
        number, count = which
        if np.ndim(number) or np.ndim(count):
            return self._different_barriers(fragment, block, number, count)
        if self.barriers.arrive(fragment, int(number), None if count is None else int(count)):
            fragment.pc = block.following
            return True
        return False

    def _different_barriers(
        self, fragment: Fragment, block: Block, number: Plain, count: Plain | None
    ) -> bool:
        """Lanes wait at barriers of their own: the fragment is split by barrier."""
        shape = fragment.lanes.shape
        number = np.broadcast_to(number, shape)
        count = np.full(shape, -1) if count is None else np.broadcast_to(count, shape)
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

    def report_inactive(self, fragment: Fragment, undefined: np.ndarray, site: int) -> None:
        """Results of a warp instruction are undefined in some lanes: `undefined` (warps, 32)."""
        if self.observer is not None:
            self.observer.inactive(fragment, undefined, site)
