"""What is watched while a chunk of blocks runs: counters, races, undefined reads, divisors, warp barriers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .address import Address, AddressBase
from .lanes import WARP, LaneSet
from .memory import POISON, Region
from .order import FULL_MASK, Order
from .request import Request
from .shared_races import SharedRaces

if TYPE_CHECKING:
    from .chunk import Chunk
    from .fragment import Fragment


class Observer:
    """The watchers of one chunk. Made only where counters and findings are wanted."""

    def __init__(self, chunk: Chunk) -> None:
        launch = chunk.launch
        self.chunk, self.launch, self.facts = chunk, launch, chunk.program.facts
        self.tally, self.hazards, self.races = launch.tally, launch.hazards, launch.races
        self.order = Order(chunk.first_block, chunk.blocks, chunk.geometry.threads)
        self.shared = SharedRaces(chunk, self.order) if chunk.shared_row else None

    # -- memory ---------------------------------------------------------------

    def access(self, fragment: Fragment, request: Request) -> None:
        """A memory access is about to happen."""
        region, site = request.region, request.site
        if region is not None:
            self.tally.touch(fragment, request)
        self.tally.access(fragment, request)
        if request.space.startswith("atomic") or site in self.facts.ordered:
            kind = "atomic"
        else:
            kind = "store" if request.store else "load"
        if site in self.facts.releases:
            self.fence(fragment)
        if region is not None:
            if kind != "store" and region.start in self.launch.undefined:
                self._check_defined(fragment, request, region)
            if not (self.facts.fenced and (kind == "atomic" or site in self.facts.volatile)):
                self.races.access(kind, fragment, self.order, request)
        elif self.shared is not None and request.space.endswith("shared"):
            if self.chunk.copies.waiting:
                self.chunk.copies.check(fragment, request)
            self.shared.access(kind, fragment, request)

    def copy_arrived(self, fragment: Fragment, offsets: np.ndarray, width: int, site: int) -> None:
        """An asynchronous copy to shared memory is complete: as if its threads had stored just now."""
        if self.shared is not None:
            address = Address(AddressBase(offsets.reshape(fragment.lanes.shape)), 0)
            self.shared.access("store", fragment, Request("shared", address, 0, width, site, True))

    def _check_defined(self, fragment: Fragment, request: Request, region: Region) -> None:
        """Report lanes that read words nobody has written since the array was made by `empty`."""
        address, offset = request.address, request.offset
        words = region.view(np.dtype(np.uint32))
        if type(address) is Address:
            first = address.base.low + address.offset + offset - region.start
            index = np.broadcast_to(address.base.indices(0), fragment.lanes.shape).ravel() + first >> 2
        else:
            index = np.full(fragment.lanes.count, int(address) + offset - region.start >> 2)
        places = np.minimum(index + np.arange(-(-request.width // 4))[:, None], len(words) - 1)
        mask = (words[places] == POISON).any(0)
        if mask.any():
            at, lanes = int(np.argmax(mask)), fragment.lanes
            byte = int(index[at]) * 4
            message = (
                f"{region.name} is read at byte {byte}, where nothing was stored since empty() made it; "
                "the value is whatever the memory held before"
            )
            block, thread = int(lanes.lane_blocks[at]), int(lanes.lane_threads[at])
            line, where = self.chunk.program.line(request.site), region.start + byte
            self.hazards.add("uninitialised read", message, line, block, thread, where, int(mask.sum()))

    # -- barriers and fences --------------------------------------------------

    def barrier(self, rows: np.ndarray | None) -> None:
        """All threads of some blocks of the chunk (None: of all) met at a barrier."""
        if self.shared is not None:
            self.shared.event(rows is None)
        self.order.barrier(rows)

    def group_barrier(self, row: int, threads: np.ndarray, early: list[tuple[np.ndarray, int]]) -> None:
        """Some threads of a block met at a barrier; `early`: those that only arrived, and their stamps."""
        if self.shared is not None:
            self.shared.event(False)
        self.order.group_barrier(row, threads, early)

    def arrival(self) -> int:
        """Stamp of threads that arrive at a barrier and go on."""
        if self.shared is not None:
            self.shared.event(False)
        return self.order.tick()

    def fence(self, fragment: Fragment) -> None:
        """`__threadfence` and the like; orders nothing in a kernel that signals nothing to other threads."""
        if not self.facts.signals:
            return
        if self.shared is not None:
            self.shared.event(False)
        bound = self.order.fence(fragment.lanes)
        if self.races.fences is not None:
            self.races.fences.fence(fragment, self.order, bound)

    # -- warps ----------------------------------------------------------------

    def sync_warp(self, fragment: Fragment, mask: np.ndarray | np.generic, site: int) -> None:
        """`__syncwarp(mask)`: orders the lanes it names that take part."""
        lanes = fragment.lanes
        if self.shared is not None:
            self.shared.event(False)
        if np.ndim(mask) == 0 and int(mask) == FULL_MASK and lanes.whole_warps:
            self.order.warp_barrier(lanes.warps, np.full(len(lanes.warps), FULL_MASK, np.uint32))
            return
        members, active = lanes.to_warps(np.asarray(mask, np.uint32)), lanes.active
        named = active & (members >> np.arange(WARP, dtype=np.uint32) & 1 != 0)
        if not (named == active).all():
            self.inactive(fragment, active & ~named, site)
        for value in np.unique(members[active]):
            here = _bits(named & (members == value))
            together = here | self._elsewhere(fragment, value, here, site)
            taking_part = here != 0
            self.order.warp_barrier(lanes.warps[taking_part], together[taking_part])

    def members(self, fragment: Fragment, members: np.ndarray, site: int) -> None:
        """A shuffle, vote or the like is about to happen in parts of warps; its masks are (warps, 32)."""
        active = fragment.lanes.active
        for value in np.unique(members[active]):
            self._elsewhere(fragment, value, _bits(active & (members == value)), site)

    def _elsewhere(self, fragment: Fragment, value: np.uint32, here: np.ndarray, site: int) -> np.ndarray:
        """Lanes named by a mask that wait at another warp instruction; reports those that never come."""
        found = np.zeros_like(here)
        missing = np.where(here != 0, value & ~here, np.uint32(0))
        if not missing.any():
            return found
        blocks, warps = self.chunk.program.blocks, fragment.lanes.warps
        for other in self.chunk.ready:
            if blocks[other.pc].member_mask is not None:
                found |= _bits_of(other.lanes, warps) & missing
        for waiting in self.chunk.barriers.parked:
            late = _bits_of(waiting.fragment.lanes, warps) & missing & ~found
            if late.any():
                self._report_missing(fragment, waiting.fragment, late, site)
        return found

    def _report_missing(self, fragment: Fragment, other: Fragment, late: np.ndarray, site: int) -> None:
        at = int(np.argmax(late != 0))
        block, warp = divmod(int(fragment.lanes.warps[at]), self.order.warps)
        lowest = int(late[at]) & -int(late[at])
        thread = warp * WARP + lowest.bit_length() - 1
        line, waits = self.chunk.program.line(site), self.chunk.program.barrier_line(other.pc)
        message = (
            f"the mask of {self._called(site)} names thread {thread}, which waits at the block's barrier in "
            f"line {waits}; let every lane that the mask names call it"
        )
        count = int(np.bitwise_count(late).sum())
        self.hazards.add("inactive lane", message, line, block, thread, None, count, "missing")

    def inactive(self, fragment: Fragment, undefined: np.ndarray, site: int) -> None:
        """Results of a warp instruction are undefined in some lanes: `undefined` (warps, 32)."""
        lanes = fragment.lanes.from_warps(undefined)
        block, thread = fragment.where(lanes)
        called = self._called(site)
        if called.startswith("shfl"):
            message = (
                f"{called} reads a lane that does not take part; the result is undefined and was poisoned"
            )
        else:
            message = (
                f"thread {thread} calls {called} with a mask that does not name it; name all lanes that call"
            )
        line = self.chunk.program.line(site)
        self.hazards.add("inactive lane", message, line, block, thread, occurrences=int(lanes.sum()))

    def _called(self, site: int) -> str:
        opcode = self.chunk.program.opcode(site)
        return "__syncwarp" if opcode.startswith("bar") else opcode

    # -- arithmetic -----------------------------------------------------------

    def divisor(
        self, fragment: Fragment, divisor: np.ndarray, guard: np.ndarray | np.bool_, site: int
    ) -> None:
        """An integer division or remainder is about to happen in the lanes where `guard` holds."""
        zero = (divisor == 0) & guard
        if not zero.any():
            return
        mask = np.broadcast_to(zero, fragment.lanes.shape)
        block, thread = fragment.where(mask)
        message = "an integer is divided by zero; a GPU does not stop, the result is undefined"
        line = self.chunk.program.line(site)
        self.hazards.add("division by zero", message, line, block, thread, occurrences=int(mask.sum()))


def _bits(rows: np.ndarray) -> np.ndarray:
    """(warps, 32) bools -> one uint32 per warp."""
    return np.packbits(rows, axis=1, bitorder="little").view("<u4")[:, 0].astype(np.uint32)


def _bits_of(lanes: LaneSet, warps: np.ndarray) -> np.ndarray:
    """For each of some launch-wide warps, a bit for every lane of `lanes` in it."""
    at = np.searchsorted(lanes.warps, warps)
    at[at == len(lanes.warps)] = 0
    return np.where(lanes.warps[at] == warps, _bits(lanes.active)[at], np.uint32(0))
