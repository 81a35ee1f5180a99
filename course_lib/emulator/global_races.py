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
from dataclasses import dataclass, field
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
    from .run import Launch

MOST_HELD = 256
MOST_HELD_BYTES = 1 << 26
MOST_WORDS = 1 << 23


@dataclass(slots=True)
class Held:
    """An access that may be looked at later: bytes `low` .. `high` of its region, by some lanes."""

    kind: str
    lanes: LaneSet
    order: Order
    address: Value
    width: int
    low: int
    high: int
    stamp: int
    values: Sequence[np.ndarray] | None

    def same_place(self, other: Held) -> bool:
        """True when each thread touches the same bytes in both."""
        mine, theirs = self.address, other.address
        return (
            self.low == other.low and self.width == other.width
            and type(mine) is Address and type(theirs) is Address and mine.base is theirs.base
            and self.lanes is other.lanes
        )  # fmt: skip

    def private(self) -> bool:
        """True when no two lanes touch the same byte."""
        lanes = self.lanes
        if type(self.address) is not Address or self.address.base.array.size != lanes.count:
            return lanes.count == 1
        base = self.address.base
        known = base.notes.get(("private", self.width))
        if known is None:
            known = base.notes["private", self.width] = _distinct(base.indices(0), base.span, self.width)
        return known


@dataclass
class Watched:
    """One region: accesses held back, or its shadow."""

    region: Region
    held: list[Held] = field(default_factory=list)
    read_only: bool = True
    shadow: Shadow | None = None
    unchecked: bool = False


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
        self.watched = {region.start: Watched(region) for region in launch.stored_regions()}
        self.held_bytes = 0

    def access(
        self, kind: str, fragment: Fragment, order: Order, address: Value, offset: int, width: int,
        site: int, values: Sequence[np.ndarray] | None, region: Region,
    ) -> None:  # fmt: skip
        """Check and note a "load", "store" or "atomic" of `width` bytes a lane, about to happen."""
        watched = self.watched.get(region.start)
        if watched is None or watched.unchecked:
            return
        low, span = _extent(address, offset)
        low -= region.start
        stamp, high = order.stamp(site), low + span + width
        held = Held(kind, fragment.lanes, order, address, width, low, high, stamp, values)
        if watched.shadow is None and self._hold(watched, held):
            return
        if watched.shadow is None:
            self._give_shadow(watched)
        if watched.shadow is not None:
            self._look(watched, held)

    # -- holding back ---------------------------------------------------------

    def _hold(self, watched: Watched, new: Held) -> bool:
        """Keep an access for later; False when it may meet another one, or too many are kept."""
        if len(watched.held) >= MOST_HELD or self.held_bytes > MOST_HELD_BYTES:
            return False
        if watched.read_only and new.kind == "load":
            return self._keep(watched, new)
        if new.kind == "store" and not new.private():
            return False
        for at, old in enumerate(watched.held):
            if old.high <= new.low or new.high <= old.low or old.kind == new.kind != "store":
                continue
            if not (new.same_place(old) and old.private()):
                return False
            if old.kind == new.kind:
                watched.held[at] = new
                return True
        watched.read_only = False
        return self._keep(watched, new)

    def _keep(self, watched: Watched, new: Held) -> bool:
        if watched.held and watched.held[-1].kind == new.kind and new.same_place(watched.held[-1]):
            watched.held[-1] = new
            return True
        watched.held.append(new)
        if type(new.address) is Address:
            self.held_bytes += 2 * new.address.base.array.nbytes
        self.held_bytes += sum(value.nbytes for value in new.values or ())
        return True

    def _give_shadow(self, watched: Watched) -> None:
        words = len(watched.region.buffer) // self.grain
        if words > MOST_WORDS:
            watched.unchecked = True
            watched.held.clear()
            text = f"{watched.region.name} is too large to be checked for races ({len(watched.region.buffer)} bytes)"
            self.launch.hazards.unchecked.append(text)
            return
        watched.shadow = CrossBlockShadow(words, self.launch.geometry.threads, self.fences)
        for held in watched.held:
            watched.shadow.note(self._described(watched, held))
        watched.held.clear()

    # -- looking --------------------------------------------------------------

    def _look(self, watched: Watched, held: Held) -> None:
        shadow, access = watched.shadow, self._described(watched, held)
        conflicts = shadow.conflicts(access)
        shadow.note(access)
        clash = shadow.clash(access) if held.kind == "store" else None
        for conflict in conflicts + ([clash] if clash is not None else []):
            self._report(watched.region, access, conflict)

    def _described(self, watched: Watched, held: Held) -> Access:
        lanes, order = held.lanes, held.order
        shift = self.grain.bit_length() - 1
        index = held.address.base.indices(shift) if type(held.address) is Address else 0
        place = np.broadcast_to(index, lanes.shape).ravel() + (held.low >> shift)
        places = place + np.arange(max(1, held.width // self.grain))[:, None]
        who, rows = lanes.ids.astype(np.int32), order.rows_of(lanes)
        access = Access(held.kind, who, lanes.lane_threads, rows, places, order, held.stamp)
        if held.values is not None:
            values, memory = held.values, watched.region.view(np.dtype(f"u{self.grain}"))
            access.new = lambda: stored_words(values, lanes.shape, 1, self.grain)
            access.old = lambda: memory[places][None]
        return access

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


def _distinct(relative: np.ndarray, span: int, width: int) -> bool:
    """True when accesses of `width` bytes at these relative addresses, multiples of it, do not overlap."""
    flat = relative.ravel()
    if (flat[1:] > flat[:-1]).all():
        return True
    if span // width > 64 * flat.size:
        return len(np.unique(flat)) == flat.size
    marks = np.zeros(span // width + 1, np.bool_)
    marks[flat // width] = True
    return int(np.count_nonzero(marks)) == flat.size
