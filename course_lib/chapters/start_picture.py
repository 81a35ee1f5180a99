"""Chapter 00, the picture: one GPU from its DRAM to one lane, with sizes and rates of a named GPU."""

import re
import textwrap

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..gpus import SUB_PARTITIONS, WARP, Gpu
from ..pictures.style import BLACK, BLUE, FAINT, INK, ORANGE, PAPER, SKY, boxes, new_figure, number_text

WIDTH, HEIGHT = 9.0, 6.3  # inches; the axes have ten units to the inch
SM_PER_ROW = 44


def machine(gpu: Gpu) -> Figure:
    """SMs above, one of them enlarged, then L2 and DRAM, with bytes and bytes a second beside each."""
    figure = new_figure(WIDTH, HEIGHT)
    axes = figure.add_axes((0, 0.06, 1, 0.94))
    axes.set_axis_off()
    axes.set_xlim(0, 90)
    axes.set_ylim(0, 59.5)
    title = f"{gpu.full_name}: from DRAM to a lane"
    axes.text(45, 57.4, title, ha="center", va="center", color=BLACK, fontsize=12, fontweight="bold")
    _draw_sms(axes, gpu)
    _draw_one_sm(axes, gpu)
    _draw_memory(axes, gpu)
    figure.text(0.02, 0.012, _sources(gpu), fontsize=7.5, color=INK, va="bottom", linespacing=1.25)
    return figure


def shared_gb_per_s(gpu: Gpu) -> float:
    """What the shared memories of all SMs deliver at most: 128 bytes a wavefront."""
    return gpu.architecture.rates.shared_wavefronts * 4 * WARP * gpu.sms * gpu.clock_hz / 1e9


def l2_gb_per_s(gpu: Gpu) -> tuple[float, str] | None:
    """What L2 delivers, and whether that is recorded or a peak; None where neither is known."""
    if gpu.measured and gpu.measured.l2_gb_per_s:
        return gpu.measured.l2_gb_per_s, "recorded"
    if gpu.l2.bytes_per_clock:
        return gpu.l2.bytes_per_clock * gpu.clock_hz / 1e9, "peak"
    return None


def ladder(gpu: Gpu) -> str:
    """The picture in words: one line for each level, from the lane to DRAM."""
    arch = gpu.architecture
    l2 = l2_gb_per_s(gpu)
    l2_rate = f"{l2[0]:,.0f} GB/s {l2[1]}" if l2 else "rate not public"
    lines = [
        f"{gpu.full_name} ({gpu.origin}): {gpu.sms} SMs",
        f"  registers       {arch.registers * 4 >> 10:,} KB an SM, a thread's own",
        f"  shared memory   {arch.shared_per_sm_bytes >> 10} KB an SM at most, a block's own; "
        f"{shared_gb_per_s(gpu):,.0f} GB/s peak, all SMs",
        f"  L2              {gpu.l2.size_bytes / 2**20:.3g} MB, for all SMs; {l2_rate}",
        f"  DRAM            {_dram_size(gpu)}for all SMs; {gpu.memory.dram_gb_per_s:,.0f} GB/s peak",
        f"  resident        {arch.max_warps} warps an SM, {arch.max_warps * WARP * gpu.sms:,} threads in all",
    ]
    return "\n".join(lines)


def _dram_size(gpu: Gpu) -> str:
    return f"{gpu.memory.size_gb:g} GB, " if gpu.memory.size_gb else ""


def _box(axes: Axes, x: float, y: float, width: float, height: float, colour: str, edge: str = INK) -> None:
    boxes(axes, x, y, width, height, facecolors=colour, edgecolors=edge, linewidths=0.9)


def _text(axes: Axes, x: float, y: float, text: str, size: float = 9, **style) -> None:
    style = {"ha": "center", "va": "center", "color": BLACK, "linespacing": 1.25} | style
    axes.text(x, y, text, fontsize=size, **style)


