"""Chapter 12, low precision: its tables, the sums of its first kernel, and the function behind its slider."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..gpus import DEFAULT, Gpu
from ..gpus import gpu as find_gpu
from ..metric_names import (
    DISTINCT_LD,
    FFMA,
    INSTRUCTIONS,
    LD_REQUESTS,
    LD_SECTORS,
    LD_WAVEFRONTS,
    SHARED_LOADS,
    ST_REQUESTS,
    ST_SECTORS,
    TENSOR,
    WAVEFRONTS,
)
from ..pictures import Series
from ..pictures import sweep as draw_sweep
from ..report import Table
from .low_precision_formats import FORMATS, Format, loss, product_error, rounded
from .low_precision_picture import largest_text, ridges

RIDGE_FORMATS = ("fp32", "tf32", "fp16", "bf16", "e4m3", "mxfp8", "mxfp4")
RESULT_BYTES = 4  # of an element of C, which is float32 in every product of this chapter
WMMA = {  # rows of the counted table of the first two products: label -> metric
    "operations of tensor cores": TENSOR,
    "float multiply-adds by threads": FFMA,
    "warp instructions (PTX)": INSTRUCTIONS,
    "global load requests": LD_REQUESTS,
    "sectors loaded": LD_SECTORS,
    "L1 wavefronts of global loads": "course__l1_wavefronts_global.sum",
    "shared wavefronts": WAVEFRONTS,
}
PRODUCT = {  # of `mma_tiled`
    "operations of tensor cores": TENSOR,
    "sectors copied by cp.async": "sm__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_bypass.sum",
    "shared load requests": SHARED_LOADS,
    "shared load wavefronts": LD_WAVEFRONTS,
}
MEMORY = {  # of the kernels that only move values
    "global load requests": LD_REQUESTS,
    "sectors loaded": LD_SECTORS,
    "global store requests": ST_REQUESTS,
    "sectors stored": ST_SECTORS,
}


# -- formats and what they lose --------------------------------------------------------------------


def format_table() -> Table:
    """Bits, range and step of every format."""
    header = ["format", "bits", "exponent", "fraction", "bytes", "largest", "least normal", "1 to the next"]
    rows = [
        [
            form.name,
            form.bits,
            form.exponent,
            form.fraction,
            f"{form.bytes:g}",
            largest_text(form.largest),
            f"{form.least_normal:.2g}",
            f"1/{2**form.fraction:,}",
        ]
        for form in FORMATS.values()
    ]
    return Table(header, rows, {0}, "a sign bit each; mxfp8 and mxfp4: without their scale")


def losing_table(names: Sequence[str] = ("fp32", "bf16", "fp16", "e5m2", "e4m3")) -> Table:
    """What becomes of 70,000 and of 1e-8, and the first whole number to which 1 adds nothing."""
    header = ["format", "70,000 becomes", "clamped", "1e-8 becomes", "first n with n + 1 = n"]
    rows = [[name, *_lost(name), f"{first_deaf(name):,}"] for name in names]
    return Table(header, rows, {0}, "by ml_dtypes")


def _lost(name: str) -> list[str]:
    large, tiny = np.float32(70_000), np.float32(1e-8)
    shown = (rounded(large, name), rounded(large, name, clamp=True), rounded(tiny, name))
    return [f"{float(value):,.0f}" if abs(value) >= 1 else f"{float(value):.3g}" for value in shown]


def first_deaf(name: str) -> int:
    """The first whole number n at which n + 1 is rounded to n."""
    n = 2 ** (FORMATS[name].fraction + 1)
    if rounded(np.float32(n), name) != rounded(np.float32(n + 1) if n < 2**24 else np.float64(n) + 1, name):
        raise AssertionError(f"{name} tells {n} and {n + 1} apart")
    return n


def loss_table(x: np.ndarray, names: Sequence[str], caption: str, clamp: bool = False) -> Table:
    """What rounding to each format does to these values, against float64."""
    header = ["format", "error of all", "worst of one", "overflow", "become 0"]
    rows = []
    for name in names:
        found = loss(x, name, clamp)
        rows.append(
            [
                name,
                *(f"{v:.2g}" for v in (found.whole, found.worst)),
                f"{found.lost:.1%}",
                f"{found.zero:.1%}",
            ]
        )
    return Table(header, rows, {0}, caption)


# -- sums -------------------------------------------------------------------------------------------


def sums_chart(errors: Mapping[str, Mapping[int, float]]) -> Figure:
    """Relative error over the number of addends, a curve for each format of the sum.

    A logarithmic axis has no 0: a curve begins behind the sums that are exact, and its name says how many.
    """
    series = []
    for name, found in errors.items():
        inexact = [n for n in found if n > max((m for m in found if not found[m]), default=0)]
        series.append(Series("counted", inexact, [found[n] for n in inexact], name))
    title = "A sum of fp16 values from 0 to 1: the format of the sum"
    figure = draw_sweep(
        *series, xlabel="addends", ylabel="relative error against float64", title=title, log="xy"
    )
    axes = figure.axes[0]
    axes.yaxis.set_major_formatter(lambda value, _: f"$2^{{{round(np.log2(value))}}}$" if value > 0 else "0")
    axes.legend([_exact_to(name, found) for name, found in errors.items()], frameon=False, fontsize=9)
    return figure


def _exact_to(name: str, found: Mapping[int, float]) -> str:
    """A format, and up to how many addends its sum has no error."""
    exact = max((n for n in found if not found[n]), default=0)
    return f"{name} (no error up to {exact:,} addends)" if exact else name


def sum_error(cp: Any, kernel: Any, x: np.ndarray) -> float:
    """Relative error (root mean square) of column sums of `x`, by a kernel (out, x, rows, columns)."""
    rows, columns = x.shape
    out = cp.zeros(columns, cp.float32)
    args = out, cp.asarray(x), np.int32(rows), np.int32(columns)
    kernel((-(-columns // 128),), (128,), args)
    exact = x.astype(np.float64).sum(axis=0)
    return float(np.sqrt((((cp.asnumpy(out) - exact) / exact) ** 2).mean()))


# -- scales -----------------------------------------------------------------------------------------


def scale_table(x: np.ndarray) -> Table:
    """8- and 4-bit values with no scale, one for all, and one for each 32; `x`: (rows, columns) float32."""
    most = np.float64(np.abs(x).max())
    one = 2.0 ** (np.floor(np.log2(most)) - 8)
    kept = {
        "e4m3, no scale": rounded(x, "e4m3", clamp=True),
        "e4m3, one scale": rounded((x / one).astype(np.float32), "e4m3", clamp=True) * one,
        "mxfp8, one for 32": rounded(x, "mxfp8"),
        "mxfp4, one for 32": rounded(x, "mxfp4"),
    }
    sizes = {"mxfp8, one for 32": 8.25, "mxfp4, one for 32": 4.25}
    rows = [
        [name, f"{sizes.get(name, 8):g}", f"{row_error(x, found):.2g}", f"{(found == 0).mean():.1%}"]
        for name, found in kept.items()
    ]
    header = ["kept as", "bits a value", "error of a row", "become 0"]
    return Table(header, rows, {0}, "against float64; the error of a row is the median over all rows")


def row_error(x: np.ndarray, kept: np.ndarray) -> float:
    """Relative error (root mean square) of each row; the median of them."""
    exact = x.astype(np.float64)
    return float(np.median(np.sqrt(((kept - exact) ** 2).sum(1) / (exact**2).sum(1))))


# -- the ridge --------------------------------------------------------------------------------------


def product_bytes(form: Format, n: int) -> float:
    """Bytes of A, B and C, n x n each, that cross to DRAM at least."""
    return n * n * (2 * form.bytes + RESULT_BYTES)


def intensity(form: Format, n: int) -> float:
    """FLOP per byte of an n x n product whose A, B and C cross to DRAM once."""
    return 2 * n**3 / product_bytes(form, n)


def smallest_product(form: Format, gpu: Gpu) -> int | None:
    """The smallest n from which arithmetic is the limit, were every byte to cross once."""
    peak = form.tflops(gpu)
    ridge = peak and peak * 1e3 / gpu.memory.dram_gb_per_s
    return None if not ridge else int(np.ceil(ridge * (2 * form.bytes + RESULT_BYTES) / 2))


def ridge_table(names: Sequence[str] = ("A100", "H200", "B200")) -> Table:
    """The ridge of each format on several GPUs, in FLOP per byte, and in rows of a square product."""
    header = [
        "format",
        "bytes a value",
        *(f"{name}: {what}" for name in names for what in ("ridge", "n from")),
    ]
    rows = []
    for form in (FORMATS[name] for name in RIDGE_FORMATS):
        row = [form.name, f"{form.bytes:g}"]
        for gpu in map(find_gpu, names):
            peak, n = form.tflops(gpu), smallest_product(form, gpu)
            row += [f"{peak * 1e3 / gpu.memory.dram_gb_per_s:.0f}", f"{n:,}"] if peak else ["-", "-"]
        rows.append(row)
    caption = "modelled: FLOP per byte from which arithmetic is the limit, and rows of a square product"
    return Table(header, rows, {0}, caption)


def show_format(element: str = "fp16", n: int = 4096, gpu: str = DEFAULT) -> tuple[Figure, str]:
    """A product of n x n in a format: its place under the roofs of a GPU, and what it costs in digits."""
    form, found = FORMATS[element], find_gpu(gpu)
    peak, at = form.tflops(found), intensity(form, n)
    error = f"relative error of the product, by rounding A and B: {product_error(element, min(n, 4096)):.1e}"
    moved = f"{element}, n = {n:,}: {product_bytes(form, n) / 2**20:,.1f} MiB, {at:,.0f} FLOP per byte"
    if peak is None:
        text = f"{moved}\nno tensor cores for {element} on the {gpu}: convert, or use another format\n{error}"
        return ridges(found, {}, f"Roofs of the {gpu}, modelled"), text
    ridge = peak * 1e3 / found.memory.dram_gb_per_s
    bound = min(peak, at * found.memory.dram_gb_per_s / 1e3)
    limit = "arithmetic" if at >= ridge else "bytes"
    us = 2 * n**3 / bound / 1e6
    text = f"{moved}; ridge {ridge:,.0f}: limited by {limit}, {us:.3g} µs at least (modelled, {gpu})\n{error}"
    figure = ridges(found, {f"{element}, n = {n:,}": (at, bound)}, f"Roofs of the {gpu}, modelled")
    return figure, text


# -- tensor cores -----------------------------------------------------------------------------------


def mma_table(counted: Mapping[str, Mapping[str, float]]) -> Table:
    """What `mma_tiled` needs in each format: name of the format -> counts."""
    header = ["counted", *counted]
    depth = {"tf32": 8, "e4m3": 32, "e5m2": 32}
    rows = {
        "bytes of A and B": lambda _, p: p[DISTINCT_LD],
        "operations of tensor cores": lambda _, p: p[PRODUCT["operations of tensor cores"]],
        "operations of an mma": lambda name, _: 2 * 16 * 8 * depth.get(name, 16),
        "mma instructions": lambda name, p: (
            p[PRODUCT["operations of tensor cores"]] / (2 * 16 * 8 * depth.get(name, 16))
        ),
        "sectors copied": lambda _, p: p[PRODUCT["sectors copied by cp.async"]],
        "ldmatrix instructions": lambda _, p: p[PRODUCT["shared load requests"]],
        "their wavefronts": lambda _, p: p[PRODUCT["shared load wavefronts"]],
    }
    cells = [
        [label, *(f"{read(name, p):,.0f}" for name, p in counted.items())] for label, read in rows.items()
    ]
    return Table(header, cells, {0}, "")


def conflicts(counted: Mapping[str, float]) -> str:
    """Wavefronts of the shared loads, and their worst conflict."""
    ways = (
        f"{counted['course__shared_ways.max']}-way"
        if counted["course__shared_ways.max"] > 1
        else "no conflict"
    )
    return f"{counted[PRODUCT['shared load wavefronts']]:,} wavefronts ({ways})"


def sass_table(
    kernels: Mapping[str, Any], opcodes: Sequence[str] = ("LDSM", "HMMA", "F2FP", "FADD")
) -> Table:
    """How often some instructions stand in the machine code of kernels, for an H200."""
    from ..emulator import RawKernel

    texts = {
        name: RawKernel(kernel.code, kernel.name, options=tuple(kernel.options)).sass
        for name, kernel in kernels.items()
    }
    rows = [
        [
            opcode,
            *(
                sum(f" {opcode}." in line or f" {opcode} " in line for line in text.splitlines())
                for text in texts.values()
            ),
        ]
        for opcode in opcodes
    ]
    return Table(["in the machine code (SASS)", *texts], rows, {0}, "")
