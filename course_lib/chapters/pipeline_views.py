"""Chapter 10, pipelines: its counted tables, the function behind its slider, and pictures of its stages."""

import re
from collections.abc import Sequence

from matplotlib.figure import Figure

from ..emulator import RawKernel
from ..evidence import every_gpu, verdict
from ..gpus import WARP, Gpu
from ..metric_names import BARRIERS, BLOCK_THREADS, BLOCKS, IN_FLIGHT, INSTRUCTIONS, LD_REQUESTS, STATIC_BYTES
from ..occupancy import occupancy
from ..report import Table
from . import pipeline_kernels as k
from .pipeline_picture import timeline
from .pipeline_sweeps import REGISTERS, SIZE
from .pipelines import (
    bytes_in_flight,
    costs,
    little_bytes,
    period,
    predicted_ms,
    scheme,
    simulate,
)

WINDOW = 8000  # clocks that a picture shows


def counted(tiles: int) -> dict:
    """Rows of a counted table for a launch of `tiles` tiles: label -> function of a profile.

    "per tile" is over all tiles of the launch, so that it has its share of what a block does once.
    """

    def each(metric: str, warps: bool = False):
        return lambda p: p[metric] / tiles / (p[BLOCK_THREADS] / WARP if warps else 1)

    loads = LD_REQUESTS
    weights = 64 * k.THREADS // WARP  # requests of a block, once

    return {
        "plain load requests per tile, W left out": (lambda p: (p[loads] - weights * p[BLOCKS]) / tiles),
        "asynchronous copy requests per tile": each("smsp__inst_executed_op_ldgsts.sum"),
        "barriers per tile and warp": each(BARRIERS, warps=True),
        "instructions per tile (PTX, all warps)": each(INSTRUCTIONS),
        "bytes in flight while a tile is used": IN_FLIGHT,
        "registers per thread": "launch__registers_per_thread",
        "shared bytes per block": STATIC_BYTES,
    }


ASSEMBLED = (("registers", 256), ("registers", 512), ("registers", 1024), ("2 stages", 1024))


def assembled(cases: Sequence[tuple[str, int]] = ASSEMBLED) -> Table:
    """Registers, and how much of a tile's use the assembler puts before the next is asked for."""
    kernels = {"registers": k.REGISTERS, "2 stages": k.STAGED}
    rows = []
    for name, tile in cases:
        made = RawKernel(kernels[name].source, kernels[name].name, k.tiled(kernels[name], tile, 2).options)
        before, every = asked_after(made.sass)
        rows.append([name, f"{tile * k.FLOAT4 // 1024} KB", made.num_regs, f"{before} of {every}"])
    header = ["kernel", "tile", "registers per thread", "multiply-adds before the next tile is asked for"]
    return Table(header, rows, {0}, "counted in the SASS of the loop")


def asked_after(sass: str) -> tuple[int, int]:
    """FFMA of the loop (behind its barrier) before its last load of global memory, and all of them."""
    names = re.findall(r"\b(BAR|LDG|LDGSTS|FFMA|STG)\b", sass)
    loop = names[names.index("BAR") :]
    asks = [at for at, name in enumerate(loop) if name.startswith("LDG")]
    return loop[: asks[-1]].count("FFMA"), loop.count("FFMA")


# -- the picture and the slider --------------------------------------------------------


def plan(variant: str, stages: int, tile: int, blocks: int = 1) -> tuple[str, tuple]:
    """A title and what `timeline` draws, for a variant of the sweeps."""
    cost = costs(variant, stages, tile)
    spans = simulate(scheme(variant, stages), cost, blocks)
    each = period(spans) * blocks
    said = f"{each:,.0f} clocks a tile" + (f" of each of {blocks} blocks" if blocks > 1 else "")
    said += f" (latency {cost.latency:,.0f}, use {cost.use:,.0f})"
    return said, (scheme(variant, stages), spans)


def clocks(stages: int, tile: int) -> int:
    """Modelled clocks for each tile of a block that has its SM to itself."""
    variant = "stages" if stages > 1 else "one buffer"
    return round(period(simulate(scheme(variant, stages), costs(variant, stages, tile))))


