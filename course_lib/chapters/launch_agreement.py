"""Chapter 11, launch overhead: how far its timeline is off where launches and pipelines were recorded.

What the host needs for a call differs from sweep to sweep of one recording, so each sweep gets the host's
part from a row of its own. Such a row is fitted, not predicted, and left out of the agreement; how far the
host of one sweep is from that of another is said apart. How long a kernel works comes from rows that are
nothing else: one kernel alone on the GPU, by the GPU's clock.
"""

import numpy as np

from ..evidence import not_recorded, recording
from ..gpus import DEFAULT
from ..recorded import Table
from .launch_costs import MANY, MOST_CHUNKS, US, launch_us
from .launch_views import chunks_schedule, kernels_schedule

FITTED_PIPELINE = ("pinned", MOST_CHUNKS)


def model_words() -> str:
    """Modelled over recorded time of each sweep's rows to which nothing was fitted, and what was."""
    rows = [
        ("launches and graphs of every length", "the empty kernels", size_ratios()),
        ("pipelines, pinned", f"the one of {MOST_CHUNKS} chunks", stream_ratios("pinned")),
        ("pipelines, pageable", "none", stream_ratios("pageable")),
        ("the rod", f"{MANY:,} launches", rod_ratios()),
        ("the rod, with the host of the other sweeps", "none", rod_ratios(("empty", "busy"))),
    ]
    lines = [
        f"  {name}: {min(ratios):.2f} to {max(ratios):.2f} (fitted: {fitted})"
        for name, fitted, ratios in rows
        if ratios
    ]
    head = f"modelled / recorded, {DEFAULT}, without the rows that the host's part is fitted to:"
    return "\n".join([head, *lines]) if lines else not_recorded("launch_size")


def work_us(table: Table) -> np.ndarray:
    """How long the kernels of `launch_size` work, beyond an empty one, alone on the GPU: microseconds."""
    alone = table.where(way="alone")
    return US * (alone.ms - alone.ms[alone["rounds"] == 0])


def rod_step_us(table: Table) -> float:
    """How long a step of the rod works: as long as one more takes in the one kernel, in microseconds."""
    one = table.where(way="one kernel")
    few, many = np.argsort(one["steps"])[-2:]
    return float(US * (one.ms[many] - one.ms[few]) / (one["steps"][many] - one["steps"][few]))


def size_ratios() -> list[float]:
    """Of kernels of every length, launched and as a graph; the empty ones are fitted."""
    table = recording("launch_size")
    if table is None:
        return []
    work, host, found = work_us(table), launch_us()["busy"], []
    for way in ("launches", "graph"):
        for us, row in zip(work, table.where(way=way).rows(), strict=True):
            if row["rounds"]:
                made = kernels_schedule(way, row["launches"], us, launch_us=host)
                found.append(1e-3 * made.end / row["median_ms"])
    return found


def stream_ratios(memory: str) -> list[float]:
    """Of the pipelines with this memory; the pinned one of most chunks is fitted."""
    table = recording("launch_streams")
    return [
        1e-3 * chunks_schedule(row["chunks"], row["streams"], memory).end / row["median_ms"]
        for row in (table.where(memory=memory).rows() if table is not None else ())
        if (memory, row["chunks"]) != FITTED_PIPELINE
    ]


def rod_ratios(hosts: tuple[str, ...] = ("step",)) -> list[float]:
    """Of the rod by launches and by a graph, with the host's part of these kernels' launches.

    That of "step" is fitted to the rod's own launches, of which the most are left out.
    """
    table = recording("launch_rod")
    if table is None:
        return []
    step, found = rod_step_us(table), []
    for host in hosts:
        for row in table.rows():
            if row["way"] == "one kernel" or (host, row["way"], row["steps"]) == ("step", "launches", MANY):
                continue
            made = kernels_schedule(row["way"], row["steps"], step, launch_us=launch_us()[host])
            found.append(1e-3 * made.end / row["median_ms"])
    return found
