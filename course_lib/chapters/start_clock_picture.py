"""Chapter 00: what a clock covers. Host and GPU as two rows, time to the right, simulated (modelled)."""

from collections.abc import Callable, Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ..pictures.style import (
    BLACK,
    BLUE,
    FAINT,
    INK,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    YELLOW,
    boxes,
    clean,
    new_figure,
)
from .start_clock import SimulatedGpu, between_events, host_synchronised, host_unsynchronised

COLOURS = {
    "compile": PURPLE,
    "launch": ORANGE,
    "event": YELLOW,
    "wait": FAINT,
    "flush": SKY,
    "kernel": BLUE,
}
ROWS = {"host": 1.0, "GPU": 0.0}
KERNEL_MS = 0.03
CLOCKS: Mapping[str, Callable] = {
    "host clock, nobody waits": host_unsynchronised,
    "host clock, waits": host_synchronised,
    "between two events": between_events,
}


def run(timer: Callable, kernel_ms: float = KERNEL_MS) -> tuple[SimulatedGpu, float, tuple[float, float]]:
    """Let a timing function time one launch of a compiled kernel: the GPU, what it says, what it covers."""
    gpu = SimulatedGpu(kernel_ms, launches=1)
    said = timer(gpu, gpu.launch, gpu.flush, gpu.clock)
    covered = gpu.reads if gpu.reads else [event.ms for event in gpu.events]
    return gpu, said, (covered[0], covered[-1])


def clock_picture(kernel_ms: float = KERNEL_MS) -> Figure:
    """Three clocks around one launch: what the host does, what the GPU does, and what the clock covers."""
    height = 1.15
    figure = new_figure(9.0, 0.95 + (height + 0.42) * len(CLOCKS))
    whole = figure.get_size_inches()[1]
    found = {name: run(timer, kernel_ms) for name, timer in CLOCKS.items()}
    longest = max(span.end for gpu, _, _ in found.values() for span in gpu.log)
    for row, (name, (gpu, said, covered)) in enumerate(found.items()):
        bottom = (whole - 0.38 - (height + 0.42) * (row + 1) + 0.12) / whole
        axes = clean(figure.add_axes((0.07, bottom, 0.91, height / whole)))
        _draw(axes, gpu, covered)
        axes.set_xlim(0, 1e3 * longest * 1.02)
        axes.tick_params(labelbottom=row == len(CLOCKS) - 1)
        title = f"{name}: says {1e3 * said:.3g} µs, the kernel takes {1e3 * kernel_ms:.3g}"
        axes.set_title(title, loc="left", color=INK, fontsize=9.5, pad=3)
    axes.set_xlabel("time (µs, modelled)", color=INK, labelpad=1)
    figure.suptitle(
        "What the clock covers",
        x=0.53,
        y=1 - 0.06 / whole,
        color=BLACK,
        fontsize=12,
        fontweight="bold",
        va="top",
    )
    marks = [
        Patch(facecolor=COLOURS[name], edgecolor=INK, label=name) for name in COLOURS if name != "compile"
    ]
    marks.append(Patch(facecolor="none", edgecolor=VERMILION, linewidth=1.8, label="what the clock covers"))
    figure.legend(handles=marks, loc="lower left", ncols=6, frameon=False, fontsize=9)
    return figure


def _draw(axes: Axes, gpu: SimulatedGpu, covered: tuple[float, float]) -> None:
    """Boxes of the host and of the GPU, and a frame around what the clock covers."""
    for span in gpu.log:
        left, width, y = 1e3 * span.start, 1e3 * (span.end - span.start), ROWS[span.row]
        hatch = {"hatch": "///"} if span.name == "wait" else {}
        boxes(
            axes,
            left,
            y + 0.1,
            width,
            0.8,
            facecolors=COLOURS[span.name],
            edgecolors=INK,
            linewidths=0.7,
            **hatch,
        )
    begin, end = (1e3 * ms for ms in covered)
    boxes(axes, begin, -0.08, end - begin, 2.16, facecolors="none", edgecolors=VERMILION, linewidths=1.8)
    axes.set_ylim(-0.15, 2.15)
    axes.set_yticks([y + 0.5 for y in ROWS.values()], list(ROWS))
