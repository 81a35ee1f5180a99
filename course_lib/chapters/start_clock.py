"""Chapter 00: a GPU and a clock that are made up, so that a timing mistake looks alike on every machine.

`SimulatedGpu` stands in for `cp` in a timing function. Its times are modelled from a few constants. It has
what misleads a clock: launches that return at once, a first launch that compiles, an L2 that stays warm,
events that are not ready, and now and then a run that is disturbed.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace

from ..gpus import DEFAULT, gpu

LAUNCH_MS = 1e-3 * gpu(DEFAULT).measured.launch_us  # on the host, recorded: see data/gpus.toml
COMPILE_MS, EVENT_MS, FLUSH_MS = 30.0, 0.001, 0.03  # the order of what the H200's host takes
WARM = 0.55  # of the cold time, when the arrays are in L2
DISTURBED = (3, 9, 10, 16)  # launches that take longer, of every 20
DISTURBANCE = 1.6


class NotReadyError(RuntimeError):
    """An event was asked for its time before the GPU had reached it, as in the issue cupy/cupy#5678."""


@dataclass(frozen=True)
class Span:
    """Something that takes time: on `row` "host" or "GPU", from `start` to `end` in milliseconds."""

    row: str
    name: str
    start: float
    end: float


class _Named(SimpleNamespace):
    """Names of `cp.cuda`; asked for another, it says which there are."""

    def __getattr__(self, name: str) -> None:
        raise AttributeError(f"the simulated GPU has no {name}, only {', '.join(vars(self))}")


@dataclass
class Event:
    """A mark in the queue; `ms` is when the GPU reaches it."""

    gpu: "SimulatedGpu"
    ms: float | None = None

    def record(self, stream: object = None) -> None:
        """Queue the mark."""
        self.gpu.host("event", EVENT_MS)
        self.ms = max(self.gpu.now, self.gpu.busy_until)

    def synchronize(self) -> None:
        """Wait until the GPU has reached the mark."""
        self.gpu.wait(self.ms or 0.0)


@dataclass
class SimulatedGpu:
    """One GPU, one stream, one kernel that takes `kernel_ms` with an empty L2. `log`: what took time."""

    kernel_ms: float
    now: float = 0.0
    busy_until: float = 0.0
    launches: int = 0
    in_l2: bool = False
    log: list[Span] = field(default_factory=list)
    reads: list[float] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    @property
    def cuda(self) -> SimpleNamespace:
        """As `cp.cuda`: events, the stream, the device, and the time between two events."""
        return _Named(
            Event=self._event, get_current_stream=lambda: self, get_elapsed_time=self._elapsed,
            Device=lambda number=0: self, runtime=_Named(deviceSynchronize=self.synchronize),
        )  # fmt: skip

    def __getattr__(self, name: str) -> None:
        raise AttributeError(
            f"the simulated GPU has no {name}, only cuda: launch, flush and clock are arguments"
        )

    def clock(self) -> float:
        """Seconds on the host, as `time.perf_counter()`."""
        self.reads.append(self.now)
        return self.now / 1e3

    def launch(self) -> None:
        """Queue the kernel; the first time, compile it before."""
        if not self.launches:
            self.host("compile", COMPILE_MS)
        self.host("launch", LAUNCH_MS)
        slow = DISTURBANCE if self.launches % 20 in DISTURBED else 1.0
        self._queue("kernel", self.kernel_ms * slow * (WARM if self.in_l2 else 1.0))
        self.launches, self.in_l2 = self.launches + 1, True

    def flush(self) -> None:
        """Queue what empties L2."""
        self.host("flush", LAUNCH_MS)
        self._queue("flush", FLUSH_MS)
        self.in_l2 = False

    def synchronize(self) -> None:
        """Wait until the queue is empty."""
        self.wait(self.busy_until)

    def host(self, name: str, ms: float) -> None:
        """The host is busy for so long."""
        self.log.append(Span("host", name, self.now, self.now + ms))
        self.now += ms

    def wait(self, until: float) -> None:
        """The host waits for the GPU."""
        if until > self.now:
            self.host("wait", until - self.now)

    def _event(self) -> Event:
        self.events.append(Event(self))
        return self.events[-1]

    def _queue(self, name: str, ms: float) -> None:
        start = max(self.now, self.busy_until)
        self.log.append(Span("GPU", name, start, start + ms))
        self.busy_until = start + ms

    def _elapsed(self, start: Event, stop: Event) -> float:
        if start.ms is None or stop.ms is None:
            raise RuntimeError("an event was never recorded")
        if stop.ms > self.now:
            raise NotReadyError("cudaErrorNotReady: device not ready")
        return stop.ms - start.ms


Timer = Callable[[SimulatedGpu, Callable, Callable, Callable], float]


def host_unsynchronised(cp, launch, flush, clock) -> float:
    """Wrong: nobody waits for the kernel."""
    start = clock()
    launch()
    return 1e3 * (clock() - start)


def host_synchronised(cp, launch, flush, clock) -> float:
    """The host's clock, with a wait: kernel and launch together."""
    start = clock()
    launch()
    cp.cuda.get_current_stream().synchronize()
    return 1e3 * (clock() - start)


def between_events(cp, launch, flush, clock) -> float:
    """The kernel alone: marks in its own queue, behind work that is already there."""
    start, stop = cp.cuda.Event(), cp.cuda.Event()
    flush()
    start.record()
    launch()
    stop.record()
    stop.synchronize()
    return cp.cuda.get_elapsed_time(start, stop)
