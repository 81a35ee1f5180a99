"""Floating point as learners use it: math functions, rounding, conversions, half precision, against NumPy."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from .cuda import run

RNG = np.random.default_rng(17)

# -- floating point ----------------------------------------------------------------

SPECIAL = [0.0, -0.0, 1e-30, 1e30, 0.5, 1.0, 2.0, -1.0]
X = np.concatenate([np.linspace(-20, 20, 100), RNG.standard_normal(20) * 1e3, SPECIAL])
DOUBLE = {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1,
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh,
    "cbrt": np.cbrt, "erf": None, "fabs": np.abs,
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "rint": np.rint, "round": None,
}  # fmt: skip
POSITIVE = {
    "sqrt": np.sqrt,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "lgamma": None,
}
EXACT = ("fabs", "floor", "ceil", "trunc", "rint", "round", "sqrt")
BY_ELEMENT = {
    "erf": math.erf,
    "lgamma": math.lgamma,
    "round": lambda x: math.copysign(math.floor(abs(x) + 0.5), x),
}


def reference(name: str, function: Callable | None, x: np.ndarray) -> np.ndarray:
    if function is not None:
        return function(x)
    return np.array([BY_ELEMENT[name](value) for value in x.tolist()])


@pytest.fixture(scope="module")
def math_rows() -> dict[tuple[str, str], np.ndarray]:
    """(function, type) -> results for all of X, positive arguments where needed."""
    found = {}
    names = [*DOUBLE, *POSITIVE]
    for kind, suffix in (("double", ""), ("float", "f")):
        calls = [f"{name}{suffix}({'p' if name in POSITIVE else 'x'})" for name in names]
        rows = "\n".join(f"out[{k} * 128 + i] = {call};" for k, call in enumerate(calls))
        dtype = np.dtype(kind if kind == "double" else "float32")
        x = X.astype(dtype)
        body = f"int i = threadIdx.x; {kind} x = in[i], p = fabs(x) + {kind}(1e-3); {rows}"
        parameters = f"{kind} *out, const {kind} *in"
        out = run(body, np.zeros(len(names) * 128, dtype), x, parameters=parameters, block=128)
        for name, row in zip(names, out.reshape(-1, 128), strict=True):
            found[name, kind] = row
    return found


@pytest.mark.parametrize("name", [*DOUBLE, *POSITIVE])
@pytest.mark.parametrize("kind", ["double", "float"])
def test_math_functions(name: str, kind: str, math_rows: dict) -> None:
    """Bounds: a few ulp (CUDA C++ Programming Guide, "Mathematical Functions"), more at lgamma's zeros."""
    dtype = np.float64 if kind == "double" else np.float32
    x = X.astype(dtype)
    if name in POSITIVE:
        x = np.abs(x) + dtype(1e-3)
    with np.errstate(all="ignore"):
        wanted = reference(name, (DOUBLE | POSITIVE)[name], x.astype(np.float64)).astype(dtype)
    got = math_rows[name, kind]
    if name in EXACT:
        np.testing.assert_array_equal(got, wanted)
    else:
        ulps = 8 if name != "lgamma" else 64
        eps = np.finfo(dtype).eps
        np.testing.assert_allclose(got, wanted, rtol=ulps * eps, atol=4 * eps if name == "lgamma" else 1e-37)


def test_functions_of_two_arguments_and_special_values() -> None:
    body = """
      int i = threadIdx.x; double x = in[i], y = in[(i * 5 + 7) % 128], *o = out + 10 * i;
      o[0] = fmod(x, y); o[1] = atan2(x, y); o[2] = hypot(x, y); o[3] = fmax(x, y); o[4] = copysign(x, y);
      o[5] = fdim(x, y); o[6] = nextafter(x, y); o[7] = ldexp(x, i - 60);
      int e; o[8] = frexp(x, &e) + e * 4; o[9] = pow(fabs(x), y / 100);"""
    out = run(body, np.zeros(1280), X, parameters="double *out, const double *in", block=128).reshape(128, 10)
    x, y, i = X, X[(np.arange(128) * 5 + 7) % 128], np.arange(128)
    with np.errstate(all="ignore"):
        mantissa, exponent = np.frexp(x)
        exact = [np.fmod(x, y), None, None, np.fmax(x, y), np.copysign(x, y), np.maximum(x - y, 0),
                 np.nextafter(x, y), np.ldexp(x, i - 60), mantissa + 4 * exponent]  # fmt: skip
        near = {1: np.arctan2(x, y), 2: np.hypot(x, y), 9: np.abs(x) ** (y / 100)}
    for k, wanted in enumerate(exact):
        if wanted is not None:
            np.testing.assert_array_equal(out[:, k], wanted, err_msg=str(k))
    for k, wanted in near.items():
        np.testing.assert_allclose(out[:, k], wanted, rtol=1e-14, err_msg=str(k))


