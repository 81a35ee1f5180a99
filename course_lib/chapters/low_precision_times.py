"""Chapter 12, low precision: modelled, recorded and measured times, and what the chapter says of them."""

from collections.abc import Mapping

from .. import backend
from ..agreement import modelled_sweep
from ..evidence import caption, every_gpu, measured_heading, not_recorded, recording, time_points
from ..gpus import DEFAULT, Gpu
from ..points import Point
from ..recorded import Table as Recorded
from ..report import Table
from ..sweeps import sweep
from . import low_precision_model as model
from .low_precision_formats import FORMATS
from .low_precision_sweeps import products

LIBRARY = ("cuBLAS", "PyTorch")


# -- should the time move? -------------------------------------------------------------------------


def by_gpu(n: int = 4096) -> Table:
    """For every GPU of the table and this machine's: an n x n product in fp32 and fp16, values times s."""
    words = (
        "fp32 product ms",
        "fp16 product ms",
        "limited by",
        "times faster",
        "fp32 scale ms",
        "fp16 scale ms",
    )
    header = ["GPU", *words]
    rows = [_gpu_row(gpu, label, n) for gpu, label in every_gpu() if FORMATS["bf16"].tflops(gpu)]
    scaled = f"{sweep('precision_scale').size:,} values scaled"
    return Table(
        header, rows, {0, 3}, f"modelled: a product of {n} x {n} by `tiled` and by `mma_tiled`; {scaled}"
    )


def _gpu_row(gpu: Gpu, label: str, n: int) -> list[str]:
    before = model.product_time("tiled", "fp32", n, gpu)
    after = model.product_time("mma tiled", "fp16", n, gpu)
    wide = zip(("fp32", "fp16", "e4m3"), modelled_sweep("precision_scale", gpu), strict=False)
    scaling = {element: time.ms for element, time in wide}
    cells = (f"{before.ms:.3g}", f"{after.ms:.3g}", after.limiter, f"{before.ms / after.ms:.0f}")
    return [label, *cells, *(f"{scaling[element]:.3g}" for element in ("fp32", "fp16"))]


# -- products --------------------------------------------------------------------------------------


def product_times(n: int = 4096) -> Table:
    """Every product of a sweep: modelled, recorded, its TFLOP/s and its share of the library's."""
    name = "precision_product" if n == 4096 else f"precision_product_{n}"
    table = recording(name)
    points = [point.columns for point in sweep(name).points(n)]
    header = ["variant", "format", f"modelled ms, {DEFAULT}", "model: limited by"]
    extra = ["recorded ms", "TFLOP/s (recorded)", "of the library's", "modelled / recorded"] if table else []
    here = products_ms(n) if backend.on_gpu() and n == 4096 else {}
    rows = []
    for columns in points:
        key = (columns["variant"], columns["format"])
        found = model.product_time(*key, n)
        row = [*key, f"{found.ms:.3g}", found.limiter]
        ms = milliseconds(table, *key) if table else None
        if table and ms is None:
            row += ["", "", "", ""]
        elif table:
            row += [f"{ms:.3g}", f"{2 * n**3 / ms / 1e9:.0f}", share(table, *key), f"{found.ms / ms:.2f}"]
        rows.append([*row, *([f"{here[key]:.3g}"] if here else [])])
    for call in table.rows() if table else ():
        if call["variant"] in LIBRARY:
            ms = call["median_ms"]
            row = [call["variant"], call["format"], "", "", f"{ms:.3g}", f"{2 * n**3 / ms / 1e9:.0f}", "", ""]
            rows.append([*row, *([""] if here else [])])
    header += [*extra, *([measured_heading()] if here else [])]
    return Table(header, rows, {0, 1, 3}, f"n = {n:,}; {caption(table, name)}")


def milliseconds(table: Recorded, variant: str, element: str) -> float | None:
    """The recorded median of a variant and a format; None where it was not recorded."""
    found = table.where(variant=variant, format=element).ms
    return float(found[0]) if len(found) else None


def library_ms(table: Recorded, element: str) -> float | None:
    """The recorded time of a library's product in this format; None where none was recorded."""
    for row in table.rows():
        if row["variant"] in LIBRARY and row["format"] == element:
            return float(row["median_ms"])
    return None


def share(table: Recorded, variant: str, element: str) -> str:
    """The library's time over the kernel's, such as "43 %"."""
    library = library_ms(table, element)
    return f"{100 * library / milliseconds(table, variant, element):.0f} %" if library else ""


