"""Chapter 10, pipelines: recorded times against the chapter's own model, and what they say in words."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from ..evidence import NOT_YET, caption, measured_words, not_recorded, recording
from ..gpus import DEFAULT, device
from ..gpus import gpu as find_gpu
from ..pictures.style import BLACK, INK, OKABE_ITO, clean, new_figure
from ..recorded import Table as Recorded
from ..report import Table
from . import pipeline_kernels as k
from . import pipeline_sweeps as sweeps
from .pipelines import bytes_in_flight, little_bytes, predicted_ms, scheme

MARKS = {"one buffer": "s", "registers": "D", "stages": "o", "producer warps": "^", "one producer": "v"}


def name(variant: str, stages: int) -> str:
    """A variant in words, such as "3 stages"."""
    named = {"stages": f"{stages} stages", "one buffer": variant, "registers": variant}
    return named.get(variant, f"{variant}, {stages}")


def shapes() -> Recorded | None:
    """The recorded launches whose blocks were all on their SMs at once, None where there are none."""
    table = recording("pipeline_shapes")
    if table is None:
        return None
    keep = np.array(
        [
            row["variant"] in MARKS and sweeps.fits(row["variant"], row["stages"], row["tile"], row["blocks"])
            for row in table.rows()
        ]
    )
    return Recorded(table.name, table.meta, {key: column[keep] for key, column in table.columns.items()})


def recorded_ms(variant: str, stages: int, tile: int = 256, blocks: int = 1) -> float | None:
    """Milliseconds of one launch of `pipeline_shapes`, None where it was not recorded."""
    table = shapes()
    row = None if table is None else table.where(variant=variant, stages=stages, tile=tile, blocks=blocks)
    return float(row.ms[0]) if row is not None and len(row) else None


def shapes_table(tile: int = 256, blocks: Sequence[int] = (1, 2)) -> Table:
    """Every variant for one tile: predicted and recorded milliseconds with 1 and 2 blocks on an SM."""
    table = shapes()
    header = ["variant", "bytes in flight (1 block)"]
    for count in blocks:
        header += [f"{count} an SM: modelled ms"] + (["recorded ms"] if table is not None else [])
    rows = []
    for point in sweeps.shapes(1):
        variant, stages, size, resident = point.columns.values()
        if size == tile and resident == blocks[0]:
            rows.append(_shape_row(variant, stages, tile, blocks, table is not None))
    size = f"{sweeps.SIZE}, tiles of {tile * k.FLOAT4 // 1024} KB"
    return Table(header, rows, {0}, f"{size}; {caption(table, 'pipeline_shapes')}")


def _shape_row(variant: str, stages: int, tile: int, blocks: Sequence[int], recorded: bool) -> list[str]:
    cells = [name(variant, stages), f"{bytes_in_flight(scheme(variant, stages), tile, 1):,}"]
    for count in blocks:
        fits = sweeps.fits(variant, stages, tile, count)
        cells.append(f"{predicted_ms(variant, stages, tile, count):.3f}" if fits else "does not fit")
        if recorded:
            found = recorded_ms(variant, stages, tile, count)
            cells.append("" if found is None else f"{found:.3f}")
    return cells


def _pairs(table: Recorded) -> tuple[np.ndarray, np.ndarray]:
    """Predicted and recorded milliseconds of every row."""
    said = [predicted_ms(row["variant"], row["stages"], row["tile"], row["blocks"]) for row in table.rows()]
    return np.array(said), table.ms


def model_words() -> str:
    """How far the chapter's model is off, and how many pairs of launches it puts in the wrong order."""
    table = shapes()
    if table is None:
        return not_recorded("pipeline_shapes")
    said, was = _pairs(table)
    lines = []
    for blocks in (1, 2):
        ratio = (said / was)[table["blocks"] == blocks]
        lines.append(f"{blocks} an SM: modelled / recorded from {ratio.min():.2f} to {ratio.max():.2f}")
    apart = was[:, None] * 1.1 < was[None, :]
    wrong = apart & (said[:, None] > said[None, :] * (1 + 1e-9))
    ours = table["variant"] != "registers"
    both = ours[:, None] & ours[None, :]
    lines.append(
        f"of {apart.sum():,} pairs recorded 10 % apart, the model puts {wrong.sum()} in the wrong order; "
        f"without `registers`, {(wrong & both).sum()} of {(apart & both).sum():,}"
    )
    return "\n".join(lines)


