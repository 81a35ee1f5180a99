"""Chapter 11, launch overhead: what was recorded, beside what its timeline says, and measured on a GPU."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from ..evidence import measured, not_recorded, points_series, recording
from ..gpus import DEFAULT
from ..pictures.charts import Series
from ..pictures.charts import sweep as draw_sweep
from ..recorded import Table
from ..report import Table as ShownTable
from .launch_agreement import FITTED_PIPELINE, rod_step_us, work_us
from .launch_costs import MANY, MOST_CHUNKS, US, kernel_ms, launch_us
from .launch_views import chunks_schedule, kernels_schedule, lost


def _each(table: Table, way: str) -> dict[int, float]:
    """Microseconds a launch, by the number of launches."""
    rows = table.where(way=way)
    return dict(zip(rows["launches"].tolist(), (US * rows.ms / rows["launches"]).tolist(), strict=True))


# -- what a launch costs ---------------------------------------------------------------


def cost_table() -> ShownTable | str:
    """Microseconds a launch and a graph node, by their number, in one run."""
    table = recording("launch_cost")
    if table is None:
        return not_recorded("launch_cost")
    launches, nodes = _each(table, "launches"), _each(table, "graph")
    rows = [[f"{n:,}", f"{us:.2f}", f"{nodes[n]:.2f}", f"{us / nodes[n]:.1f}"] for n, us in launches.items()]
    header = ["kernels", "launched, µs each", "in a graph, µs each", "ratio"]
    return ShownTable(header, rows, set(), table.caption)


def cost_words(count: int = 1000) -> str:
    """The costs of many launches and of a large graph, their ratio, and who sets the pace."""
    table = recording("launch_cost")
    if table is None:
        return not_recorded("launch_cost")
    launch, node = (_each(table, way)[count] for way in ("launches", "graph"))
    alone = _each(table, "launches, on the GPU")[500]
    lines = [
        f"recorded, {count:,} empty kernels: {launch:.2f} µs a launch, {node:.2f} µs a graph node, "
        f"ratio {launch / node:.1f}",
        f"recorded: with the queue filled beforehand, the GPU alone takes {alone:.2f} µs a launch",
    ]
    made = _each(table, "graph, made").get(count)
    if made:
        lines.append(
            f"recorded: to capture and build the graph, {made:.2f} µs a node: "
            f"{made / launch:.2f} times as long as to launch all of them once"
        )
    rows = measured("launch_cost", launches=count)
    now = {row["way"]: US * row["median_ms"] / count for row in rows}
    if now:
        lines.append(f"measured: {now['launches']:.2f} µs a launch, {now['graph']:.2f} µs a graph node")
    return "\n".join(lines)


# -- how much work makes up for it -----------------------------------------------------


def lost_chart() -> Figure:
    """The share of the time that SMs do not work, by the length of kernels; the host's cost is theirs."""
    grid, host = np.geomspace(0.3, 300, 31), launch_us()["busy"]
    series = [
        Series("modelled", grid, [100 * lost(way, us, launch_us=host) for us in grid], way, DEFAULT)
        for way in ("launches", "graph")
    ]
    table = recording("launch_size")
    if table is not None:
        work = work_us(table)
        keep = work > 0.3
        for way in ("launches", "graph"):
            rows = table.where(way=way)
            each = US * rows.ms / rows["launches"]
            series.append(Series("recorded", work[keep], 100 * (1 - work / each)[keep], way, DEFAULT))
    title = "200 kernels of one length: the share of the time in which no SM works"
    return draw_sweep(*series, xlabel="work of a kernel (µs)", ylabel="lost (%)", title=title, log="x")


# -- the rod ---------------------------------------------------------------------------

ROD_WAYS = ("launches", "graph", "one kernel")


def rod_table() -> ShownTable | str:
    """Microseconds of so many steps, in three ways, and how many times as fast the last one is."""
    table = recording("launch_rod")
    if table is None:
        return not_recorded("launch_rod")
    rows = []
    for steps in np.unique(table["steps"]):
        times = [US * float(table.where(way=way, steps=steps).ms[0]) for way in ROD_WAYS]
        ratios = [f"{times[0] / other:.1f}" for other in times[1:]]
        rows.append([f"{steps:,}", *(f"{us:,.0f}" for us in times), *ratios])
    header = [
        "steps",
        *(f"{way}, µs" for way in ROD_WAYS),
        "graph: times as fast",
        "one kernel: times as fast",
    ]
    return ShownTable(header, rows, set(), table.caption)


def rod_factor(steps: int = 100) -> float | None:
    """How many times as fast one kernel is as a launch a step: recorded."""
    table = recording("launch_rod")
    if table is None:
        return None
    launches, one = (float(table.where(way=way, steps=steps).ms[0]) for way in ("launches", "one kernel"))
    return launches / one


