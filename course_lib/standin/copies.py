"""Copies between the host and the emulated GPU, in the order of their stream.

As CUDA has it: from ordinary (pageable) memory the call returns once the data has left it, to ordinary
memory once it has arrived. With pinned memory it returns at once, so the host must neither change the source
nor look at the result before it has waited (CUDA runtime API, "API synchronization behavior").
"""

import numpy as np

from .ledger import Operation
from .order import Clock
from .pinned import is_pinned
from .streams import Stream, get_current_stream, host_waits, refuse_capture, report, submit, when_known

_CHANGED = (
    "the host changed pinned memory before the copy that reads it was known to be done: what the GPU got is "
    "undefined. Synchronise with the copy's stream first"
)


def copy_in(target: np.ndarray, source: np.ndarray, stream: Stream | None = None) -> None:
    """Copy host memory to the GPU in a stream, by default the current one."""
    pinned = is_pinned(source)
    stream = stream or get_current_stream()
    later = pinned or stream.capture is not None  # a graph reads the host's memory whenever it is launched
    held = source if later else source.copy()

    def run(clock: Clock) -> None:
        sent = held.copy() if later else held
        target[...] = sent
        if pinned:
            when_known(clock, lambda: report([_CHANGED] if _differ(sent, held) else []))

    operation = Operation("copy in", bytes=target.nbytes, pinned=pinned, blocking=not pinned)
    submit(operation, "a copy to the GPU", run, writes=[(target, "the array")], stream=stream)


def copy_out(
    source: np.ndarray, stream: Stream | None, order: str, out: np.ndarray | None, blocking: bool
) -> np.ndarray:
    """Copy GPU memory to `out` or a new host array; to pinned memory it arrives when the host waits for it.

    Raises:
        RuntimeError: a blocking copy from a stream that is capturing.
    """
    stream = stream or get_current_stream()
    if blocking and stream.capture:
        raise RuntimeError("the current stream is capturing: get(blocking=True) would wait for it")
    target = np.array(source, order=order) if out is None else out
    pinned = out is not None and is_pinned(out)
    later = pinned and not blocking

    def run(clock: Clock) -> None:
        arrived = np.array(source)
        if later:
            when_known(clock, lambda: _store(target, arrived))
        else:
            target[...] = arrived

    operation = Operation("copy out", bytes=source.nbytes, pinned=pinned, blocking=not later)
    submit(operation, "a copy to the host", run, reads=[(source, "the array")], stream=stream)
    if not later and not stream.capture:
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
    return source


def _store(target: np.ndarray, value: np.ndarray) -> None:
    target[...] = value


def _differ(a: np.ndarray, b: np.ndarray) -> bool:
    return a.tobytes() != b.tobytes()
