"""Chapter 11, launch overhead: the recorded costs that its timeline is modelled from."""

from functools import cache

import numpy as np

from ..gpus import DEFAULT
from ..recorded import Table, recorded
from ..report import Table as ShownTable
from .launch_timeline import Costs

MEANING = {
    "launch": "host: launch a kernel",
    "copy": "host: order a copy of a slice, in a pipeline",
    "graph": "host: launch a graph",
    "record": "host: record an event",
    "wait": "host: let a stream wait for an event",
    "synchronise": "host: synchronise with a stream that is done",
    "start": "GPU: from an order to its beginning, if idle",
    "gap": "GPU: between kernels that were launched",
    "node": "GPU: between kernels of a graph",
}
US = 1e3  # microseconds in a millisecond
MANY, MOST_CHUNKS = 1000, 256  # launches, and chunks, whose pace the host sets
QUEUED = 500  # launches that a queue holds, so that the GPU alone sets their pace


@cache
def costs(gpu: str = DEFAULT) -> Costs:
    """The costs on a GPU whose tables were recorded. Raises FileNotFoundError where they were not."""
    cost, size, copy = (recorded(gpu, name) for name in ("launch_cost", "launch_size", "launch_copy"))
    node = _us(size, way="graph", rounds=0)
    launch = float(np.median(list(launch_us(gpu).values())))
    return Costs(
        launch=launch,
        copy=(chunk_us(gpu)["a pipeline"] - launch) / 2,
        graph=US * float(np.median(cost.where(way="graph, ordered").ms)),
        record=_us(cost, way="record an event"),
        wait=_us(cost, way="wait for an event"),
        synchronise=_us(cost, way="synchronise, idle"),
        start=_us(cost, way="launches", launches=1) - _us(cost, way="launches, ordered", launches=1),
        gap=node + _launched_over_node(cost),
        node=node,
        pinned=tuple(_slope(copy, way) for way in ("to the GPU", "to the host")),
        pageable=tuple(_rate(copy, way) for way in ("to the GPU", "to the host")),
    )


def launch_us(gpu: str = DEFAULT) -> dict[str, float]:
    """Microseconds of the host for one of many launches, by kernel: a sweep each where it sets the pace."""
    cost, size, rod = (recorded(gpu, name) for name in ("launch_cost", "launch_size", "launch_rod"))
    steps = rod.where(way="launches", steps=MANY)
    return {
        "empty": _us(cost, way="launches", launches=MANY),
        "step": US * float(steps.ms[0]) / MANY,
        "busy": _us(size, way="launches", rounds=0),
    }


def chunk_us(gpu: str = DEFAULT) -> dict[str, float]:
    """Microseconds of the host for the three calls of a chunk: alone, and in a pipeline of 256 chunks.

    In that pipeline the host sets the pace: it takes four times as long as one of 64 chunks.
    """
    pipeline = recorded(gpu, "launch_streams").where(memory="pinned", chunks=MOST_CHUNKS)
    return {
        "one stream": _us(recorded(gpu, "launch_cost"), way="chunks, ordered"),
        "a pipeline": US * float(pipeline.ms[0]) / MOST_CHUNKS,
    }


@cache
def kernel_ms(gpu: str = DEFAULT) -> float:
    """Milliseconds of the kernel in the recorded pipelines, alone and on all numbers."""
    return float(recorded(gpu, "launch_streams").where(memory="kernel alone").ms[0])


def host_words(gpu: str = DEFAULT) -> str:
    """How much the costs of the host differ within one recording."""
    launches, chunks = launch_us(gpu), chunk_us(gpu)
    told = [", ".join(f"{name} {us:.1f} µs" for name, us in costs.items()) for costs in (launches, chunks)]
    return f"recorded, the host's part of a launch: {told[0]}; of a chunk's three calls: {told[1]}"


def recorded_costs(gpu: str = DEFAULT) -> ShownTable:
    """The costs as a table, in microseconds and GB/s."""
    found = costs(gpu)
    rows = [[text, f"{getattr(found, name):.2f} µs"] for name, text in MEANING.items()]
    for name in ("pinned", "pageable"):
        for way, rate in zip(("to the GPU", "to the host"), getattr(found, name), strict=True):
            rows.append([f"copy {way}, {name} memory", f"{rate:.1f} GB/s"])
    return ShownTable(["what", "cost"], rows, {0}, recorded(gpu, "launch_cost").caption)


def _us(table: Table, **columns: object) -> float:
    """Microseconds per launch of the one row with these values."""
    row = table.where(**columns)
    return US * float(row.ms[0]) / int(row["launches"][0])


def _launched_over_node(cost: Table) -> float:
    """How much longer the GPU takes from kernel to kernel if they were launched and not of a graph.

    Of empty kernels, a queue of them that was filled beforehand.
    """
    ways = ("launches, on the GPU", "graph, on the GPU")
    launched, nodes = (_us(cost, way=way, launches=QUEUED) for way in ways)
    return launched - nodes


def _slope(copy: Table, way: str) -> float:
    """GB/s of pinned memory between the two largest sizes, so that no start is in it."""
    rows = copy.where(way=way, memory="pinned")
    small, large = (int(i) for i in np.argsort(rows["kilobytes"])[-2:])
    return (
        float(
            (rows["kilobytes"][large] - rows["kilobytes"][small]) * 1024 / (rows.ms[large] - rows.ms[small])
        )
        / 1e6
    )


def _rate(copy: Table, way: str) -> float:
    """GB/s of pageable memory at 64 MiB, as it is."""
    row = copy.where(way=way, memory="pageable", kilobytes=65536)
    return float(row["kilobytes"][0] * 1024 / row.ms[0]) / 1e6