def rod_against_model(steps: int = 20) -> str:
    """The timelines of so many steps beside what was recorded, and measured on a GPU."""
    table = recording("launch_rod")
    if table is None:
        return not_recorded("launch_rod")
    step, host = rod_step_us(table), launch_us()["step"]
    told = {
        f"modelled, host's part fitted to {MANY:,} steps": {
            way: kernels_schedule(way, steps, step, launch_us=host).end for way in ROD_WAYS
        },
        "recorded": {way: US * float(table.where(way=way, steps=steps).ms[0]) for way in ROD_WAYS},
        "measured": {row["way"]: US * row["median_ms"] for row in measured("launch_rod", steps=steps)},
    }
    return "\n".join(
        f"{steps} steps of the rod, {label}: " + ", ".join(f"{way} {us:.0f} µs" for way, us in found.items())
        for label, found in told.items()
        if found
    )


# -- chunks ----------------------------------------------------------------------------


def chunks_table() -> ShownTable | str:
    """Milliseconds of the pipeline by chunks and streams, recorded and modelled, pinned and pageable."""
    table = recording("launch_streams")
    if table is None:
        return not_recorded("launch_streams")
    rows = []
    for row in table.where(memory="pinned").rows():
        chunks, streams = row["chunks"], row["streams"]
        cells = [str(chunks), str(streams)]
        for memory in ("pinned", "pageable"):
            was = float(table.where(memory=memory, chunks=chunks, streams=streams).ms[0])
            model = 1e-3 * chunks_schedule(chunks, streams, memory).end
            ratio = "fitted" if (memory, chunks) == FITTED_PIPELINE else f"{model / was:.2f}"
            cells += [f"{was:.2f}", f"{model:.2f}", ratio]
        rows.append(cells)
    each = ["{}: recorded ms", "modelled ms", "ratio"]
    header = ["chunks", "streams", *(text.format(m) for m in ("pinned", "pageable") for text in each)]
    return ShownTable(header, rows, set(), f"kernel alone {kernel_ms():.2f} ms; {table.caption}")


def chunks_chart() -> Figure:
    """Milliseconds of the pipeline with pinned memory over the number of chunks, 4 streams."""
    counts = [4, 8, 16, 32, 64, 128, 256]
    table = recording("launch_streams")
    times = [1e-3 * chunks_schedule(n, 4, "pinned").end for n in counts]
    series = [Series("modelled", counts, times, "pinned, 4 streams", DEFAULT)]
    if table is not None:
        rows = table.where(memory="pinned", streams=4)
        series.append(points_series("recorded", rows, "chunks", "pinned, 4 streams", DEFAULT))
    title = f"64 MiB in, a kernel, 64 MiB out (host's part fitted at {MOST_CHUNKS} chunks)"
    return draw_sweep(*series, xlabel="chunks", ylabel="time (ms)", title=title, log="x")


def chunks_words() -> str:
    """The fastest pipeline against one chunk, and the same of pageable memory."""
    table = recording("launch_streams")
    if table is None:
        return not_recorded("launch_streams")
    one, best = _first_and_best(table.where(memory="pinned"))
    page, page_best = _first_and_best(table.where(memory="pageable"))
    lines = [
        f"recorded, pinned: {one['median_ms']:.2f} ms in one chunk, {best['median_ms']:.2f} ms in "
        f"{best['chunks']} chunks and {best['streams']} streams, "
        f"{one['median_ms'] / best['median_ms']:.1f} times as fast",
        f"recorded, pageable: {page['median_ms']:.1f} ms in one chunk, "
        f"{page_best['median_ms']:.1f} ms at best",
    ]
    copy = recording("launch_copy")
    if copy is not None:
        both = copy.where(kilobytes=65536, memory="pinned")
        times = dict(zip(both["way"].tolist(), both.ms.tolist(), strict=True))
        lines.append(
            f"recorded, 64 MiB pinned: {times['to the GPU']:.2f} ms to the GPU, {times['both ways']:.2f} ms "
            "if as many come back meanwhile"
        )
    now = measured("launch_streams", memory="pinned", streams=4)
    if now:
        lines.append("measured: " + ", ".join(f"{r['chunks']} chunks {r['median_ms']:.2f} ms" for r in now))
    return "\n".join(lines)


def _first_and_best(table: Table) -> tuple[dict, dict]:
    rows: Sequence[dict] = list(table.rows())
    return rows[0], min(rows, key=lambda row: row["median_ms"])


# -- tiles -----------------------------------------------------------------------------


def queue_table() -> ShownTable | str:
    """Milliseconds of the image by each way of sharing it out, and times as long as the fastest."""
    table = recording("launch_queue")
    if table is None:
        return not_recorded("launch_queue")
    best = table.ms.min()
    columns = {"tiles of 2048 x 2048 pixels": [], "recorded ms": [], "times the fastest": []}
    now = {row["way"]: row["median_ms"] for row in measured("launch_queue")}
    if now:
        columns["measured ms"] = [f"{now[way]:.3f}" for way in table["way"]]
    for way, ms in zip(table["way"], table.ms, strict=True):
        for values, text in zip(columns.values(), (str(way), f"{ms:.3f}", f"{ms / best:.2f}"), strict=False):
            values.append(text)
    rows = list(zip(*columns.values(), strict=True))
    return ShownTable(list(columns), rows, {0}, table.caption)
