"""What comes before what among streams: vector clocks, and the accesses that nothing orders.

Work in one stream runs in order, and so does all that an event or a synchronisation puts behind it. Between
two streams nothing else is promised. The stand-in runs everything at once, in the order of the program, so an
answer may come out right by luck; this is where the missing order is noticed.
"""

import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ..emulator.memory import owner_of

Clock = dict[int, int]  # stream -> how many pieces of its work are known to be done before
Named = tuple[np.ndarray, str]  # memory, and what a message calls it


@dataclass(frozen=True)
class Access:
    """Some of the bytes `low` to `high`, read or written by piece number `count` of a stream.

    `layout` is None for all of them, else the array interface of those that are touched.
    """

    stream: int
    count: int
    low: int
    high: int
    layout: dict | None
    writes: bool
    label: str


class Order:
    """Clocks of the streams and of the host, and who touched which memory last."""

    def __init__(self) -> None:
        self.clocks: dict[int, Clock] = {}
        self.host: Clock = {}
        self._touched: dict[int, tuple[weakref.ref, list[Access]]] = {}

    def start(self, stream: int, after: Iterable[Mapping[int, int]] = ()) -> Clock:
        """Begin a piece of work in a stream, behind the clocks `after`; the clock when it is done."""
        clock = merged(self.clock(stream), self.host, *after)
        clock[stream] = clock.get(stream, 0) + 1
        self.clocks[stream] = clock
        return clock

    def touch(
        self, stream: int, label: str, reads: Iterable[Named] = (), writes: Iterable[Named] = ()
    ) -> list[str]:
        """What the stream's last piece of work has read and written; sentences about what nothing orders."""
        clock = self.clocks[stream]
        written = {id(array): (array, name) for array, name in writes}
        every = [(array, name, True) for array, name in written.values()]
        every += [(array, name, False) for array, name in reads if id(array) not in written]
        return [text for a, name, w in every for text in self._touch(stream, clock, a, name, w, label)]

    def clock(self, stream: int) -> Clock:
        """What is known to be done once all work of the stream is."""
        return self.clocks.get(stream, {})

    def wait(self, stream: int, clock: Mapping[int, int]) -> None:
        """Later work of the stream comes after what the clock covers."""
        self.clocks[stream] = merged(self.clock(stream), clock)

    def host_waits(self, clock: Mapping[int, int]) -> None:
        """The host has waited for what the clock covers; whatever it starts from now on comes later."""
        self.host = merged(self.host, clock)

    def known(self, clock: Mapping[int, int]) -> bool:
        """Whether the host has waited for all of it."""
        return covers(self.host, clock)

    def _touch(
        self, stream: int, clock: Clock, array: np.ndarray, name: str, writes: bool, label: str
    ) -> list[str]:
        """Compare an access with the earlier ones of the same memory, then keep it."""
        if not array.size:
            return []
        new = Access(stream, clock[stream], *_extent(array), writes, label)
        accesses = self._accesses(owner_of(array))
        found = []
        for old in accesses:
            if _clash(new, old, clock):
                found.append(_sentence(new, old, name))
                clock[old.stream] = old.count  # a missing order is reported once
        accesses[:] = [a for a in accesses if not _settled(a, new) and self.host.get(a.stream, 0) < a.count]
        accesses.append(new)
        return found

    def _accesses(self, owner: np.ndarray) -> list[Access]:
        key = id(owner)
        if key not in self._touched:
            forget = weakref.ref(owner, lambda _, touched=self._touched: touched.pop(key, None))
            self._touched[key] = (forget, [])
        return self._touched[key][1]


def merged(*clocks: Mapping[int, int]) -> Clock:
    """The latest of each stream."""
    found: Clock = {}
    for clock in clocks:
        for stream, count in clock.items():
            found[stream] = max(count, found.get(stream, 0))
    return found


def covers(later: Mapping[int, int], clock: Mapping[int, int]) -> bool:
    """Whether all that `clock` knows is done is known to `later` too."""
    return all(later.get(stream, 0) >= count for stream, count in clock.items())


def stream_name(stream: int) -> str:
    """How messages call a stream."""
    return f"stream {stream}" if stream else "the default stream"


class _Layout:
    """An array by its interface, for `np.shares_memory`, which looks at addresses only."""

    def __init__(self, access: Access) -> None:
        whole = {"data": (access.low, True), "shape": (access.high - access.low,), "typestr": "|u1"}
        self.__array_interface__ = access.layout or {**whole, "version": 3}


def _extent(array: np.ndarray) -> tuple[int, int, dict | None]:
    """First byte, the one behind the last, and the layout where there are gaps."""
    low, high = np.lib.array_utils.byte_bounds(array)
    return low, high, None if high - low == array.nbytes else array.__array_interface__


def _overlap(a: Access, b: Access) -> bool:
    """Whether the two touch a byte in common; also true where that is too hard to tell."""
    if a.low >= b.high or b.low >= a.high:
        return False
    if a.layout is None and b.layout is None:
        return True
    try:
        return np.shares_memory(np.asarray(_Layout(a)), np.asarray(_Layout(b)), max_work=10_000)
    except np.exceptions.TooHardError:
        return True


def _clash(new: Access, old: Access, clock: Clock) -> bool:
    """The same bytes, one of the two writes, and the older one need not be done."""
    unordered = (new.writes or old.writes) and clock.get(old.stream, 0) < old.count
    return unordered and _overlap(new, old)


def _settled(old: Access, new: Access) -> bool:
    """Whether the new access stands for an older one of the same stream."""
    inside = new.layout is None and new.low <= old.low and old.high <= new.high
    return old.stream == new.stream and inside and (new.writes or not old.writes)


def _sentence(new: Access, old: Access, name: str) -> str:
    does, did = ("writes" if one.writes else "reads" for one in (new, old))
    here, there = stream_name(new.stream), stream_name(old.stream)
    return (
        f"{new.label} in {here} {does} {name}, which {old.label} in {there} {did}, and nothing orders "
        f"the two: let {here} wait for an event recorded in {there}, or synchronise between them"
    )
