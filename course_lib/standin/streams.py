"""Streams, events and graphs without a GPU: CuPy's calls, with the order CUDA promises and no more.

Work runs when it is given to a stream, in the order of the program: one of the orders a GPU may take. Where
that order is not promised and matters, a HazardWarning says so. A copy to pinned memory of the host arrives
when the host waits for it, not before. What a capture takes up runs when its graph is launched.
"""

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from ..emulator.arguments import warn_author
from ..emulator.errors import HazardWarning
from .capture import Capture, CUDARuntimeError, Node, capture_error
from .ledger import Operation, note, note_hazard
from .names import lacking
from .order import Clock, Named, Order, merged

_order = Order()
_numbers, _events = count(1), count(1)
_pending: list[tuple[Clock, Callable[[], None]]] = []  # what happens once the host has waited for a clock
_capturing: list[Capture] = []


class Event:
    """A mark in a stream."""

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        if interprocess and not disable_timing:
            raise ValueError("Timing must be disabled for interprocess events")
        self.number = next(_events)
        self.clock: Clock = {}
        self.capture: Capture | None = None

    @property
    def done(self) -> bool:
        """Whether the host knows that everything before the mark is done; asking twice is waiting."""
        return _query(self.clock)

    def record(self, stream: "Stream | None" = None) -> None:
        """Set the mark behind the work that the stream, by default the current one, has now."""
        stream = stream or get_current_stream()
        self.capture = stream.capture
        self.clock = dict((stream.capture.order if stream.capture else _order).clock(stream.ptr))
        if not stream.capture:
            self.clock = merged(self.clock, *stream.behind())
            note(Operation("record", stream=stream.ptr, event=self.number))

    def synchronize(self) -> None:
        """Let the host wait for everything before the mark."""
        if self.capture is not None:
            raise self.capture.broken("CapturedEvent", "an event recorded in a capture cannot be waited for")
        host_waits(self.clock)
        note(Operation("synchronise", event=self.number))


class Stream:
    """A queue of work that a GPU does in order, next to other streams."""

    null: "Stream"

    def __init__(self, null=False, non_blocking=False, ptds=False, priority=None) -> None:
        if ptds:
            raise lacking("cp.cuda.Stream(ptds=True)")
        self.ptr = 0 if null else next(_numbers)
        self.is_non_blocking = bool(non_blocking) and not null
        self.device_id = -1 if null else 0
        self.capture: Capture | None = None
        if not null and not self.is_non_blocking:
            _blocking.add(self.ptr)

    @property
    def done(self) -> bool:
        """Whether the host knows that all work of the stream is done; asking twice is waiting."""
        if self.capture:
            self.capture.valid = False
            return False
        return _query(self.clock())

    def clock(self) -> Clock:
        """What is done once all work of the stream, and all before it, is."""
        return merged(_order.clock(self.ptr), *self.behind())

    def behind(self) -> list[Clock]:
        """The default stream and those that are not `non_blocking` wait for each other."""
        if self.ptr == 0:
            return [_order.clock(other) for other in _blocking]
        return [] if self.is_non_blocking else [_order.clock(0)]

    def record(self, event: Event | None = None) -> Event:
        """Set a mark and return it."""
        event = event or Event()
        event.record(self)
        return event

    def synchronize(self) -> None:
        """Let the host wait for all work of the stream."""
        if self.capture:
            text = "a stream that is capturing cannot be waited for"
            raise self.capture.broken("StreamCaptureUnsupported", text)
        host_waits(self.clock())
        note(Operation("synchronise", stream=self.ptr))

    def wait_event(self, event: Event) -> None:
        """Later work of the stream waits for what the event marks."""
        if event.capture in _capturing:
            event.capture.join(self, event.clock)
        elif event.capture is not None:
            raise capture_error("CapturedEvent", "the event was recorded in a capture that has ended")
        elif self.capture:
            text = "a capture cannot wait for work outside of it"
            raise self.capture.broken("StreamCaptureIsolation", text)
        else:
            _order.wait(self.ptr, event.clock)
            note(Operation("wait", stream=self.ptr, event=event.number))

    def begin_capture(self, mode: int | None = None) -> None:
        """From here on, work given to the stream becomes nodes of a graph instead of running."""
        if self.ptr == 0:
            raise RuntimeError("cannot capture on the default (legacy) stream")
        if self.capture:
            raise capture_error("IllegalState", "the stream is capturing already")
        _capturing.append(Capture(self))

    def end_capture(self) -> "Graph":
        """The graph of what was captured."""
        if self.capture is None:
            raise capture_error("IllegalState", "the stream is not capturing")
        capture = self.capture
        if capture.origin is not self:
            raise capture.broken("StreamCaptureUnmatched", "the capture was begun in another stream")
        _capturing.remove(capture)
        return Graph._of(capture.end())

    def is_capturing(self) -> bool:
        """Whether work given to the stream becomes nodes of a graph."""
        if self.ptr == 0:
            _refuse_implicit()
        return self.capture is not None

    def use(self) -> "Stream":
        """Make this the current stream."""
        _stack[-1] = self
        return self

    def __enter__(self) -> "Stream":
        _stack.append(self)
        return self

    def __exit__(self, *error) -> None:
        _stack.pop()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.ptr == other.ptr

    def __hash__(self) -> int:
        return self.ptr

    def __repr__(self) -> str:
        return f"<Stream {self.ptr} (device {self.device_id})>"

    def __getattr__(self, name: str):
        raise lacking(f"cp.cuda.Stream.{name}")