def findings() -> str:
    """What the record says about one block an SM and tiles of 4 KB: how much each step gained."""
    steps = [("one buffer", 1), ("registers", 2), *(("stages", n) for n in sweeps.STAGES)]
    steps.append(("producer warps", 6))
    ms = [recorded_ms(*step) for step in steps]
    if None in ms:
        return not_recorded("pipeline_shapes")
    lines = [f"one buffer: {ms[0]:.3f} ms recorded, {DEFAULT}"]
    for step, each in zip(steps[1:], ms[1:], strict=True):
        lines.append(f"{name(*step)}: {each:.3f} ms, {ms[0] / each:.2f} times as fast")
    library = recording("pipeline_shapes").where(variant="cuBLAS")
    lines += [f"cuBLAS, for comparison: {ms:.3f} ms" for ms in library.ms]
    return "\n".join(lines)


def measured(rows: int = sweeps.ROWS) -> str:
    """The same steps on this machine's GPU, in words."""
    steps = (("one buffer", 1), ("registers", 2), *(("stages", n) for n in sweeps.STAGES))
    points = [sweeps.point(*step, sweeps.TILE, 1, rows, device().sms) for step in steps]
    return measured_words(points, lambda point: name(point.columns["variant"], point.columns["stages"]))


def little_chart() -> Figure:
    """Recorded rate of every launch over the bytes its SMs had in flight, and Little's law for DRAM."""
    table, gpu = shapes(), find_gpu(DEFAULT)
    figure = new_figure(9.0, 4.2)
    axes = clean(figure.add_axes((0.08, 0.13, 0.9, 0.77)), grid="both")
    needed, roof = little_bytes(), gpu.measured.dram_read_gb_per_s / 1e3
    x = np.geomspace(1e3, 2e5, 200)
    axes.plot(
        x / 1024,
        roof * np.minimum(1, x / needed),
        "--",
        color=BLACK,
        label=f"Little's law (modelled, {DEFAULT})",
    )
    if table is not None:
        read = sweeps.ROWS * 256 / table.ms / 1e9  # TB/s of X alone
        for number, (variant, mark) in enumerate(MARKS.items()):
            for blocks in (1, 2):
                rows = (table["variant"] == variant) & (table["blocks"] == blocks)
                flying = [
                    bytes_in_flight(scheme(variant, s), t, blocks) / 1024
                    for s, t in zip(table["stages"][rows], table["tile"][rows], strict=True)
                ]
                style = (
                    {"markerfacecolor": "none"}
                    if blocks == 2
                    else {"label": f"{variant} (recorded, {DEFAULT})"}
                )
                axes.plot(flying, read[rows], mark, color=OKABE_ITO[number], markersize=7, **style)
    axes.set_xscale("log", base=2)
    axes.set_xlim(2, 128)
    axes.set_xticks([2, 4, 8, 16, 32, 64, 128], ["2", "4", "8", "16", "32", "64", "128"])
    axes.set_ylim(0, 5)
    axes.set_xlabel("KB of X in flight on an SM at most (open marks: 2 blocks an SM)", color=INK)
    axes.set_ylabel("X read, TB/s", color=INK)
    title = "Bytes in flight make the rate" + ("" if table is not None else f" ({NOT_YET})")
    axes.set_title(title, color=BLACK, fontsize=12, fontweight="bold")
    axes.legend(frameon=False, fontsize=9, loc="upper left", labelcolor=INK)
    return figure