def test_directed_rounding_against_exact_fractions() -> None:
    body = """
      int i = threadIdx.x; float a = in[i], b = in[(i + 37) % 128], *o = out + 12 * i;
      o[0] = __fadd_rn(a, b); o[1] = __fadd_rz(a, b); o[2] = __fadd_ru(a, b); o[3] = __fadd_rd(a, b);
      o[4] = __fmul_rn(a, b); o[5] = __fmul_rz(a, b); o[6] = __fmul_ru(a, b); o[7] = __fmul_rd(a, b);
      o[8] = __fdiv_rn(a, b); o[9] = __fdiv_rz(a, b); o[10] = __fdiv_ru(a, b); o[11] = __fdiv_rd(a, b);"""
    data = np.where(RNG.random(128) < 0.5, RNG.standard_normal(128), RNG.standard_normal(128) * 1e6).astype(
        np.float32
    )
    out = run(body, np.zeros(12 * 128, np.float32), data, parameters="float *out, const float *in", block=128)
    for i, row in enumerate(out.reshape(128, 12)):
        a, b = Fraction(float(data[i])), Fraction(float(data[(i + 37) % 128]))
        for k, exact in enumerate((a + b, a * b, a / b)):
            nearest, toward_zero, up, down = row[4 * k : 4 * k + 4]
            assert down <= exact <= up
            assert float(down) == float(up) or np.nextafter(down, np.float32(np.inf)) == up
            assert toward_zero == (down if exact > 0 else up)
            assert abs(Fraction(float(nearest)) - exact) == min(
                abs(Fraction(float(v)) - exact) for v in (down, up)
            )


def test_conversions_saturate() -> None:
    """PTX ISA, cvt: float to integer clamps, NaN gives 0 (or 2**63 for 64-bit results of f32, f64)."""
    values = np.array(
        [0.5, 1.5, -1.5, 2.5, 3e9, -3e9, 1e20, -1e20, np.inf, -np.inf, np.nan, 2**31], np.float32
    )
    body = """
      int i = threadIdx.x; float x = in[i]; long long *o = out + 6 * i;
      o[0] = (int)x; o[1] = (unsigned)x; o[2] = (long long)x;
      o[3] = __float2int_rn(x); o[4] = __float2int_rd(x); o[5] = __float2int_ru(x);"""
    out = run(
        body, np.zeros(6 * 12, np.int64), values, parameters="long long *out, const float *in", block=12
    )

    def clamp(value: float, low: int, high: int, nan: int = 0) -> int:
        if math.isnan(value):
            return nan
        return low if value <= low else high if value >= high else int(value)

    for value, row in zip(values.tolist(), out.reshape(12, 6).tolist(), strict=True):
        whole = value if math.isinf(value) or math.isnan(value) else float(math.trunc(value))
        rounded = [f(value) if math.isfinite(value) else value for f in (round, math.floor, math.ceil)]
        wanted = [clamp(whole, -(2**31), 2**31 - 1), clamp(whole, 0, 2**32 - 1),
                  clamp(whole, -(2**63), 2**63 - 1, -(2**63))]  # fmt: skip
        assert row == wanted + [clamp(r, -(2**31), 2**31 - 1) for r in rounded], value


# -- half precision ----------------------------------------------------------------


def test_half2_arithmetic() -> None:
    a, b = (RNG.standard_normal((64, 2)).astype(np.float16) for _ in range(2))
    body = """
      int i = threadIdx.x; __half2 x = a[i], y = b[i], *o = out + 8 * i;
      o[0] = __hadd2(x, y); o[1] = x * y; o[2] = __hfma2(x, y, x); o[3] = __hmax2(x, y); o[4] = __hneg2(x);
      o[5] = __lowhigh2highlow(x); o[6] = __floats2half2_rn(__low2float(x) / 3, __high2float(y));
      o[7] = __hgt2(x, y);"""
    parameters, before = "__half2 *out, const __half2 *a, const __half2 *b", "#include <cuda_fp16.h>"
    out = run(body, np.zeros((64, 8, 2), np.float16), a, b, parameters=parameters, block=64, before=before)
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    third = np.stack([(a[:, 0].astype(np.float32) / np.float32(3)).astype(np.float16), b[:, 1]], 1)
    fused = (wide_a * wide_b + wide_a).astype(np.float16)
    columns = [a + b, a * b, fused, np.maximum(a, b), -a, a[:, ::-1], third,
               (a > b).astype(np.float16)]  # fmt: skip
    for k, wanted in enumerate(columns):
        np.testing.assert_array_equal(out[:, k], wanted, err_msg=str(k))


def test_bfloat16() -> None:
    values = RNG.standard_normal(64).astype(np.float32)
    body = """
      int i = threadIdx.x; __nv_bfloat16 x = __float2bfloat16(in[i]), y = __float2bfloat16(in[63 - i]);
      out[i] = __bfloat162float(x); out[64 + i] = __bfloat162float(x + y); out[128 + i] = x < y;"""
    out = run(body, np.zeros(192, np.float32), values, parameters="float *out, const float *in", block=64,
              before="#include <cuda_bf16.h>").reshape(3, 64)  # fmt: skip

    def rounded(x: np.ndarray) -> np.ndarray:
        bits = x.astype(np.float32).view(np.uint32)
        return (bits + 0x7FFF + (bits >> 16 & 1) & 0xFFFF0000).astype(np.uint32).view(np.float32)

    x, y = rounded(values), rounded(values[::-1])
    np.testing.assert_array_equal(out, np.stack([x, rounded(x + y), (x < y).astype(np.float32)]))