_blocking: set[int] = set()
Stream.null = Stream(null=True)
_stack: list[Stream] = [Stream.null]


class Graph:
    """Work that was captured, to be launched as a whole as often as you like."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError("a graph cannot be made directly: capture a stream")

    @classmethod
    def _of(cls, nodes: Sequence[Node]) -> "Graph":
        graph = cls.__new__(cls)
        graph._nodes = tuple(nodes)
        note(Operation("capture", nodes=tuple(node.operation for node in nodes)))
        return graph

    def launch(self, stream: Stream | None = None) -> None:
        """Run all nodes, on the arguments of the capture, in the stream or the current one."""
        nodes = self._nodes

        def run(clock: Clock) -> None:
            for node in nodes:
                node.run(clock)

        submit(
            Operation("graph", f"{len(nodes)} nodes", nodes=tuple(node.operation for node in nodes)),
            "a graph",
            run,
            [named for node in nodes for named in node.reads],
            [named for node in nodes for named in node.writes],
            stream,
        )

    def upload(self, stream: Stream | None = None) -> None:
        """Nothing to do here."""

    def __getattr__(self, name: str):
        raise lacking(f"cp.cuda.Graph.{name}")


def get_current_stream(device_id: int | None = None) -> Stream:
    """The stream that takes work which names none."""
    return _stack[-1]


def submit(
    operation: Operation,
    label: str,
    run: Callable[[Clock], None],
    reads: Sequence[Named] = (),
    writes: Sequence[Named] = (),
    stream: Stream | None = None,
) -> None:
    """Give work to a stream, by default the current one: run it, or take it up in the graph being captured.

    `operation` is noted with the stream's number; `label` names the work in messages. `run` gets the clock
    that is reached when the work is done.
    """
    stream = stream or get_current_stream()
    operation = Operation(**{**vars(operation), "stream": stream.ptr})
    if stream.capture:
        report(stream.capture.add(stream, Node(operation, label, run, tuple(reads), tuple(writes))))
        return
    if stream.ptr == 0:
        _refuse_implicit()
    report(_order.work(stream.ptr, label, reads, writes, stream.behind()))
    note(operation)
    run(dict(_order.clock(stream.ptr)))


def when_known(clock: Clock, then: Callable[[], None]) -> None:
    """Do this as soon as the host has waited for the clock."""
    _pending.append((clock, then))


def host_waits(clock: Clock) -> None:
    """The host waits; what was to happen then happens."""
    _order.host_waits(clock)
    ready = [then for wanted, then in _pending if _order.known(wanted)]
    _pending[:] = [(wanted, then) for wanted, then in _pending if not _order.known(wanted)]
    for then in ready:
        then()


def device_synchronize() -> None:
    """The host waits for every stream."""
    if _capturing:
        text = "the device cannot be waited for during a capture"
        raise _capturing[0].broken("StreamCaptureUnsupported", text)
    host_waits(merged(*_order.clocks.values()))
    note(Operation("synchronise", "all"))


def abandon_captures() -> None:
    """End every capture without a graph."""
    for capture in _capturing:
        capture.release()
    _capturing.clear()


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


def _query(clock: Clock) -> bool:
    known = _order.known(clock)
    host_waits(clock)
    return known


def _refuse_implicit() -> None:
    for capture in _capturing:
        if not capture.origin.is_non_blocking:
            text = "the default stream would wait for one that is capturing: use Stream(non_blocking=True)"
            raise capture_error("StreamCaptureImplicit", text)


__all__ = ["CUDARuntimeError", "Event", "Graph", "Stream", "get_current_stream"]
