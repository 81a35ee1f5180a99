"""Chapter 12, low precision: the formats, how values are rounded to them, and what is lost.

The formats of NumPy and `ml_dtypes` carry the values; only TF32, which has no memory format of its own, is
done by hand. MXFP8 and MXFP4: OCP Microscaling Formats (MX) Specification 1.0, sections 5 and 6.3.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import ml_dtypes
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..gpus import Gpu

GROUP = 32  # values that share a scale
BIAS = 127  # of an e8m0 scale: code c is 2 to the power c - 127


@dataclass(frozen=True)
class Format:
    """A floating-point format: bits of exponent and fraction; `stored` in memory as a type of NumPy's.

    `grouped`: 32 values share a scale of 8 bits. `peak`: the field of `Compute` with the arithmetic's peak.
    `since`: compute capability of the first tensor cores that take it.
    """

    name: str
    exponent: int
    fraction: int
    stored: type
    peak: str
    since: float
    grouped: bool = False

    @property
    def bits(self) -> int:
        """Bits of a value, without its part of a scale."""
        return 1 + self.exponent + self.fraction

    @property
    def bytes(self) -> float:
        """Bytes in memory of a value, with its part of a scale."""
        return (4 if self.bits == 19 else self.bits / 8) + self.grouped / GROUP

    @property
    def largest(self) -> float:
        """The largest finite value, without a scale."""
        return float(ml_dtypes.finfo(self.stored).max) if self.name != "tf32" else 2.0**128 * (1 - 2.0**-11)

    @property
    def least_normal(self) -> float:
        """The smallest value with all bits of its fraction."""
        return float(ml_dtypes.finfo(self.stored).smallest_normal)

    @property
    def least(self) -> float:
        """The smallest value above 0."""
        return self.least_normal * 2.0**-self.fraction

    @property
    def step(self) -> float:
        """The distance from 1 to the next value."""
        return 2.0**-self.fraction

    def tflops(self, gpu: Gpu) -> float | None:
        """Peak of the GPU's arithmetic in this format, dense; None if its tensor cores do not take it."""
        if self.since > float(gpu.architecture.capability):
            return None
        return getattr(gpu.compute, self.peak)


_E4M3, _E5M2 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
_ALL = (
    Format("fp32", 8, 23, np.float32, "fp32_tflops", 0),
    Format("tf32", 8, 10, np.float32, "tf32_tensor_tflops", 8.0),
    Format("bf16", 8, 7, ml_dtypes.bfloat16, "fp16_tensor_tflops", 8.0),
    Format("fp16", 5, 10, np.float16, "fp16_tensor_tflops", 7.0),
    Format("e5m2", 5, 2, _E5M2, "fp8_tensor_tflops", 8.9),
    Format("e4m3", 4, 3, _E4M3, "fp8_tensor_tflops", 8.9),
    Format("mxfp8", 4, 3, _E4M3, "fp8_tensor_tflops", 10.0, grouped=True),
    Format("mxfp4", 2, 1, ml_dtypes.float4_e2m1fn, "fp4_tensor_tflops", 10.0, grouped=True),
)
FORMATS: Mapping[str, Format] = {form.name: form for form in _ALL}


def rounded(x: ArrayLike, form: str, clamp: bool = False) -> NDArray[np.float64]:
    """float32 values to the nearest of the format, back as float64; ties go to even.

    `clamp`: what is too large becomes the largest finite value, as in `cvt.rn.satfinite`. Otherwise it
    becomes infinity, or NaN in e4m3, which has no infinity. Grouped formats take their scale from each 32
    values along the last axis and always clamp.
    """
    chosen, x = FORMATS[form], np.asarray(x, np.float32)
    if chosen.grouped:
        return dequantised(*quantised(x, form), form)
    if form == "tf32":
        return _tf32(x).astype(np.float64)
    if clamp:
        x = np.clip(x, -chosen.largest, chosen.largest)
    with np.errstate(over="ignore"):
        return x.astype(chosen.stored).astype(np.float64)


