"""A fragment: lanes that are at the same instruction, with their registers.

Generated code calls the methods here, and those of MemoryAccess, for everything that
needs more than the operands: memory, special registers, warp-wide operations, parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from . import grid_sync, printf, stack
from .access import MemoryAccess
from .address import Plain, Value, lanes
from .lanes import LaneSet, Selector

if TYPE_CHECKING:
    from .chunk import Chunk

CLOCKS_PER_STEP = 32


class Fragment(MemoryAccess):
    """`registers` is the current function's list; `frames` holds the callers' below it."""

    __slots__ = (
        "chunk",
        "frames",
        "key",
        "lanes",
        "origin",
        "pc",
        "registers",
        "row_offsets",
        "spins",
        "worked",
    )

    def __init__(self, chunk: Chunk, lanes: LaneSet, registers: list, pc: int, frames: tuple = ()) -> None:
        self.chunk = chunk
        self.lanes = lanes
        self.registers = registers
        self.pc = pc
        self.frames = frames
        self.origin: Origin | None = None
        self.spins = 0
        self.worked = 0
        self.row_offsets: dict = {}

    # -- where the lanes are --------------------------------------------------

    @property
    def covers_blocks(self) -> bool:
        """True when every block of the chunk has lanes here."""
        return self.lanes.product and len(self.lanes.blocks) == self.chunk.blocks

    def rows_of_lanes(self) -> np.ndarray:
        """Row of every lane's block within the chunk, shape (lanes,)."""
        return self.lanes.lane_blocks - self.chunk.first_block

    def where(self, mask: np.ndarray) -> tuple[int, int]:
        """Linear (block, thread) of the first lane where `mask` holds."""
        at = int(np.argmax(np.broadcast_to(mask, self.lanes.shape)))
        return int(self.lanes.lane_blocks[at]), int(self.lanes.lane_threads[at])

    # -- special registers, parameters and variables --------------------------

    def special(self, name: str) -> Plain:
        """A special register's value."""
        return self.lanes.special(name)

    def clock(self, dtype: str, shift: int) -> np.generic:
        """`%clock` and `%globaltimer`: a deterministic stand-in that counts executed steps, not cycles."""
        self.chunk.steps += 1  # two readings differ
        ticks = self.chunk.steps * CLOCKS_PER_STEP >> shift
        kind = np.dtype(dtype)
        return kind.type(ticks & ((1 << (8 * kind.itemsize)) - 1))

    def dynamic_shared(self) -> np.uint32:
        """`%dynamic_smem_size`: bytes of dynamic shared memory."""
        return np.uint32(self.chunk.shared_size - self.chunk.program.static_shared)

    def parameter(self, offset: int, dtype: str) -> np.generic:
        """A by-value parameter, or a pointer, of the launch."""
        return self.chunk.launch.parameter(offset, dtype)

    def parameter_address(self, offset: int) -> np.uint64:
        """Address of a kernel parameter."""
        return np.uint64(self.chunk.launch.memory.parameters(self.chunk.launch.values) + offset)

    def symbol(self, name: str, offset: int) -> np.uint64:
        """Address of a global or constant variable."""
        return np.uint64(self.chunk.launch.symbols[name] + offset)

    def frame_address(self, offset: int) -> np.uint64:
        """Address, in local memory, of a variable of the device function being executed."""
        return np.uint64(stack.base(self) + offset)

    def is_in(self, space: str, address: Plain) -> Plain:
        """Whether generic addresses lie in "global", "const" or "param" memory (`isspacep`)."""
        return self.chunk.launch.memory.is_in(space, address)

    def builtin(self, name: str, arguments: list[Value], site: int) -> Plain:
        """A function of NVIDIA's device runtime: `vprintf` or `__assertfail`."""
        if name == "vprintf":
            return printf.print_lanes(self, *arguments, site)
        return printf.fail_assertion(self, arguments[0], arguments[2], site)

    # -- barriers -------------------------------------------------------------

    def arrive(self, number: Plain, count: Plain, site: int) -> None:
        """`bar.arrive`."""
        self.chunk.barriers.arrive_early(self, number, count, site)

    def vote(self, number: Plain, predicate: Plain) -> None:
        """The predicates that the lanes bring to the barrier of `bar.red`."""
        self.chunk.votes.vote(self, number, predicate)

    def votes(self, number: Plain, operation: str) -> np.ndarray:
        """The result of `bar.red`, behind the barrier."""
        return self.chunk.votes.result(self, number, operation)

    def environment(self, number: int) -> np.uint32:
        """`%envreg<number>`."""
        launch = self.chunk.launch
        return grid_sync.environment(launch.memory, launch.cooperative, number)

    # -- warps ----------------------------------------------------------------

    def warp(
        self, function: Callable, operands: list[Value], site: int, poison: bool = True
    ) -> list[np.ndarray]:
        """Apply a warp instruction; undefined results are poisoned and reported."""
        rows = [self.lanes.to_warps(lanes(value)) for value in operands]
        active = self.lanes.full_mask if self.lanes.whole_warps else self.lanes.active
        if rows and not self.lanes.whole_warps and self.chunk.observer is not None:
            self.chunk.observer.members(self, rows[-1], site)
        *results, undefined = function(active, *rows)
        if undefined is not None and (undefined & active).any():
            self.chunk.report_inactive(self, undefined & active, site)
            results = [
                _poison(value, undefined) if poison and value.dtype != np.bool_ else value
                for value in results
            ]
        return [self.lanes.from_warps(np.broadcast_to(value, active.shape)) for value in results]

    def sync_warp(self, mask: Plain, site: int) -> None:
        """`bar.warp.sync`: orders the accesses of the lanes that the mask names."""
        if self.chunk.observer is not None:
            self.chunk.observer.sync_warp(self, mask, site)

    # -- what only the checks want to know ------------------------------------

    def fence(self) -> None:
        """`membar` and `fence`; memory is in order here anyway."""
        if self.chunk.observer is not None:
            self.chunk.observer.fence(self)

    def check_divisor(self, divisor: Plain, guard: Plain, site: int) -> None:
        """An integer division or remainder is about to happen where `guard` holds."""
        if self.chunk.observer is not None:
            self.chunk.observer.divisor(self, divisor, guard, site)


class Origin:
    """What a fragment was split from, so that the whole can be restored when its parts meet again."""

    __slots__ = ("frames", "initial", "lanes", "origin", "registers", "selector")

    def __init__(self, parent: Fragment, selector: Selector, initial: list) -> None:
        self.lanes = parent.lanes
        self.registers = parent.registers
        self.frames = parent.frames
        self.origin = parent.origin
        self.selector = selector
        self.initial = initial


def _poison(value: np.ndarray, undefined: np.ndarray) -> np.ndarray:
    pattern = np.frombuffer(b"\xff\x7f" * 8, value.dtype)[0]
    return np.where(undefined, pattern, value)
