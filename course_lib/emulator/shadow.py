"""A shadow of some memory: for every word, which threads loaded, stored or atomically changed it, and when.

Two accesses race when different threads make them, at least one is a plain store (or one is
atomic and the other is not), and nothing orders them. For each kind of access the shadow keeps
the lowest and the highest thread since the accesses were last ordered: whoever races with any
of them races with one of these two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .order import Order, Rows

# kind of access -> kinds it must be ordered after
AGAINST = {
    "load": ("store", "atomic"),
    "store": ("store", "load", "atomic"),
    "atomic": ("store", "load"),
}


@dataclass(slots=True)
class Access:
    """One memory instruction of some lanes, ascending by thread.

    `who` (lanes,): block * threads per block + thread, counting blocks from any first one;
    `threads` (lanes,): thread numbers in the block; `rows`: their rows in `order`;
    `place` (words, lanes): words of the shadow; `stamp`: see `Order`.
    For a store, `new()` and `old()` give the words stored and those in memory before, (copies, words, lanes).
    """

    kind: str
    who: np.ndarray
    threads: np.ndarray
    rows: Rows
    place: np.ndarray
    order: Order
    stamp: int
    new: Callable[[], np.ndarray] | None = None
    old: Callable[[], np.ndarray] | None = None


@dataclass(slots=True)
class Conflict:
    """Where an access races, (words, lanes): `mask`, the `other` threads, and when they acted.

    `earlier` is the kind of the other access; `when` is None where it is of the same instruction.
    """

    earlier: str
    mask: np.ndarray
    other: np.ndarray
    when: np.ndarray | None


class Trace:
    """For each word, the lowest and the highest thread that made accesses of one kind, and the last stamp."""

    def __init__(self, size: int) -> None:
        self.low, self.high = np.zeros(size, np.int32), np.zeros(size, np.int32)
        self.when = np.zeros(size, np.int64)

    def enter(self, place: np.ndarray, low: np.ndarray, high: np.ndarray, stamp: int) -> None:
        """Of several lanes at one word, `low` keeps the first and `high` the last."""
        self.low[place.ravel()[::-1]] = low.ravel()[::-1]
        self.high[place] = high
        self.when[place] = stamp


class Shadow:
    """The traces of one memory of `size` words, of a launch with `threads` threads a block."""

    def __init__(self, size: int, threads: int) -> None:
        self.size, self.threads = size, threads
        self.traces = {"load": Trace(size), "store": Trace(size)}

    def recent(self, access: Access, when: np.ndarray) -> bool:
        """False when accesses made at `when` are all ordered before this one, whoever made them."""
        return bool((when > access.order.block[access.rows]).any())

    def unordered(self, access: Access, other: np.ndarray, when: np.ndarray) -> np.ndarray:
        """Where an access of thread `other` made at `when` is not ordered before this one."""
        return access.order.unordered(access.rows, access.threads, other % self.threads, when)

    def enter(self, access: Access) -> list[Conflict]:
        """Check an access, then note it."""
        found = self.conflicts(access)
        self.note(access)
        clash = self._clash(access) if access.new is not None else None
        return found if clash is None else [*found, clash]

    def conflicts(self, access: Access) -> list[Conflict]:
        """Races of an access with earlier ones."""
        found = [self._conflict(kind, access) for kind in AGAINST[access.kind] if kind in self.traces]
        return [conflict for conflict in found if conflict is not None]

    def _conflict(self, kind: str, access: Access) -> Conflict | None:
        trace = self.traces[kind]
        when = trace.when.take(access.place)
        if not self.recent(access, when):
            return None
        for side in (trace.low, trace.high):
            other = side.take(access.place)
            mask = (other != access.who) & self.unordered(access, other, when)
            if kind == access.kind and access.new is not None and access.old is not None and mask.any():
                mask &= (access.new() != access.old()).any(0)  # storing what is there already does no harm
            if mask.any():
                return Conflict(kind, mask, other, when)
        return None

    def note(self, access: Access) -> None:
        """Enter an access: it replaces what is ordered before it, and joins the rest."""
        if access.kind not in self.traces:
            self.traces[access.kind] = Trace(self.size)
        trace, place = self.traces[access.kind], access.place
        who = np.broadcast_to(access.who, place.shape)
        low, high, when = who, who, trace.when.take(place)
        if self.recent(access, when):
            low, high = trace.low.take(place), trace.high.take(place)
            joins = self.unordered(access, low, when) | self.unordered(access, high, when)
            low = np.where(joins, np.minimum(low, who), who)
            high = np.where(joins, np.maximum(high, who), who)
        trace.enter(place, low, high, access.stamp)

    def _clash(self, access: Access) -> Conflict | None:
        """After `note` of a store: lanes that stored different values to one word in this instruction."""
        if not (self.traces["store"].high.take(access.place) != access.who).any():
            return None
        winner = _last_at_same(access.place[0])
        other = np.broadcast_to(access.who[winner], access.place.shape)
        new = access.new()
        mask = (new != new[..., winner]).any(0) & (other != access.who)
        return Conflict("store", mask, other, None) if mask.any() else None

    def copies(self, times: int) -> None:
        """From now on every block has a copy of its own of the memory, one behind the other."""
        first = np.repeat(np.arange(times, dtype=np.int32) * self.threads, self.size)
        for trace in self.traces.values():
            trace.low, trace.high = np.tile(trace.low, times) + first, np.tile(trace.high, times) + first
            trace.when = np.tile(trace.when, times)
        self.size *= times


def _last_at_same(places: np.ndarray) -> np.ndarray:
    """For each lane, the last lane at the same place."""
    _, from_end, inverse = np.unique(places[::-1], return_index=True, return_inverse=True)
    return (len(places) - 1 - from_end)[inverse[::-1]]