def show_stages(tile: int = 512, stages: Sequence[int] = (1, 2, 3)) -> Figure:
    """The timeline of one block that has its SM to itself, for several numbers of buffers."""
    plans = {}
    for count in stages:
        said, found = plan("stages" if count > 1 else "one buffer", count, tile)
        plans[f"{count} buffer{'s' * (count > 1)}: {said}"] = found
    return timeline(plans, WINDOW, f"One block on an SM, tiles of {tile * k.FLOAT4 // 1024} KB, modelled")


def show_producers(tile: int = 512, stages: int = 3) -> Figure:
    """The same buffers, filled by all threads or by warps of their own."""
    plans = {}
    for variant, name in (("stages", "all warps copy"), ("producer warps", "producer warps")):
        said, found = plan(variant, stages, tile)
        plans[f"{name}: {said}"] = found
    return timeline(plans, WINDOW, f"{stages} buffers of {tile * k.FLOAT4 // 1024} KB, modelled", mark=False)


def show_pipeline(stages: int = 2, tile_kb: int = 4, blocks: int = 1) -> tuple[Figure, str]:
    """One block's timeline among `blocks` blocks on an SM of an H200; tiles of `tile_kb` KB."""
    tile = tile_kb * 1024 // k.FLOAT4
    shared = stages * tile * k.FLOAT4
    found = occupancy(k.THREADS, REGISTERS, shared)
    variant = "stages" if stages > 1 else "one buffer"
    said = f"{stages} x {tile_kb} KB = {shared:,} bytes of shared memory a block"
    fit = min(blocks, found.blocks)
    title = f"{stages} stage{'s' * (stages > 1)} of {tile_kb} KB, modelled"
    if not fit:
        verdict = f"does not fit: {shared:,} bytes are more than a block may have"
        nothing = {verdict: (scheme(variant, stages), ())}
        return timeline(nothing, WINDOW, title), f"{said}: more than a block may have. It does not fit."
    _, drawn = plan(variant, stages, tile, fit)
    where = "alone on its SM" if fit < 2 else f"with {fit - 1} more on its SM"
    figure = timeline({f"one block, {where}": drawn}, WINDOW, title)
    ms = predicted_ms(variant, stages, tile, fit)
    flying = bytes_in_flight(scheme(variant, stages), tile, fit)
    share = f"{flying / little_bytes():.0%} of what its share of DRAM needs"
    lines = [
        f"{said}: {found.blocks} fit on an SM ({found.fraction:.1%} occupancy), {fit} run",
        f"modelled: {flying:,} bytes in flight on an SM, {share}; {ms:.3f} ms for {SIZE}",
    ]
    return figure, "\n".join(lines)


# -- should the time move? ---------------------------------------------------------------


def by_gpu(tile: int = 256) -> Table:
    """For every GPU that copies in the background: one buffer against 3 stages, 1 and 2 blocks an SM."""
    able = [(gpu, label) for gpu, label in every_gpu() if float(gpu.architecture.capability) >= 8]
    rows = [_gpu_row(gpu, label, tile) for gpu, label in able]
    header = ["GPU", "bytes needed"]
    for blocks in (1, 2):
        header += [f"{blocks} an SM: one buffer, ms", "3 stages, ms", "should it move?"]
    size = f"{SIZE}, tiles of {tile * k.FLOAT4 // 1024} KB, 1 or 2 blocks an SM"
    return Table(header, rows, {0, 4, 7}, f"modelled: {size}; bytes that an SM needs in flight")


def _gpu_row(gpu: Gpu, label: str, tile: int) -> list[str]:
    cells = [label, f"{little_bytes(gpu):,.0f}"]
    for blocks in (1, 2):
        one = predicted_ms("one buffer", 1, tile, blocks, gpu=gpu)
        three = predicted_ms("stages", 3, tile, blocks, gpu=gpu)
        cells += [f"{one:.3f}", f"{three:.3f}", verdict(one / three, "{:.1f} times")]
    return cells