def _tf32(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """`cvt.rna.tf32.f32`: 10 bits of fraction, ties away from 0."""
    bits = x.view(np.uint32)
    return ((bits + np.uint32(1 << 12)) & np.uint32(0xFFFFE000)).view(np.float32)


# -- a scale for each 32 values --------------------------------------------------------------


def scales_of(x: NDArray[np.float32], form: str) -> NDArray[np.uint8]:
    """The e8m0 code of each group: the largest magnitude's exponent less that of the format's largest."""
    most = np.abs(x.reshape(*x.shape[:-1], -1, GROUP)).max(-1)
    top = np.frexp(FORMATS[form].largest)[1] - 1
    exponent = np.frexp(most)[1] - 1 - top
    return np.where(most > 0, np.clip(exponent + BIAS, 0, 254), 0).astype(np.uint8)


def quantised(x: NDArray[np.float32], form: str) -> tuple[NDArray, NDArray[np.uint8]]:
    """Codes, shape of `x` (its last axis a multiple of 32), and scales, one for each 32."""
    chosen, scales = FORMATS[form], scales_of(x, form)
    grouped = x.reshape(*scales.shape, GROUP).astype(np.float64)
    small = np.ldexp(grouped, BIAS - scales.astype(np.int64)[..., None])
    inside = np.clip(small, -chosen.largest, chosen.largest).astype(np.float32)
    return inside.astype(chosen.stored).reshape(x.shape), scales


def dequantised(codes: NDArray, scales: NDArray[np.uint8], form: str) -> NDArray[np.float64]:
    """Values of codes and scales, exactly."""
    values = codes.astype(FORMATS[form].stored).astype(np.float64).reshape(*scales.shape, GROUP)
    return np.ldexp(values, scales.astype(np.int64)[..., None] - BIAS).reshape(codes.shape)


# -- all values of a format --------------------------------------------------------------------


@cache
def values(form: str) -> NDArray[np.float64]:
    """Every finite value of a format of up to 16 bits, from the least, without a scale."""
    chosen = FORMATS[form]
    codes = np.arange(1 << chosen.bits).astype(np.uint16 if chosen.bits > 8 else np.uint8)
    with np.errstate(invalid="ignore"):  # codes of NaN
        every = codes.view(chosen.stored).astype(np.float64)
    return np.unique(every[np.isfinite(every)])


# -- errors --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Loss:
    """What rounding did: relative error of the whole (root mean square), worst of one value that stayed
    finite and normal, and the shares that became infinite or NaN, and 0."""

    whole: float
    worst: float
    lost: float
    zero: float


def loss(x: NDArray[np.float32], form: str, clamp: bool = False) -> Loss:
    """Compare values with what the format makes of them, in float64."""
    exact, kept = x.astype(np.float64), rounded(x, form, clamp)
    finite = np.isfinite(kept)
    error = np.abs(kept - exact)
    whole = np.sqrt((error[finite] ** 2).sum() / (exact[finite] ** 2).sum())
    normal = finite & (kept != 0) & (np.abs(exact) >= FORMATS[form].least_normal)
    normal |= finite & (exact != 0) & (kept != 0) & FORMATS[form].grouped
    worst = (error[normal] / np.abs(exact[normal])).max(initial=0)
    return Loss(float(whole), float(worst), float((~finite).mean()), float((kept == 0).mean()))


@cache
def product_error(form: str, depth: int) -> float:
    """Relative error (root mean square) of a 64 x 64 product of normal values along `depth`.

    Both factors are rounded to the format; the sums are in float64, so that rounding alone is seen.
    """
    rng = np.random.default_rng(12)
    a, b = (rng.standard_normal((64, depth)).astype(np.float32) for _ in "ab")
    exact = a.astype(np.float64) @ b.astype(np.float64).T
    error = rounded(a, form, clamp=True) @ rounded(b, form, clamp=True).T - exact
    return float(np.sqrt((error**2).mean() / (exact**2).mean()))
