"""Streams, events and graphs without a GPU: CuPy's calls, with the order CUDA promises and no more.

Work runs when it is given to a stream, in the order of the program: one of the orders a GPU may take. Where
that order is not promised and matters, a HazardWarning says so. A copy to pinned memory of the host arrives
when the host waits for it, not before. What a capture takes up runs when its graph is launched.
"""

from collections.abc import Sequence
from itertools import count
from typing import Any

from . import work
from .capture import Capture, CUDARuntimeError, Node, capture_error
from .ledger import Operation, note
from .names import lacking
from .order import Clock, Named, merged
from .work import Touched, get_current_stream, host_waits, submit

_numbers, _events = count(1), count(1)


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
        """Whether the host knows that everything before the mark is done; asking again is waiting.

        As in CuPy, False for an event of a capture, which is spoilt by the question.
        """
        if self.capture is not None:
            self.capture.valid = False
            return False
        return work.query(self.clock, Operation("synchronise", event=self.number))

    def record(self, stream: "Stream | None" = None) -> None:
        """Set the mark behind the work that the stream, by default the current one, has now."""
        stream = work.chosen(stream)
        self.capture = stream.capture
        self.clock = dict((stream.capture.order if stream.capture else work.order).clock(stream.ptr))
        if not stream.capture:
            self.clock = merged(self.clock, *stream.behind())
            note(Operation("record", stream=stream.ptr, event=self.number))

    def synchronize(self) -> None:
        """Let the host wait for everything before the mark."""
        if self.capture in work.capturing:
            raise self.capture.broken("CapturedEvent", "an event recorded in a capture cannot be waited for")
        if self.capture is not None:
            raise _outlived()
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
        """Whether the host knows that all work of the stream is done; asking again is waiting."""
        if self.capture:
            self.capture.valid = False
            return False
        return work.query(self.clock(), Operation("synchronise", stream=self.ptr))

    def clock(self) -> Clock:
        """What is done once all work of the stream, and all before it, is."""
        return merged(work.order.clock(self.ptr), *self.behind())

    def behind(self) -> list[Clock]:
        """The default stream and those that are not `non_blocking` wait for each other."""
        if self.ptr == 0:
            return [work.order.clock(other) for other in _blocking]
        return [] if self.is_non_blocking else [work.order.clock(0)]

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
        if event.capture in work.capturing:
            event.capture.join(self, event.clock)
        elif event.capture is not None:
            raise _outlived()
        elif self.capture:
            text = "a capture cannot wait for work outside of it"
            raise self.capture.broken("StreamCaptureIsolation", text)
        else:
            work.order.wait(self.ptr, event.clock)
            note(Operation("wait", stream=self.ptr, event=event.number))

    def begin_capture(self, mode: int | None = None) -> None:
        """From here on, work given to the stream becomes nodes of a graph instead of running."""
        if self.ptr == 0:
            raise RuntimeError("cannot capture on the default (legacy) stream")
        if self.capture:
            raise capture_error("IllegalState", "the stream is capturing already")
        work.capturing.append(Capture(self))

    def end_capture(self) -> "Graph":
        """The graph of what was captured."""
        if self.capture is None:
            raise capture_error("IllegalState", "the stream is not capturing")
        capture = self.capture
        if capture.origin is not self:
            raise capture.broken("StreamCaptureUnmatched", "the capture was begun in another stream")
        work.capturing.remove(capture)
        return Graph._of(capture.end())

    def is_capturing(self) -> bool:
        """Whether work given to the stream becomes nodes of a graph."""
        if self.ptr == 0 and work.implicit_capture():
            raise capture_error("StreamCaptureImplicit", work.IMPLICIT)
        return self.capture is not None

    def use(self) -> "Stream":
        """Make this the current stream."""
        work.stack[-1] = self
        return self

    def __enter__(self) -> "Stream":
        work.stack.append(self)
        return self

    def __exit__(self, *error) -> None:
        work.stack.pop()

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
work.stack.append(Stream.null)


class Graph:
    """Work that was captured, to be launched as a whole as often as you like."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError("a graph cannot be made directly: capture a stream")

    @classmethod
    def _of(cls, nodes: Sequence[Node]) -> "Graph":
        graph = cls.__new__(cls)
        graph._nodes, graph._last = tuple(nodes), {}
        note(Operation("capture", nodes=tuple(node.operation for node in nodes)))
        return graph

    def launch(self, stream: Stream | None = None) -> None:
        """Run all nodes, on the arguments of the capture, in the stream or the current one.

        Behind earlier launches of the same graph too, in any stream (CUDA runtime API, `cudaGraphLaunch`).
        """
        stream = work.chosen(stream)
        if stream.capture:
            raise stream.capture.broken("StreamCaptureUnsupported", "a graph cannot be launched in a capture")
        nodes = tuple(node.operation for node in self._nodes)
        work.order.wait(stream.ptr, self._last)
        submit(Operation("graph", f"{len(nodes)} nodes", nodes=nodes), "a graph", self._run, stream=stream)
        self._last = stream.clock()

    def _run(self, clock: Clock) -> Touched:
        """Run the nodes; what they touch together."""
        reads: list[Named] = []
        writes: list[Named] = []
        for node in self._nodes:
            touched = node.run(clock) or (node.reads, node.writes)
            reads.extend(touched[0])
            writes.extend(touched[1])
        return reads, writes

    def upload(self, stream: Stream | None = None) -> None:
        """Nothing to do here."""

    def __getattr__(self, name: str):
        raise lacking(f"cp.cuda.Graph.{name}")


def _outlived() -> CUDARuntimeError:
    text = "the event was recorded in a capture that has ended: record it again outside of one"
    return capture_error("InvalidValue", text)


__all__ = ["CUDARuntimeError", "Event", "Graph", "Stream", "get_current_stream", "submit"]