def _draw_sms(axes: Axes, gpu: Gpu) -> None:
    """A small square for every SM; the first is orange, and lines lead from it to its enlargement."""
    rows = -(-gpu.sms // SM_PER_ROW)
    step, side = 66 / SM_PER_ROW, 66 / SM_PER_ROW - 0.3
    number = np.arange(gpu.sms)
    left, bottom = 2 + step * (number % SM_PER_ROW), 53.5 - step * (number // SM_PER_ROW)
    colours = [ORANGE, *[SKY] * (gpu.sms - 1)]
    boxes(axes, left, bottom, side, side, facecolors=colours, edgecolors=INK, linewidths=0.5)
    foot = 53.5 - step * (rows - 1)
    _text(axes, 70, (53.5 + side + foot) / 2, f"{gpu.sms} SMs", 11, ha="left", weight="bold")
    for near, far in ((2, 2), (2 + side, 58)):
        axes.plot([near, far], [foot if rows > 1 else 53.5, 46], color=ORANGE, linewidth=1.0, zorder=0)


def _draw_one_sm(axes: Axes, gpu: Gpu) -> None:
    """Four schedulers with their registers, and below them the memory they share."""
    arch = gpu.architecture
    _box(axes, 2, 23, 56, 23, PAPER, ORANGE)
    _text(axes, 3, 44.4, "one SM", 10, ha="left", weight="bold")
    warps, registers = arch.max_warps // SUB_PARTITIONS, arch.registers // SUB_PARTITIONS * 4 >> 10
    for part in range(SUB_PARTITIONS):
        x = 3.2 + 13.6 * part
        _box(axes, x, 31, 12.8, 12.2, SKY)
        _text(axes, x + 6.4, 41.2, "scheduler", 9, weight="bold")
        _text(axes, x + 6.4, 38.2, "starts 1 instruction\na clock, for 1 warp", 7.5)
        _text(axes, x + 6.4, 34.9, f"{warps} warps resident", 7.5)
        _text(axes, x + 6.4, 32.6, f"registers {registers} KB", 7.5)
    _box(axes, 3.2, 24.2, 53.6, 5.4, BLUE)
    kb = arch.shared_per_sm_bytes >> 10
    said = f"shared memory, {kb} KB at most; L1 is in the same memory"
    _text(axes, 30, 27.9, said, 9, color=PAPER, weight="bold")
    clocks = {1: "a clock", 0.5: "in two clocks"}.get(arch.rates.shared_wavefronts, "at a time")
    _text(axes, 30, 25.6, f"32 banks: one wavefront {clocks}", 8, color=PAPER)
    facts = [
        f"warp: {WARP} threads, one instruction",
        f"resident on an SM: {arch.max_warps} warps,",
        f"    in {arch.max_blocks} blocks at most",
        f"threads on the GPU: {arch.max_warps * WARP * gpu.sms:,}",
        "",
        f"FP32: {number_text(gpu.compute.fp32_tflops)} TFLOP/s",
        f"    at {gpu.compute.clock_mhz:,.0f} MHz",
        f"registers, all SMs: {arch.registers * 4 * gpu.sms / 2**20:.3g} MB",
        "shared memory, all SMs:",
        f"    {shared_gb_per_s(gpu):,.0f} GB/s",
    ]
    _text(axes, 60, 34.6, "\n".join(facts), 9, ha="left", linespacing=1.45)


def _draw_memory(axes: Axes, gpu: Gpu) -> None:
    """L2 and DRAM as wide boxes, with an arrow of its rate above each."""
    l2 = l2_gb_per_s(gpu)
    rate = f"{l2[0]:,.0f} GB/s ({l2[1]})" if l2 else "rate not public"
    _arrow(axes, 22.6, 17.7, rate, 9)
    _box(axes, 2, 12.2, 86, 5, FAINT)
    _text(axes, 45, 14.7, f"L2: {gpu.l2.size_bytes / 2**20:.3g} MB, for all SMs", 10, weight="bold")
    measured = gpu.measured.dram_read_gb_per_s if gpu.measured else None
    rate = f"{gpu.memory.dram_gb_per_s:,.0f} GB/s (peak)" + (
        f", {measured:,.0f} read (recorded)" if measured else ""
    )
    _arrow(axes, 11.8, 6.9, rate, 5)
    _box(axes, 2, 1.4, 86, 5, PAPER)
    _text(axes, 45, 3.9, f"DRAM: {_dram_size(gpu)}where your arrays are", 10, weight="bold")


def _arrow(axes: Axes, top: float, bottom: float, text: str, width: float) -> None:
    """A two-headed arrow between two levels, and its rate."""
    style = {"arrowstyle": "<->", "color": INK, "linewidth": width / 3, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", (30, bottom), (30, top), arrowprops=style)
    _text(axes, 32, (top + bottom) / 2, text, 10, ha="left")


def _sources(gpu: Gpu) -> str:
    """Where the figures come from, without the remarks of data/gpus.toml."""
    limits = gpu.architecture.source.replace("guide", "CUDA Programming Guide")
    given = {"Limits": limits, "FP32": gpu.compute.source, "DRAM": gpu.memory.source, "L2": gpu.l2.source}
    parts = [f"{what}: {re.split('[(;]', source)[0].strip()}" for what, source in given.items()]
    return "\n".join(textwrap.wrap("; ".join(parts) + " (more in data/gpus.toml).", 150))
