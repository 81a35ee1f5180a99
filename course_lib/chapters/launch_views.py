"""Chapter 11, launch overhead: what its notebook shows, behind sliders too. Everything here is modelled."""

import inspect
import re
import textwrap
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from matplotlib.figure import Figure

from .. import standin
from ..emulator.errors import HazardWarning
from ..gpus import DEFAULT
from ..graphs import captured
from ..metric_names import SECTORS
from ..profile import profile
from ..report import Cell
from ..report import Table as ShownTable
from ..standin.ledger import Operation, counted_calls, operations, stream_hazards
from ..standin.streams import submit
from .launch_costs import costs, kernel_ms
from .launch_picture import gantt, said
from .launch_runs import own_stream, pinned, pipeline
from .launch_timeline import SM, Schedule, schedule

CHUNK_BYTES = 4 * (1 << 24)  # the recorded pipeline: 2^24 floats each way
ELEMENTS = 1 << 10  # of the stand-in for them


class OnPaper:
    """A kernel that is only noted: its launches are in the ledger, nothing runs."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.last: tuple = ()

    def __call__(self, grid: tuple, block: tuple, args: Sequence = ()) -> None:
        self.last = grid, block, args
        size = sum(array.nbytes for array in args if getattr(array, "ndim", 0))
        submit(Operation("kernel", self.name, bytes=size), f"kernel {self.name!r}", lambda clock: None)


def asked(program: Callable, *given: object) -> tuple[Operation, ...]:
    """What a program calls: `program(cp, *given)` with the stand-in as `cp`, whatever the machine.

    A kernel among the arguments is replaced by one that is only noted, an array of the GPU by a copy.
    """
    return _asked(program, [OnPaper(one.name) if hasattr(one, "code") else _copied(one) for one in given])


def _asked(program: Callable, args: Sequence[object]) -> tuple[Operation, ...]:
    standin.cuda.Device().synchronize()
    with operations() as done:
        program(standin, *args)
    return tuple(done)


def hazards(program: Callable, *given: object) -> list[str]:
    """What the streams of a program leave without order, one sentence each; as for `asked`."""
    with stream_hazards() as found, warnings.catch_warnings():
        warnings.simplefilter("ignore", HazardWarning)
        _asked(program, [_emulated(one) if hasattr(one, "code") else _copied(one) for one in given])
    return [renumbered(text) for text in found] or ["nothing is left without order"]


def renumbered(text: str) -> str:
    """A sentence about streams, the first of them made called 1; wrapped."""
    numbers = sorted({int(number) for number in re.findall(r"stream (\d+)", text)})
    text = re.sub(r"stream (\d+)", lambda found: f"stream {numbers.index(int(found[1])) + 1}", text)
    return textwrap.fill(text, 100, subsequent_indent="  ")


def source_as(function: Callable, name: str) -> str:
    """The source of a function under another name."""
    return inspect.getsource(function).replace(f"def {function.__name__}(", f"def {name}(", 1)


def _emulated(kernel: Any) -> standin.RawKernel:
    return standin.RawKernel(kernel.code, kernel.name, options=kernel.options)


def programs_table(programs: dict[str, tuple]) -> ShownTable:
    """What programs call, and the sectors that all their launches ask for: counted.

    `programs`: by name, the function and its arguments after `cp`, the first of them the one kernel that it
    launches. A launch is profiled once and counts as often as it is made.
    """
    calls, sectors = {}, {}
    for name, (program, kernel, *given) in programs.items():
        paper = OnPaper(kernel.name)
        calls[name] = _asked(program, [paper, *map(_copied, given)])
        grid, block, args = paper.last
        one = profile(
            _emulated(kernel), grid, block, [getattr(arg, "get", lambda arg=arg: arg)() for arg in args]
        )
        sectors[name] = counted_calls(calls[name])["kernel"] * one[SECTORS]
    table = calls_table(calls)
    table.rows.append(
        [Cell(text) for text in ("sectors, loads and stores", *(f"{n:,}" for n in sectors.values()))]
    )
    return table


def refusal(call: Callable[[], object]) -> str:
    """The name of the error that a call raises; "no error" if it does not."""
    try:
        call()
    except RuntimeError as error:
        return str(error).split(":")[0]
    return "no error"


def _copied(value: object) -> object:
    """Arrays of the GPU, also within tuples and lists, as arrays of the stand-in; the rest as it is."""
    if isinstance(value, tuple | list):
        return type(value)(_copied(one) for one in value)
    return standin.asarray(value.get()) if hasattr(value, "get") else value


# -- many kernels, or one ------------------------------------------------------------

WAYS = ("launches", "graph", "one kernel")


@cache
def calls(way: str, kernels: int) -> tuple[Operation, ...]:
    """What the host calls to have so many small kernels done: launch them, launch a graph, or one for all."""
    stream, small = own_stream(standin), OnPaper("small")

    def launches() -> None:
        for _ in range(kernels):
            small((1,), (32,))

    graph = captured(stream, launches) if way == "graph" else None
    with operations() as done, stream:
        if graph:
            graph.launch()
        elif way == "one kernel":
            OnPaper("one")((1,), (32,))
        else:
            launches()
        stream.synchronize()
    return tuple(done)


def kernels_schedule(
    way: str, kernels: int, work_us: float, gpu: str = DEFAULT, launch_us: float | None = None
) -> Schedule:
    """The timeline of `kernels` kernels of `work_us` each; `launch_us`: another cost of a launch."""
    found = costs(gpu) if launch_us is None else replace(costs(gpu), launch=launch_us)
    each = {"small": work_us, "one": kernels * work_us}
    return schedule(calls(way, kernels), found, lambda operation: each[operation.name])


def show_kernels(kernels: int = 20, work_us: float = 1) -> tuple[Figure, str]:
    """The three ways on one scale of time."""
    ways = {way: kernels_schedule(way, kernels, work_us) for way in WAYS}
    title = f"{kernels} kernels of {work_us:g} µs, modelled for an {DEFAULT}"
    lines = [f"{way}: {one.end / kernels:.2f} µs a kernel, {said(one)}" for way, one in ways.items()]
    return gantt(ways, title), "modelled\n" + "\n".join(lines)


def lost(way: str, work_us: float, kernels: int = 200, launch_us: float | None = None) -> float:
    """The share of the time in which the SMs do not work, for kernels of this length: modelled."""
    one = kernels_schedule(way, kernels, work_us, launch_us=launch_us)
    return 1 - one.busy(SM) / one.end


def break_even() -> float:
    """Microseconds of work from which the GPU, not the host, sets the pace of launches: modelled."""
    found = costs()
    return found.launch - found.gap


# -- chunks --------------------------------------------------------------------------


@cache
def pipeline_calls(chunks: int, streams: int, memory: str) -> tuple[Operation, ...]:
    """What the host calls in a pipeline of so many chunks."""
    make: Callable = pinned if memory == "pinned" else lambda cp, count: cp.zeros(count, cp.float32).get()
    host = make(standin, ELEMENTS), make(standin, ELEMENTS)
    device = standin.zeros(ELEMENTS, standin.float32), standin.zeros(ELEMENTS, standin.float32)
    standin.cuda.Device().synchronize()
    own = [own_stream(standin) for _ in range(streams)]
    with operations() as done:
        pipeline(OnPaper("iterate"), host, device, 1, chunks, own)
    return tuple(done)


def chunks_schedule(chunks: int, streams: int, memory: str, gpu: str = DEFAULT) -> Schedule:
    """The timeline of the recorded pipeline: 64 MiB in, a kernel, 64 MiB out."""
    us_per_byte = 1e3 * kernel_ms(gpu) / (8 * ELEMENTS)  # a kernel gets what it reads and what it writes
    done = pipeline_calls(chunks, streams, memory)
    scale = CHUNK_BYTES / (4 * ELEMENTS)
    return schedule(done, costs(gpu), lambda operation: operation.bytes * us_per_byte, scale)


def show_chunks(chunks: int = 4, streams: int = 2, memory: str = "pinned") -> tuple[Figure, str]:
    """One pipeline as a picture and in words."""
    one = chunks_schedule(chunks, streams, memory)
    name = pipeline_name(chunks, streams, memory)
    figure = gantt({name: one}, f"64 MiB in, a kernel, 64 MiB out: modelled for an {DEFAULT}")
    return figure, f"{name}, modelled: {said(one)}"


def pipeline_name(chunks: int, streams: int, memory: str) -> str:
    """Such as "4 chunks, 2 streams, pinned memory"."""
    return f"{chunks} chunk{'s' * (chunks > 1)}, {streams} stream{'s' * (streams > 1)}, {memory} memory"


def compare_chunks(*cases: tuple[int, int, str]) -> Figure:
    """Several pipelines on one scale of time."""
    found = {pipeline_name(*case): chunks_schedule(*case) for case in cases}
    return gantt(found, f"64 MiB in, a kernel, 64 MiB out: modelled for an {DEFAULT}")


def repeated_graphs(batches: int = 3, steps: int = 12, work_us: float = 1) -> Figure:
    """For every batch a copy in, some small kernels and a copy out: launched one by one, and as a graph."""
    stream, small, host = own_stream(standin), OnPaper("small"), pinned(standin, ELEMENTS)
    device, found = standin.zeros(ELEMENTS, standin.float32), {}
    standin.cuda.Device().synchronize()

    def launches() -> None:
        for _ in range(steps):
            small((1,), (32,))

    graph = captured(stream, launches)
    for name, kernels in (("launches", launches), ("the same graph again", graph.launch)):
        with operations() as done, stream:
            for _ in range(batches):
                device.set(host)
                kernels()
                device.get(out=host)
        found[name] = schedule(done, costs(), lambda operation: work_us, scale=1 << 8)
    return gantt(
        found,
        f"{batches} batches of 1 MiB, {steps} kernels of {work_us:g} µs each: modelled for an {DEFAULT}",
    )


# -- counted calls -------------------------------------------------------------------

KINDS = {
    "kernel": "kernels launched",
    "graph": "graphs launched",
    "nodes": "kernels in those graphs",
    "copy in": "copies to the GPU",
    "copy out": "copies to the host",
    "bytes in": "bytes copied to the GPU",
    "bytes out": "bytes copied to the host",
    "blocking": "copies that hold up the host",
    "record": "events recorded",
    "wait": "waits of a stream for an event",
    "synchronise": "waits of the host",
}


def calls_table(programs: dict[str, Sequence[Operation]], caption: str = "") -> ShownTable:
    """One column a program, one row for what at least one of them calls: counted."""
    counted = {name: counted_calls(done) for name, done in programs.items()}
    rows = [
        [text, *(f"{found[kind]:,}" for found in counted.values())]
        for kind, text in KINDS.items()
        if any(found[kind] for found in counted.values())
    ]
    return ShownTable(["counted", *counted], rows, {0}, caption)
