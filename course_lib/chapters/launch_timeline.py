"""Chapter 11, launch overhead: who does what when, modelled from the calls of the host and recorded costs.

The calls are those that a program made on the stand-in (`standin.ledger`), so the timeline is of that very
program. The costs of a call were recorded on a GPU. What the model assumes:

* The host gives its orders one after the other; each takes it a fixed time.
* A kernel fills the GPU: kernels run one after the other, whatever their streams. There is one copy
  engine in each direction, and the two do not slow each other down.
* Work begins when its stream, and the engine it needs, are free; on a GPU that had nothing to do, a fixed
  time after the order.
* A copy of pageable memory holds up the host until it is done.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ..standin.ledger import Operation

HOST, IN, SM, OUT = "host", "copy in", "SMs", "copy out"
ROWS = (HOST, IN, SM, OUT)
_ENGINE = {"kernel": SM, "copy in": IN, "copy out": OUT}


@dataclass(frozen=True)
class Costs:
    """Recorded costs: microseconds, and 10^9 bytes a second.

    On the host: `launch`, `copy`, `graph` (its launch), `record`, `wait` (for an event), `synchronise`. On
    the GPU: `start` from an order to its beginning when there was nothing to do; `gap` between kernels that
    were launched, `node` between those of a graph. `pinned`, `pageable`: rates to the GPU and to the host.
    """

    launch: float
    copy: float
    graph: float
    record: float
    wait: float
    synchronise: float
    start: float
    gap: float
    node: float
    pinned: tuple[float, float]
    pageable: tuple[float, float]


@dataclass(frozen=True)
class Bar:
    """Something that takes from `start` to `end`, in microseconds, in a row of the picture."""

    row: str
    start: float
    end: float
    label: str
    stream: int = 0


@dataclass
class Schedule:
    """The bars, and when the last of them ends."""

    bars: list[Bar] = field(default_factory=list)

    @property
    def end(self) -> float:
        """Microseconds from the first order until the host knows that all is done."""
        return max((bar.end for bar in self.bars), default=0.0)

    def busy(self, row: str) -> float:
        """Microseconds in which the row does something; a host that waits does nothing."""
        return sum(bar.end - bar.start for bar in self.bars if bar.row == row and bar.label != "waits")


def schedule(
    operations: Sequence[Operation], costs: Costs, work_us: Callable[[Operation], float], scale: float = 1.0
) -> Schedule:
    """The timeline of a program.

    Args:
        operations: its calls, in order.
        work_us: how long a kernel works, in microseconds.
        scale: bytes to reckon with for each byte that was copied.
    """
    run = _Run(costs, work_us, scale)
    for operation in operations:
        run.step(operation)
    return run.made


class _Run:
    """The clocks of the host, of every stream, engine and event while a program is gone through."""

    def __init__(self, costs: Costs, work_us: Callable[[Operation], float], scale: float) -> None:
        self.costs, self.work_us, self.scale = costs, work_us, scale
        self.made = Schedule()
        self.host = 0.0
        self.streams: dict[int, float] = {}
        self.engines: dict[str, float] = {}
        self.events: dict[int, float] = {}

    def step(self, operation: Operation) -> None:
        """Let the host make one call."""
        kind, stream, costs = operation.kind, operation.stream, self.costs
        if kind == "kernel":
            self._order("launch", costs.launch, stream)
            self._place(operation, stream, costs.gap)
        elif kind == "graph":
            self._order("graph", costs.graph, stream)
            for number, node in enumerate(operation.nodes):
                self._place(node, stream, costs.node if number else costs.gap)
        elif kind in ("copy in", "copy out"):
            self._copy(operation)
        elif kind == "record":
            self._order("event", costs.record, stream)
            self.events[operation.event] = self.streams.get(stream, 0.0)
        elif kind == "wait":
            self._order("event", costs.wait, stream)
            known = self.events.get(operation.event, 0.0)
            self.streams[stream] = max(known, self.streams.get(stream, 0.0))
        elif kind == "synchronise":
            self._wait(operation)

    def _order(self, label: str, cost: float, stream: int) -> None:
        self.made.bars.append(Bar(HOST, self.host, self.host + cost, label, stream))
        self.host += cost

    def _place(self, operation: Operation, stream: int, gap: float) -> None:
        """Put work on its engine, behind its stream and what the engine has to do."""
        engine = _ENGINE[operation.kind]
        before = max(self.streams.get(stream, -gap), self.engines.get(engine, -gap)) + gap
        start = max(self.host + self.costs.start, before)
        end = start + self._length(operation)
        self.streams[stream] = self.engines[engine] = end
        self.made.bars.append(Bar(engine, start, end, operation.name or operation.kind, stream))

    def _length(self, operation: Operation) -> float:
        if operation.kind == "kernel":
            return self.work_us(operation)
        rates = self.costs.pinned if operation.pinned else self.costs.pageable
        return 1e-3 * operation.bytes * self.scale / rates[operation.kind == "copy out"]

    def _copy(self, operation: Operation) -> None:
        began = self.host
        self._order("copy", self.costs.copy, operation.stream)
        self._place(operation, operation.stream, 0.0)
        if operation.blocking or not operation.pinned:
            last = self.made.bars.pop()
            ordered = self.made.bars.pop()
            self.made.bars += [Bar(HOST, began, last.end, "copy", ordered.stream), last]
            self.host = last.end

    def _wait(self, operation: Operation) -> None:
        if operation.event:
            until = self.events.get(operation.event, 0.0)
        elif operation.name == "all":
            until = max(self.streams.values(), default=0.0)
        else:
            until = self.streams.get(operation.stream, 0.0)
        if until > self.host:
            self.made.bars.append(Bar(HOST, self.host, until, "waits"))
        self.host = max(self.host, until)
        self._order("synchronise", self.costs.synchronise, operation.stream)
