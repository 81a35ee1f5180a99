"""Races in global memory.

Only arrays that the kernel may store to are watched (`facts`). Most kernels touch every word of
such an array from one thread, and then nothing needs to be looked up: accesses are held back as
long as no two of them can meet. The first that may meet another gives the array a shadow.

Threads of one block are ordered as in shared memory. Threads of different blocks are not ordered
within a launch, except where a kernel uses fences together with atomic operations or volatile
flags: there, everything a thread or its block did before a fence counts as seen, and the flags and
atomics themselves are not checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from .address import Address, Value
from .hazards import Party
from .lanes import LaneSet
from .order import Order, site_of
from .shadow import Access, Conflict, Shadow
from .shared_races import stored_words

if TYPE_CHECKING:
    from .fragment import Fragment
    from .memory import Region
    from .request import Request
    from .run import Launch

_PATTERNS = count(1)
MOST_HELD = 1024
MOST_HELD_BYTES = 1 << 26
MOST_WORDS = 1 << 23


@dataclass(slots=True)
class Held:
    """An access that may be looked at later: bytes `low` .. `high` of its region, by some lanes.

    `index`: what `words` needs of the address once that is dropped, in words from `low`.
    """

    kind: str
    lanes: LaneSet
    order: Order
    address: Value | None
    width: int
    low: int
    high: int
    stamp: int
    values: Sequence[np.ndarray] | None
    index: np.ndarray | None = None

    @property
    def place(self) -> tuple:
        """Equal for two accesses in which each thread touches the same bytes."""
        pattern = 0
        if type(self.address) is Address:
            notes = self.address.base.notes
            pattern = notes.get("pattern") or notes.setdefault("pattern", next(_PATTERNS))
        return pattern, self.low, self.width, id(self.lanes)

    def spread(self) -> str:
        """How the lanes lie in memory: "dense", in order; "apart", no two lanes touch one byte; or ""."""
        if type(self.address) is not Address or self.address.base.array.size != self.lanes.count:
            return "dense" if self.lanes.count == 1 else ""
        base = self.address.base
        known = base.notes.get(("spread", self.width))
        if known is None:
            known = base.notes["spread", self.width] = _spread(base.indices(0), base.span, self.width)
        return known

    def words(self, grain: int) -> np.ndarray:
        """Words of `grain` bytes of the region that each lane touches: (words, lanes)."""
        step, shift = max(1, self.width // grain), grain.bit_length() - 1
        if type(self.address) is Address:
            index = self.address.base.indices(shift)
        elif self.address is None and self.index is None:
            index = np.arange(0, step * self.lanes.count, step).reshape(self.lanes.shape)
        else:
            index = 0 if self.index is None else self.index
        first = np.broadcast_to(index, self.lanes.shape).ravel() + (self.low >> shift)
        return first + np.arange(step)[:, None]

    def shrink(self, grain: int) -> None:
        """Keep no more than `words` needs."""
        self.values = None  # of use only where threads store to one word
        if type(self.address) is Address:
            if self.spread() != "dense":
                self.index = self.address.base.indices(grain.bit_length() - 1).astype(np.int32)
            self.address = None


class Watched:
    """One region: accesses held back, or its shadow.

    Accesses are held back while they are all loads, or all atomics, or no two threads touch one byte.
    """

    def __init__(self, region: Region, grain: int) -> None:
        self.region, self.grain = region, grain
        self.held: dict[tuple, Held] = {}
        self.kinds: set[str] = set()
        self.places: set[tuple] = set()
        self.low, self.high = 0, 0
        self.claimed: np.ndarray | None = None
        self.apart = True
        self.bytes = 0
        self.shadow: Shadow | None = None

    def hold(self, new: Held) -> bool:
        """Keep an access for later; False when it may meet another one, or too much is kept."""
        if len(self.held) >= MOST_HELD or self.bytes > MOST_HELD_BYTES:
            return False
        place = new.place
        if new.kind == "store" or self.kinds - {new.kind}:
            alone, outside = bool(new.spread()), new.low >= self.high or new.high <= self.low
            if not alone and (new.kind == "store" or not outside):
                return False
            if not outside and place not in self.places and not self._free(new):
                return False
        self._keep(new, place)
        return True

    def _free(self, new: Held) -> bool:
        """Whether nobody touched the words of a place, where places lie between each other."""
        if not self.apart:
            return False
        if self.claimed is None:
            self.claimed = np.zeros(len(self.region.buffer) // self.grain, np.bool_)
            for held in self.held.values():
                self.claimed[held.words(self.grain)] = True
        return not self.claimed[new.words(self.grain)].any()

    def _keep(self, new: Held, place: tuple) -> None:
        if place not in self.places:
            self.places.add(place)
            first = not self.held
            self.low = new.low if first else min(self.low, new.low)
            self.high = new.high if first else max(self.high, new.high)
            self.apart = self.apart and bool(new.spread())
            if self.claimed is not None:
                self.claimed[new.words(self.grain)] = True
        new.shrink(self.grain)
        self.bytes += 0 if new.index is None else new.index.nbytes
        self.kinds.add(new.kind)
        self.held.pop((new.kind, place), None)  # the later access of the same threads speaks for both
        self.held[new.kind, place] = new

    def give(self, shadow: Shadow) -> None:
        """Look at accesses as they come from now on."""
        for held in self.held.values():
            shadow.note(self.described(held))
        self.held, self.claimed, self.shadow = {}, None, shadow

    def described(self, held: Held) -> Access:
        """An access as the shadow wants it."""
        lanes, places = held.lanes, held.words(self.grain)
        rows = held.order.rows_of(lanes)
        access = Access(held.kind, lanes.ids, lanes.lane_threads, rows, places, held.order, held.stamp)
        if held.values is not None:
            values, memory = held.values, self.region.view(np.dtype(f"u{self.grain}"))
            access.new = lambda: stored_words(values, lanes.shape, 1, self.grain)
            access.old = lambda: memory[places][None]
        return access


class CrossBlockShadow(Shadow):
    """Threads of different blocks are never ordered, unless the earlier one passed a fence."""

    def __init__(self, size: int, threads: int, fences: Fences | None) -> None:
        super().__init__(size, threads)
        self.fences = fences

    def recent(self, access: Access, when: np.ndarray) -> bool:
        """False when nobody was here before."""
        return bool(when.any())

    def unordered(self, access: Access, other: np.ndarray, when: np.ndarray) -> np.ndarray:
        """Where an access of launch-wide thread `other` made at `when` is not ordered before this one."""
        within = super().unordered(access, other, when)
        apart = other // self.threads != access.who // self.threads
        if not apart.any():
            return within
        across = when > (0 if self.fences is None else self.fences.seen(other))
        return np.where(apart, across, within)


class Fences:
    """What each thread, and each block before its last barrier, has put behind a fence."""

    def __init__(self, blocks: int, threads: int) -> None:
        self.threads = threads
        self.own = np.zeros(blocks * threads, np.int64)
        self.block = np.zeros(blocks, np.int64)

    def fence(self, fragment: Fragment, order: Order, bound: int) -> None:
        """The fragment's lanes pass a fence; no access of theirs so far has a stamp above `bound`."""
        self.own[fragment.lanes.ids] = bound
        self.block[fragment.lanes.lane_blocks] = order.block[fragment.rows_of_lanes()]

    def seen(self, threads: np.ndarray) -> np.ndarray:
        """Stamp up to which accesses of launch-wide `threads` lie before a fence."""
        return np.maximum(self.own[threads], self.block[threads // self.threads])


class GlobalRaces:
    """Watches the global memory of one launch; findings go to its log."""

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        facts = launch.program.facts
        self.grain = facts.global_grain
        self.fences = Fences(launch.geometry.blocks, launch.geometry.threads) if facts.fenced else None
        self.watched = {region.start: Watched(region, self.grain) for region in launch.stored_regions()}

    def access(self, kind: str, fragment: Fragment, order: Order, request: Request) -> None:
        """Check and note a "load", "store" or "atomic" that is about to happen."""
        _, address, offset, width, site, _, values, region = request
        watched = self.watched.get(region.start)
        if watched is None:
            return
        low, span = _extent(address, offset)
        low -= region.start
        held = Held(
            kind, fragment.lanes, order, address, width, low, low + span + width, order.stamp(site), values
        )
        if watched.shadow is None:
            if watched.hold(held):
                return
            words = len(region.buffer) // self.grain
            if words > MOST_WORDS:
                self._give_up(region)
                return
            watched.give(CrossBlockShadow(words, self.launch.geometry.threads, self.fences))
        self._look(watched, held)

    def _give_up(self, region: Region) -> None:
        del self.watched[region.start]
        text = f"{region.name} is too large to be checked for races ({len(region.buffer)} bytes)"
        self.launch.hazards.unchecked.append(text)

    def _look(self, watched: Watched, held: Held) -> None:
        access = watched.described(held)
        for conflict in watched.shadow.enter(access):
            self._report(watched.region, access, conflict)

    def _report(self, region: Region, access: Access, conflict: Conflict) -> None:
        threads, line = self.launch.geometry.threads, self.launch.program.line
        at = np.unravel_index(np.argmax(conflict.mask), conflict.mask.shape)
        block, thread = divmod(int(access.who[at[1]]), threads)
        other_block, other = divmod(int(conflict.other[at]), threads)
        before = access.stamp if conflict.when is None else int(conflict.when[at])
        here = Party(access.kind, block, thread, line(site_of(access.stamp)))
        there = Party(conflict.earlier, other_block, other, line(site_of(before)))
        byte = int(access.place[at]) * self.grain
        place, times = f"{region.name} at byte {byte}", int(conflict.mask.any(0).sum())
        same = conflict.when is None
        self.launch.hazards.race("global", place, here, there, same, region.start + byte, times)


def _extent(address: Value, offset: int) -> tuple[int, int]:
    """Lowest address, and highest minus lowest."""
    if type(address) is not Address:
        return (int(address) + offset) % (1 << 64), 0
    return (address.base.low + address.offset + offset) % (1 << 64), address.base.span


def _spread(relative: np.ndarray, span: int, width: int) -> str:
    """As `Held.spread`, for accesses of `width` bytes at these relative addresses, multiples of it."""
    flat = relative.ravel()
    if (flat[1:] > flat[:-1]).all():
        return "dense" if span == (flat.size - 1) * width else "apart"
    if span // width > 64 * flat.size:
        return "apart" if len(np.unique(flat)) == flat.size else ""
    marks = np.zeros(span // width + 1, np.bool_)
    marks[flat // width] = True
    return "apart" if int(np.count_nonzero(marks)) == flat.size else ""
