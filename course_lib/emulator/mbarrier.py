"""mbarrier: barriers in shared memory that count arrivals, phase after phase.

`cuda::barrier` and `cuda::pipeline` are made of them. A phase is complete when as many threads have
arrived as `mbarrier.init` said; then the next begins. To arrive and to wait are two steps, so producers
may go on. Copies by cp.async that a thread ties to the barrier (`cp.async.mbarrier.arrive`) arrive in
shared memory when the phase does. The 8 bytes in shared memory hold the number of the phase; the rest of
the state is kept here. (PTX ISA, "mbarrier".)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from .address import Plain, Value
from .asynchronous import within
from .errors import EmulatorError
from .fragment import Fragment

DOUBLE_WORD = np.dtype(np.uint64)
Arrivals = list[tuple[np.ndarray, int]]


@dataclass
class MBarrier:
    """Arrivals a phase needs, those still missing, the phase, and who arrived in it (threads, stamp).

    `before`: who arrived in the phase that was completed last. `copies`: (numbers of lanes in the chunk,
    serial number) of copies that belong to the phase.
    """

    expected: int
    missing: int
    phase: int = 0
    arrived: Arrivals = field(default_factory=list)
    before: Arrivals = field(default_factory=list)
    copies: list[tuple[np.ndarray, int]] = field(default_factory=list)


@dataclass
class Named:
    """A barrier that some lanes (their positions in a fragment) name; `place` in the chunk's memory."""

    key: tuple[int, int]
    lanes: np.ndarray
    place: int
    barrier: MBarrier | None


def _named(fragment: Fragment, space: str, address: Value, offset: int, site: int) -> Iterator[Named]:
    """Every barrier that lanes of the fragment name; each block has its own."""
    place = fragment._locate(space, address, offset, DOUBLE_WORD, 1, site)
    rows, known = fragment.rows_of_lanes(), fragment.chunk.copies.mbarriers
    keys = rows * (1 << 32) + within(fragment, place.address, offset)
    places = np.broadcast_to(place.indices, fragment.lanes.shape).ravel() + place.first
    for key in np.unique(keys):
        lanes = np.flatnonzero(keys == key)
        row_and_byte = divmod(int(key), 1 << 32)
        yield Named(row_and_byte, lanes, int(places[lanes[0]]), known.get(row_and_byte))


def _ready(fragment: Fragment, named: Named, site: int) -> MBarrier:
    if named.barrier is None:
        raise EmulatorError(
            f"{fragment.chunk.program.where(site)}: no barrier was initialised at shared byte "
            f"{named.key[1]}; one thread must call init(), and all meet at __syncthreads() before using it"
        )
    return named.barrier


def _memory(fragment: Fragment) -> np.ndarray:
    return fragment.chunk.shared_memory.view(DOUBLE_WORD)


def _stamp(fragment: Fragment) -> int:
    observer = fragment.chunk.observer
    return observer.arrival() if observer is not None else 0


# -- called by generated code ---------------------------------------------------------


def init(fragment: Fragment, space: str, address: Value, offset: int, count: Plain, site: int) -> None:
    """mbarrier.init: `count` arrivals complete a phase."""
    counts = np.broadcast_to(count, fragment.lanes.shape).ravel()
    fragment.store(space, address, offset, [np.uint64(0)], DOUBLE_WORD, site)
    for named in _named(fragment, space, address, offset, site):
        expected = int(counts[named.lanes[-1]])
        fragment.chunk.copies.mbarriers[named.key] = MBarrier(expected, expected)


def invalidate(fragment: Fragment, space: str, address: Value, offset: int, site: int) -> None:
    """mbarrier.inval."""
    for named in _named(fragment, space, address, offset, site):
        fragment.chunk.copies.mbarriers.pop(named.key, None)


def arrive(
    fragment: Fragment, space: str, address: Value, offset: int, count: Plain, drop: bool, site: int
) -> np.ndarray:
    """mbarrier.arrive, arrive_drop: `count` arrivals of each lane; the phase each arrived in."""
    tokens = np.zeros(fragment.lanes.count, np.uint64)
    counts = np.broadcast_to(count, fragment.lanes.shape).ravel()
    stamp = _stamp(fragment)
    for named in _named(fragment, space, address, offset, site):
        barrier = _ready(fragment, named, site)
        waiting = named.lanes
        while waiting.size:
            fits = np.cumsum(counts[waiting]) <= barrier.missing
            now, waiting = waiting[fits], waiting[~fits]
            if not now.size:
                raise EmulatorError(
                    f"{fragment.chunk.program.where(site)}: more threads arrive at the barrier in shared "
                    f"byte {named.key[1]} than init() said ({barrier.expected})"
                )
            tokens[now] = barrier.phase
            arrivals = int(counts[now].sum())
            barrier.arrived.append((fragment.lanes.lane_threads[now], stamp))
            barrier.missing -= arrivals
            barrier.expected -= arrivals if drop else 0
            _complete(fragment, named, barrier)
    return tokens.reshape(fragment.lanes.shape)


def _complete(fragment: Fragment, named: Named, barrier: MBarrier) -> None:
    """Begin the next phase if nobody is missing; copies tied to this one arrive."""
    if barrier.missing:
        return
    copies = fragment.chunk.copies
    for ids, serial in barrier.copies:
        copies.deliver(ids, serial)
        threads = ids - named.key[0] * fragment.chunk.geometry.threads
        barrier.arrived.append((threads, _stamp(fragment)))
    barrier.before, barrier.arrived, barrier.copies = barrier.arrived, [], []
    barrier.phase, barrier.missing = barrier.phase + 1, barrier.expected
    _memory(fragment)[named.place] = barrier.phase


def tie_copies(fragment: Fragment, space: str, address: Value, offset: int, counted: bool, site: int) -> None:
    """cp.async.mbarrier.arrive: all copies of each lane belong to the phase; `counted`: as an arrival."""
    ids = fragment.lanes.ids - fragment.chunk.first_block * fragment.chunk.geometry.threads
    for named in _named(fragment, space, address, offset, site):
        barrier = _ready(fragment, named, site)
        barrier.copies.append((ids[named.lanes], fragment.chunk.copies.serial))
    if counted:
        arrive(fragment, space, address, offset, np.uint32(1), False, site)


def is_complete(
    fragment: Fragment, space: str, address: Value, offset: int, token: Plain, parity: bool, site: int
) -> np.ndarray:
    """mbarrier.test_wait, try_wait: whether the phase of `token` (or the last of that parity) is complete."""
    done = np.zeros(fragment.lanes.count, np.bool_)
    tokens = np.broadcast_to(token, fragment.lanes.shape).ravel()
    for named in _named(fragment, space, address, offset, site):
        barrier = _ready(fragment, named, site)
        wanted = tokens[named.lanes]
        passed = (wanted & 1) != (barrier.phase & 1) if parity else wanted != barrier.phase
        done[named.lanes] = passed
        observer = fragment.chunk.observer
        if observer is not None and passed.any():
            threads = fragment.lanes.lane_threads[named.lanes[passed]]
            observer.group_barrier(named.key[0], threads, barrier.before)
    return done.reshape(fragment.lanes.shape)
