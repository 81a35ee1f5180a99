"""Stream capture without a GPU: the nodes of a graph, and what CUDA forbids while they are collected."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .ledger import Operation
from .order import Clock, Named, Order, covers

if TYPE_CHECKING:
    from .streams import Stream
    from .work import Touched


class CUDARuntimeError(RuntimeError):
    """An error of the CUDA runtime, by its name there."""


class CUDADriverError(RuntimeError):
    """An error of the CUDA driver, by its name there."""


def capture_error(name: str, text: str) -> CUDARuntimeError:
    """The error `cudaError<name>`."""
    return CUDARuntimeError(f"cudaError{name}: {text}")


@dataclass(frozen=True)
class Node:
    """Work that a graph holds: what it is, how to run it (`submit`), and the memory it reads and writes."""

    operation: Operation
    label: str
    run: "Callable[[Clock], Touched | None]"
    reads: tuple[Named, ...]
    writes: tuple[Named, ...]


class Capture:
    """What is captured from the stream `origin`, and from streams that joined it through an event."""

    def __init__(self, origin: "Stream") -> None:
        self.origin = origin
        self.nodes: list[Node] = []
        self.order = Order()
        self.valid = True
        self.streams: list[Stream] = []
        self.join(origin, {})

    def join(self, stream: "Stream", clock: Clock) -> None:
        """The stream becomes part of the capture, its next work behind the clock."""
        if stream.capture not in (None, self):
            stream.capture.valid = False
            raise self.broken("StreamCaptureMerge", "two captures cannot become one")
        if stream not in self.streams:
            self.streams.append(stream)
        stream.capture = self
        self.order.wait(stream.ptr, clock)

    def add(self, stream: "Stream", node: Node) -> list[str]:
        """Take up a node; sentences about what nothing in the graph orders."""
        self.nodes.append(node)
        self.order.start(stream.ptr)
        return self.order.touch(stream.ptr, node.label, node.reads, node.writes)

    def broken(self, name: str, text: str) -> CUDARuntimeError:
        """The error, after which the capture gives no graph."""
        self.valid = False
        return capture_error(name, text)

    def release(self) -> None:
        """Let the streams out of the capture."""
        for stream in self.streams:
            stream.capture = None

    def end(self) -> list[Node]:
        """The nodes, in an order that respects all that is captured; the streams are free again.

        Raises:
            CUDARuntimeError: something forbidden happened, or a stream that joined was not joined back.
        """
        self.release()
        if not self.valid:
            raise capture_error("StreamCaptureInvalidated", "the capture was spoilt by an earlier error")
        last = self.order.clock(self.origin.ptr)
        for stream in self.streams:
            if not covers(last, self.order.clock(stream.ptr)):
                text = (
                    f"stream {self.origin.ptr} does not wait for what was captured from stream {stream.ptr}"
                )
                raise capture_error("StreamCaptureUnjoined", f"{text}: record an event there")
        return self.nodes
