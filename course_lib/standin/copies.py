"""Copies between the host and the emulated GPU, in the order of their stream.

As CUDA has it: from ordinary (pageable) memory the call returns once the data has left it, to ordinary
memory once it has arrived. With pinned memory it returns at once, so the host must neither change the source
nor look at the result before it has waited (CUDA runtime API, "API synchronization behavior"). What is on its
way to pinned memory is seen by the copies ordered behind it. As CuPy has it, no copy is part of a capture.
"""

from dataclasses import dataclass

import numpy as np

from .ledger import Operation, note_arrival
from .order import Clock, covers
from .pinned import is_pinned
from .streams import Stream, get_current_stream
from .work import chosen, host_waits, refuse_capture, report, submit, when_known

CHANGED = (
    "the host changed pinned memory before the copy that reads it was known to be done: what the GPU got is "
    "undefined. Synchronise with the copy's stream first"
)
PINNED = "pinned memory"


@dataclass(eq=False)
class _Arrival:
    """Data on its way to memory of the host; it is there once the host has waited for `clock`."""

    clock: Clock
    target: np.ndarray
    value: np.ndarray


_arriving: list[_Arrival] = []


def copy_in(target: np.ndarray, source: np.ndarray, stream: Stream | None = None) -> None:
    """Copy host memory to the GPU in a stream, by default the current one.

    Raises:
        RuntimeError: the stream is capturing.
    """
    stream = chosen(stream)
    _refuse(stream, "H2D")
    pinned = is_pinned(source)

    def run(clock: Clock) -> None:
        target[...] = sent = _as_then(source, clock)
        if pinned:
            when_known(clock, lambda: report([CHANGED] if sent.tobytes() != source.tobytes() else []))

    operation = Operation("copy in", bytes=target.nbytes, pinned=pinned, blocking=not pinned)
    reads = [(source, PINNED)] if pinned else []
    submit(operation, "a copy to the GPU", run, reads, [(target, "the array")], stream=stream)


def copy_out(
    source: np.ndarray, stream: Stream | None, order: str, out: np.ndarray | None, blocking: bool
) -> np.ndarray:
    """Copy GPU memory to `out` or a new host array; to pinned memory it arrives when the host waits for it.

    Raises:
        RuntimeError: the stream is capturing.
    """
    stream = chosen(stream)
    _refuse(stream, "D2H")
    target = np.array(source, order=order) if out is None else out
    pinned = out is not None and is_pinned(out)
    later = pinned and not blocking

    def run(clock: Clock) -> None:
        arrival = _Arrival(clock, target, np.array(source))
        _arriving.append(arrival)
        when_known(clock, lambda: _arrive(arrival))

    operation = Operation("copy out", bytes=source.nbytes, pinned=pinned, blocking=not later)
    writes = [(target, PINNED)] if pinned else []
    submit(operation, "a copy to the host", run, [(source, "the array")], writes, stream=stream)
    if not later:
        host_waits(stream.clock())
    return target


def note_copy_in(target: np.ndarray) -> None:
    """A new array was filled from the host, as `cp.asarray` does: in the current stream, through a buffer."""
    operation = Operation("copy in", bytes=target.nbytes, blocking=True)
    submit(operation, "a copy to the GPU", lambda _: None, writes=[(target, "the array")])


def host_read(source: np.ndarray) -> np.ndarray:
    """The memory itself, after what a copy to the host by way of the current stream has to wait for."""
    refuse_capture("looking at an array would wait for it")
    stream = get_current_stream()
    reads = [(source, "the array")]
    operation = Operation("copy out", bytes=source.nbytes, blocking=True)
    submit(operation, "the host", lambda _: None, reads, stream=stream)
    host_waits(stream.clock())
    note_arrival(source)
    return source


def _refuse(stream: Stream, way: str) -> None:
    if stream.capture:
        raise RuntimeError(
            f"the current stream is capturing, so {way} transfers are disallowed: CuPy captures no copy; "
            "give it to the stream before or after the launch of the graph"
        )


def _arrive(arrival: _Arrival) -> None:
    _arriving.remove(arrival)
    arrival.target[...] = arrival.value
    note_arrival(arrival.value)


def _as_then(source: np.ndarray, clock: Clock) -> np.ndarray:
    """A copy of the host's memory as it is after the arrivals that `clock` has behind it."""
    there = [a for a in _arriving if covers(clock, a.clock) and np.may_share_memory(a.target, source)]
    before = [a.target.copy() for a in there]
    for arrival in there:
        arrival.target[...] = arrival.value
    found = source.copy()
    for arrival, value in zip(reversed(there), reversed(before), strict=True):
        arrival.target[...] = value
    return found
