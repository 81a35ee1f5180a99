"""Chapter 00, start here: tables, and the functions behind its sliders."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from matplotlib.figure import Figure

from ..agreement import count_point, counted_point, modelled_sweep
from ..evidence import caption, every_gpu, measured, recording, verdict
from ..gpus import DEFAULT, Gpu, device, gpu
from ..metric_names import (
    BLOCK_THREADS,
    DISTINCT_LD,
    FEWEST_SECTORS,
    FEWEST_WAVEFRONTS,
    LANES,
    LD_REQUESTS,
    LD_SECTORS,
    SECTORS,
    WAVEFRONTS,
)
from ..model import ModelledTime, modelled_time, scaled
from ..occupancy import occupancy
from ..predictions import Prediction, reveal
from ..profile import Profile
from ..promises import ratio
from ..report import EXCESS, Cell, Table
from ..roofline import Roofline, RooflinePoint, roofline, roofline_point
from ..sweeps import sweep
from . import start_kernels as k
from . import start_sweeps as s
from .course_map import chapter
from .start_picture import ladder
from .start_picture import machine as draw_machine

STEPS = list(s.STEPS)
COUNTED_FLOATS = 1 << 14

# the rows of the chapter's first table: label -> metric, or function of a profile
READ = {
    "global load requests": LD_REQUESTS,
    "sectors loaded": LD_SECTORS,
    "sectors per load request": ratio(LD_SECTORS, LD_REQUESTS),
    "sectors, loads and stores": SECTORS,
    "sectors needed at least": FEWEST_SECTORS,
    "float additions": "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum",
    "active lanes per instruction": LANES,
}


# -- the machine ---------------------------------------------------------------------


def show_machine(gpu_name: str = DEFAULT) -> tuple[Figure, str]:
    """One GPU as a picture and in words."""
    found = gpu(gpu_name)
    return draw_machine(found), ladder(found)


# -- the sum -------------------------------------------------------------------------


@cache
def add_counts(way: str) -> Profile:
    """Counts of the sum of 16,384 floats."""
    return count_point(s.add_point(way, COUNTED_FLOATS, {}))


def add_model(way: str, floats: int, on: str | Gpu = DEFAULT, *, cold: bool = True) -> ModelledTime:
    """Modelled time of the sum of so many floats: the counts of the small one, in proportion."""
    return modelled_time(scaled(add_counts(way), floats / COUNTED_FLOATS), on, cold=cold)


def add_by_gpu() -> Table:
    """For every GPU: modelled time of both ways, for a small and a large sum."""
    header = [
        "GPU",
        "floats",
        "own pieces ms",
        "limited by",
        "neighbours ms",
        "limited by",
        "should it move?",
    ]
    rows = [_by_gpu_row(label, on, floats) for on, label in every_gpu() for floats in (1 << 16, s.LARGE)]
    return Table(header, rows, {0, 3, 5, 6}, "modelled: out = a + b")


def _by_gpu_row(label: str, on: Gpu, floats: int) -> list[str]:
    before, after = (add_model(way, floats, on) for way in k.WAYS)
    times = (f"{before.ms:.4g}", before.limiter, f"{after.ms:.4g}", after.limiter)
    return [label, f"{floats:,}", *times, verdict(before.ms / after.ms)]


def loop_table() -> Table:
    """Benchmark, profile, change, benchmark: what each step said of both ways, for 2^26 floats."""
    counts = {way: scaled(add_counts(way), s.LARGE / COUNTED_FLOATS) for way in k.WAYS}
    timed = modelled_sweep("start_add")
    rows = [_row("sectors, loads and stores", "counted", [p[SECTORS] for p in counts.values()], "{:,.0f}")]
    rows.append(
        _row("sectors needed at least", "counted", [p[FEWEST_SECTORS] for p in counts.values()], "{:,.0f}")
    )
    rows.append(_row("time, ms", f"modelled, {DEFAULT}", [time.ms for time in timed], "{:.3f}"))
    table = recording("start_add")
    if table is not None:
        rows.append(_row("time, ms", f"recorded, {DEFAULT}", table.ms, "{:.3f}"))
        off = [time.ms / ms for time, ms in zip(timed, table.ms, strict=True)]
        rows.append(["modelled / recorded", "", *(f"{ratio:.2f}" for ratio in off), ""])
    if now := measured("start_add"):
        rows.append(_row("time, ms", f"measured, {device().name}", [r["median_ms"] for r in now], "{:.3f}"))
    limits = " against ".join(time.limiter for time in timed)
    told = f"{s.LARGE:,} floats; model: limited by {limits}; {caption(table, 'start_add')}"
    return Table(["", "label", *k.WAYS, "own pieces / neighbours"], rows, {0, 1}, told)


def _row(what: str, label: str, values: Any, form: str) -> list[str]:
    before, after = map(float, values)
    return [what, label, form.format(before), form.format(after), f"{before / after:.2f}"]


# -- the roofline --------------------------------------------------------------------


def add_points(way: str) -> list[RooflinePoint]:
    """The sum of 2^26 floats on the roofline of an H200: recorded if it was, else modelled."""
    large = scaled(add_counts(way), s.LARGE / COUNTED_FLOATS)
    point = roofline_point(way, large, modelled_time(large))
    table = recording("start_add")
    if table is not None:
        point = replace(point, ms=float(table.where(way=way).ms[0]), source="recorded")
    return [point]


def steps_points(steps: int) -> list[RooflinePoint]:
    """The kernel with that many multiply-adds an element: modelled, and recorded if it was."""
    chosen = sweep("start_steps")
    small = next(point for point in chosen.points(chosen.small) if point.columns["steps"] == steps)
    large = counted_point(chosen, small)
    label = f"{steps} multiply-adds"
    found = [roofline_point(label, large, modelled_time(large))]
    table = recording("start_steps")
    if table is not None:
        found.append(replace(found[0], ms=float(table.where(steps=steps).ms[0]), source="recorded"))
    return found


def show_steps(steps: int = 16) -> tuple[Figure, str]:
    """The kernel with that many multiply-adds an element on the roofline of an H200."""
    points = steps_points(steps)
    first, roofs = points[0], Roofline(gpu(DEFAULT), tuple(points))
    words = (
        f"{steps} multiply-adds an element: {first.intensity:.3g} FLOP/byte; modelled, {DEFAULT}: "
        f"{first.ms:.3f} ms, {first.tflops:.3g} of {roofs.roof(first.intensity):.3g} TFLOP/s"
    )
    return roofline(points), words


def reveal_clock(guess: Prediction) -> None:
    """What the clock that does not wait said, recorded."""
    table = recording("start_clock")
    if table is not None:
        said = 1e3 * float(table.where(clock="host, nobody waits").ms[0])
        reveal(guess, said, "µs", tolerance=0.3, evidence="recorded")


# -- where to go next ----------------------------------------------------------------


def where_next(counts: Mapping[str, Profile], on: str = DEFAULT) -> Table:
    """What the counters of some kernels say, and which chapter is about it. Orange: look there."""
    rows = []
    for topic, label, read, form, tells in SIGNS:
        values = [read(p, on) for p in counts.values()]
        cells = [Cell(form.format(value), EXCESS, 0.6 * bool(tells(value))) for value in values]
        look = [name for name, value in zip(counts, values, strict=True) if tells(value)]
        rows.append([label, *cells, chapter(topic).name if look else "", ", ".join(look)])
    header = ["counted or modelled", *counts, "read", "for"]
    return Table(header, rows, {0, len(counts) + 1, len(counts) + 2}, f"modelled rows: {on}")


def _fits(p: Profile, on: str) -> float:
    threads, shared = p[BLOCK_THREADS], p.shared_bytes
    return 100 * occupancy(int(threads), p.registers, shared, on).fraction


def _reuse(p: Profile, on: str) -> float:
    distinct = p[DISTINCT_LD]
    return 32 * p["course__sectors_ideal_global_op_ld.sum"] / distinct if distinct else 1.0


def _launch_share(p: Profile, on: str) -> float:
    timed = modelled_time(p, on)
    return 100 * timed.launch_seconds / timed.seconds


# chapter, what is read, function of a profile and a GPU, format, when it tells
SIGNS = (
    (
        "coalescing",
        "sectors over those needed",
        lambda p, on: p[SECTORS] / max(1, p[FEWEST_SECTORS]),
        "{:.3g}",
        lambda v: v > 1.2,
    ),
    ("tiling", "times each byte is loaded", _reuse, "{:.3g}", lambda v: v > 1.5),
    (
        "bank_conflict",
        "shared wavefronts in excess",
        lambda p, on: p[WAVEFRONTS] - p[FEWEST_WAVEFRONTS],
        "{:,.0f}",
        lambda v: v > 0,
    ),
    (
        "divergence",
        "active lanes per instruction",
        lambda p, on: p[LANES],
        "{:.3g}",
        lambda v: v < 28,
    ),
    ("occupancy", "occupancy, % of the warps", _fits, "{:.0f}", lambda v: v < 50),
    (
        "wave_quantization",
        "busiest SM over the average",
        lambda p, on: modelled_time(p, on).quantization,
        "{:.3g}",
        lambda v: v > 1.1,
    ),
    ("launch_overhead", "launch, % of the modelled time", _launch_share, "{:.0f}", lambda v: v > 30),
)
