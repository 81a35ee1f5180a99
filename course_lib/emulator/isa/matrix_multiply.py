"""mma.sync and wmma.mma: products and sums of matrices as the tensor cores of an H200 compute them.

The ISA leaves order and rounding of the sums open. Measurements on Hopper (Xie et al., "MMA-Sim",
arXiv:2511.10909; Khattak and Mikaitis, "Accurate Models of NVIDIA Tensor Cores", arXiv:2512.07004) found:

* f16, bf16, tf32: all products of one step and C are exact; each is cut (toward zero) to 25 bits below the
  largest exponent among them, an exponent of a product being the sum of its factors' exponents; these are
  added exactly; the sum is cut to float32, or rounded to nearest even for f16. So with s the largest |a * b|
  of k products or |c|, the error is below (k + 1) * 2**-25 * s plus one unit in the last place of the result.
* e4m3, e5m2: converted to f16, added in two steps from zero, C added by an ordinary addition.
* integers: exact, wrapped or clamped at the end.  f64: a chain of fma in ascending k.

Subnormal numbers count, NaN is 0x7fffffff, an exact zero is +0.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .formats import f16_round
from .matrix_form import Form
from .matrix_layout import gather, scatter
from .rounding import quiet
from .table import TABLE

SLICE = 64  # warps handled at a time, so that temporary arrays stay in the cache
FRACTION = 2.0**25
_SMALLEST = {
    "f16": 2.0**-14,
    "e4m3": 2.0**-14,
    "e5m2": 2.0**-14,
    "bf16": 2.0**-126,
    "tf32": 2.0**-126,
    "f32": 2.0**-126,
}
_EXPONENT = np.int64(0x7FF << 52)
_LOW = np.int64(~((1 << 29) - 1))
_CODES = np.arange(256, dtype=np.uint16)
_FP8 = {
    name: TABLE[f"cvt.rn.f16x2.{name}x2"]
    .function(_CODES)
    .astype(np.uint16)
    .view(np.float16)
    .astype(np.float64)
    for name in ("e4m3", "e5m2")
}


class Terms(NamedTuple):
    """Exact values (float64) and the powers of two of their leading bits (0 for zero)."""

    value: np.ndarray
    power: np.ndarray


def decode(raw: np.ndarray, element: str) -> np.ndarray:
    """Elements as unsigned bits -> float64 for floats, int32 for integers."""
    if element == "f16":
        return raw.view(np.float16).astype(np.float64)
    if element == "bf16":
        return (raw.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
    if element == "tf32":
        return (raw & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)
    if element in _FP8:
        return _FP8[element][raw]
    if element in ("s8", "u8"):
        return raw.view(f"{'i' if element == 's8' else 'u'}1").astype(np.int32)
    return raw.view({"f32": np.float32, "f64": np.float64, "s32": np.int32}[element])


def terms(value: np.ndarray, smallest: float) -> Terms:
    """Split off exponents; below `smallest`, the format's least normal number, the exponent stays."""
    value = value.astype(np.float64, copy=False)
    power = (value.view(np.int64) & _EXPONENT).view(np.float64)
    np.maximum(power, smallest * (power > 0), out=power)
    return Terms(value, power)


def cut_sum(x: Terms, y: Terms, c: Terms) -> np.ndarray:
    """Sum over k of x[k, i] * y[k, j] plus c[i, j], all cut to 25 bits below the largest exponent.

    x: (k, rows, warps), y: (k, columns, warps), c and the result: (rows, columns, warps).
    """
    top = c.power.copy()
    product = np.empty_like(top)
    for left, right in zip(x.power, y.power, strict=True):
        np.multiply(left[:, None], right[None], out=product)
        np.maximum(top, product, out=top)
    top[top == 0] = 1
    scale = FRACTION / top
    total = np.trunc(c.value * scale)
    for left, right in zip(x.value, y.value, strict=True):
        np.multiply(left[:, None], right[None], out=product)
        product *= scale
        np.trunc(product, out=product)
        total += product
    total /= scale
    total += 0.0  # -0 becomes +0
    special = ~np.isfinite(total)
    if special.any():
        total[special] = (c.value + np.einsum("krw,kcw->rcw", x.value, y.value))[special]
    return total


def to_float32(exact: np.ndarray) -> np.ndarray:
    """float64 to float32, cut toward zero; from 2**128 on infinity."""
    cut = (exact.view(np.int64) & _LOW).view(np.float64)
    tiny = np.absolute(exact) < 2.0**-126
    if tiny.any():
        cut = np.where(tiny, np.trunc(exact * 2.0**149) * 2.0**-149, cut)
    special = np.isnan(exact)
    return quiet(
        np.where(special, exact, cut).astype(np.float32) if special.any() else cut.astype(np.float32)
    )


def _floats(form: Form, x: np.ndarray, y: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Floating-point forms; result as float32 or float16."""
    d_type, a_type, b_type, c_type = form.types
    wide = "f32" in (c_type, d_type)
    x, y = terms(x, _SMALLEST[a_type]), terms(y, _SMALLEST[b_type])
    if form.swapped:
        x, y = y, x
    start = np.zeros_like(c, np.float64) if form.late else c
    for step in form.steps:
        chosen = list(step)
        accumulator = terms(start, _SMALLEST["f32" if wide else "f16"])
        exact = cut_sum(*(Terms(t.value[chosen], t.power[chosen]) for t in (x, y)), accumulator)
        start = to_float32(exact) if wide else f16_round(exact)
    if form.late:
        start = quiet(start + c.astype(np.float32)) if wide else f16_round(start.astype(np.float32) + c)
    return f16_round(start) if wide and d_type == "f16" else start


def _integers(form: Form, x: np.ndarray, y: np.ndarray, c: np.ndarray) -> np.ndarray:
    if form.swapped:
        x, y = y, x
    total = np.zeros(c.shape, np.int32)
    for left, right in zip(x, y, strict=True):
        total += left[:, None] * right[None]
    if form.satfinite:
        return np.clip(c.astype(np.int64) + total, -(2**31), 2**31 - 1).astype(np.int32)
    return c + total


def _doubles(form: Form, x: np.ndarray, y: np.ndarray, c: np.ndarray) -> np.ndarray:
    fma = TABLE[f"fma.{form.rounding}.f64"].function
    for left, right in zip(x, y, strict=True):
        c = fma(*np.broadcast_arrays(left[:, None], right[None]), c)
    return c


def multiply(
    form: Form, a: Sequence[np.ndarray], b: Sequence[np.ndarray], c: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """D = A * B + C on registers of shape (warps, 32); all lanes of a warp take part."""
    warps = len(a[0])
    parts = [
        _multiply(form, *([r[i : i + SLICE] for r in rs] for rs in (a, b, c))) for i in range(0, warps, SLICE)
    ]
    return parts[0] if len(parts) == 1 else [np.concatenate(pieces) for pieces in zip(*parts, strict=True)]


def _multiply(form: Form, a: list[np.ndarray], b: list[np.ndarray], c: list[np.ndarray]) -> list[np.ndarray]:
    d_type, a_type, b_type, c_type = form.types
    x = decode(gather(form.a, a, by_column=True), a_type)
    y = decode(gather(form.b, b, by_column=True), b_type)
    start = decode(gather(form.c, c), c_type)
    compute = {"s32": _integers, "f64": _doubles}.get(d_type, _floats)
    result = np.ascontiguousarray(compute(form, x, y, start))
    return scatter(form.d, result, np.dtype(np.uint32) if d_type == "f16" else result.dtype)