def findings() -> str:
    """What the recorded products say, in sentences; how far the model is off."""
    table = recording("precision_product")
    if table is None:
        return not_recorded("precision_product")
    ms = {
        (row["variant"], row["format"]): float(row["median_ms"])
        for row in table.rows()
        if row["variant"] not in LIBRARY
    }
    best = ms["mma tiled", "fp16"]
    lines = [
        f"Recorded on the {DEFAULT}, n = 4096:",
        f"fp16 by mma_tiled takes {best:.3g} ms.",
        f"The tiled fp32 kernel takes {ms['tiled', 'fp32'] / best:.0f} times as long.",
        *_conflicts(ms.get(("mma unswizzled", "fp16")), best),
        *(f"{e} takes {ms['mma tiled', e] / best:.2f} times as long." for e in ("tf32", "bf16", "e4m3")),
        *_library_lines(table),
    ]
    ratios = {key: model.product_time(*key, 4096).ms / value for key, value in ms.items()}
    low, high = (pick(ratios, key=ratios.__getitem__) for pick in (min, max))
    lines += _large()
    ends = [f"{ratios[key]:.2f} ({' '.join(key)})" for key in (low, high)]
    lines.append(f"Modelled / recorded: from {' to '.join(ends)}.")
    return "\n".join(lines)


def _conflicts(unswizzled: float | None, best: float) -> list[str]:
    return [f"Without the swizzle it takes {unswizzled / best:.1f} times as long."] if unswizzled else []


def _large() -> list[str]:
    """The best kernel and the library at n = 8192, in fp16."""
    table = recording("precision_product_8192")
    library = library_ms(table, "fp16") if table else None
    if not library:
        return []
    own, best = (2 * 8192**3 / ms / 1e9 for ms in (milliseconds(table, "mma tiled", "fp16"), library))
    return [
        f"n = 8192, fp16: {own:.0f} TFLOP/s by mma_tiled, {best:.0f} by cuBLAS, {100 * own / best:.0f} %."
    ]


def _library_lines(table: Recorded) -> list[str]:
    found = {element: library_ms(table, element) for element in ("fp32", "tf32", "bf16", "fp16", "e4m3")}
    said = [f"{2 * 4096**3 / ms / 1e9:,.0f} TFLOP/s in {element}" for element, ms in found.items() if ms]
    return [f"cuBLAS (e4m3: by PyTorch) reaches {', '.join(said)}."] if said else []


# -- bytes -----------------------------------------------------------------------------------------


def scaling_findings() -> str:
    """How the recorded times of scaling follow the bytes."""
    table = recording("precision_scale")
    if table is None:
        return not_recorded("precision_scale")
    wide = {
        row["format"]: row for row in table.rows() if row["values a thread"] * _bytes(row["format"]) == 16
    }
    single = {row["format"]: row for row in table.rows() if row["values a thread"] == 1}
    full = wide["fp32"]["median_ms"]
    chosen = sweep("precision_scale")
    lines = [f"Recorded on the {DEFAULT}, {chosen.size:,} {chosen.what}:"]
    for element, row in wide.items():
        rate = row["useful_bytes"] / row["median_ms"] / 1e6
        lines.append(
            f"{element}: {row['median_ms']:.3g} ms with 16 bytes a thread ({rate:,.0f} GB/s, "
            f"{full / row['median_ms']:.2f} times as fast as fp32); "
            f"{single[element]['median_ms']:.3g} ms with a value a thread."
        )
    return "\n".join(lines)


def _bytes(element: str) -> int:
    return int(FORMATS[element].bytes)


def block_findings() -> str:
    """How fast MXFP8 is made and unmade, beside a copy."""
    table = recording("precision_mx")
    if table is None:
        return not_recorded("precision_mx")
    said = [
        f"{row['kernel']} {row['median_ms']:.3g} ms, {row['useful_bytes'] / row['median_ms'] / 1e6:,.0f} GB/s"
        for row in table.rows()
    ]
    chosen = sweep("precision_mx")
    return f"Recorded on the {DEFAULT}, {chosen.size:,} {chosen.what}: {'; '.join(said)}."


# -- measured ---------------------------------------------------------------------------------------


def products_ms(n: int) -> Mapping[tuple[str, str], float]:
    """Medians of the products on this machine's GPU, in milliseconds, as far as it can run them."""
    return {(point.columns["variant"], point.columns["format"]): _median(point) for point in products(n)}


def _median(point: Point) -> float:
    """NaN where this GPU has not the instructions or the shared memory that the kernel needs."""
    cp = backend.cp
    try:
        return time_points([point])[0]["median_ms"]
    except (cp.cuda.compiler.CompileException, cp.cuda.driver.CUDADriverError):
        return float("nan")
