"""Giving work to streams: what runs at once, what is captured, what waits for the host to wait."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..emulator.arguments import warn_author
from ..emulator.errors import HazardWarning
from .capture import Capture, CUDADriverError, Node, capture_error
from .ledger import Operation, note, note_hazard
from .order import Clock, Named, Order, merged

if TYPE_CHECKING:
    from .streams import Stream

Touched = tuple[Sequence[Named], Sequence[Named]]  # what a piece of work has read, and what it has written

order = Order()
capturing: list[Capture] = []
stack: list["Stream"] = []  # the current stream is the last one
IMPLICIT = "the default stream would wait for one that is capturing: use Stream(non_blocking=True)"
_pending: list[tuple[Clock, Callable[[], None]]] = []  # what happens once the host has waited for a clock
_asked: set[frozenset] = set()  # clocks that a query was told are not done


def get_current_stream(device_id: int | None = None) -> "Stream":
    """The stream that takes work which names none."""
    return stack[-1]


def chosen(stream: "Stream | None") -> "Stream":
    """The stream, by default the current one.

    Raises:
        AttributeError: something else, as in CuPy.
    """
    if stream is None:
        return get_current_stream()
    if not hasattr(stream, "ptr"):
        kind = type(stream).__name__
        raise AttributeError(f"{kind!r} object has no attribute 'ptr': a stream is a cp.cuda.Stream")
    return stream


@contextmanager
def own_current_stream() -> Iterator[None]:
    """Within, the default stream is the current one; behind, whichever was before."""
    before = list(stack)
    stack[:] = [type(before[0]).null]
    try:
        yield
    finally:
        stack[:] = before


def submit(
    operation: Operation,
    label: str,
    run: Callable[[Clock], Touched | None],
    reads: Sequence[Named] = (),
    writes: Sequence[Named] = (),
    stream: "Stream | None" = None,
) -> None:
    """Give work to a stream, by default the current one: run it, or take it up in the graph being captured.

    `operation` is noted with the stream's number; `label` names the work in messages. `run` gets the clock
    that is reached when the work is done; it may return what it has touched, where that is better known then
    than by `reads` and `writes`.
    """
    stream = chosen(stream)
    operation = Operation(**{**vars(operation), "stream": stream.ptr})
    if stream.capture:
        report(stream.capture.add(stream, Node(operation, label, run, tuple(reads), tuple(writes))))
        return
    if stream.ptr == 0:
        _refuse_implicit(operation.kind)
    clock = order.start(stream.ptr, stream.behind())
    note(operation)
    touched = run(dict(clock))
    report(order.touch(stream.ptr, label, *(touched or (reads, writes))))


def when_known(clock: Clock, then: Callable[[], None]) -> None:
    """Do this as soon as the host has waited for the clock."""
    _pending.append((clock, then))


def host_waits(clock: Clock) -> None:
    """The host waits; what was to happen then happens."""
    order.host_waits(clock)
    ready = [then for wanted, then in _pending if order.known(wanted)]
    _pending[:] = [(wanted, then) for wanted, then in _pending if not order.known(wanted)]
    _asked.difference_update([asked for asked in _asked if order.known(dict(asked))])
    for then in ready:
        then()


def query(clock: Clock, operation: Operation) -> bool:
    """Whether the host knows that the clock is reached. Who asks again after a "no" waits: `operation`."""
    if order.known(clock):
        return True
    asked = frozenset(clock.items())
    if asked not in _asked:
        _asked.add(asked)
        return False
    host_waits(clock)
    note(operation)
    return True


def device_synchronize() -> None:
    """The host waits for every stream."""
    if capturing:
        text = "the device cannot be waited for during a capture"
        raise capturing[0].broken("StreamCaptureUnsupported", text)
    host_waits(merged(*order.clocks.values()))
    note(Operation("synchronise", "all"))


def abandon_captures() -> None:
    """End every capture without a graph."""
    for capture in capturing:
        capture.release()
    capturing.clear()


def refuse_capture(what: str) -> None:
    """What the current stream's capture cannot take up.

    Raises:
        RuntimeError: the current stream is capturing.
    """
    if get_current_stream().capture:
        raise RuntimeError(f"the current stream is capturing: {what}")


def report(sentences: Sequence[str]) -> None:
    """Warn of what is not ordered, and note it."""
    for text in sentences:
        note_hazard(text)
        warn_author(text, HazardWarning)


def implicit_capture() -> Capture | None:
    """A capture that the default stream would have to wait for."""
    return next((one for one in capturing if not one.origin.is_non_blocking), None)


def _refuse_implicit(kind: str) -> None:
    """Work in the default stream spoils such a capture; a kernel is refused by the driver (CuPy 14.2)."""
    capture = implicit_capture()
    if capture is None:
        return
    capture.valid = False
    if kind == "kernel":
        raise CUDADriverError(f"CUDA_ERROR_STREAM_CAPTURE_IMPLICIT: {IMPLICIT}")
    raise capture_error("StreamCaptureImplicit", IMPLICIT)
