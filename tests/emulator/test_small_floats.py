"""Conversions of cuda_fp16.h, cuda_bf16.h, cuda_fp8.h and cuda_fp4.h in kernels, bit for bit with ml_dtypes.

Every 8- and 16-bit code is tried; float32 by every upper half with lower halves on ties, beside them and
between. ml_dtypes overflows to infinity or NaN where these conversions clamp, so it is given clamped values.
"""

import ml_dtypes
import numpy as np
import pytest

from course_lib.emulator import RawKernel

E4M3, E5M2, E2M1 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float4_e2m1fn
BF16, E8M0 = ml_dtypes.bfloat16, ml_dtypes.float8_e8m0fnu
LARGEST = {E4M3: 448.0, E5M2: 57344.0, E2M1: 6.0}
HEADERS = "".join(f"#include <cuda_{name}.h>\n" for name in ("fp16", "bf16", "fp8", "fp4"))
CODES, ALL16 = np.arange(256, dtype=np.uint8), np.arange(1 << 16, dtype=np.uint16)


def run(result: str, operand: str, body: str, x: np.ndarray, dtype: type, per_thread: int = 1) -> np.ndarray:
    """`body` is an expression of `x`, one for each thread; `per_thread` elements of the array are one x."""
    source = HEADERS + (
        f'extern "C" __global__ void f({result}* out, const {operand}* in, int n) {{\n'
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        f"    if (i < n) {{ {operand} x = in[i]; out[i] = {body}; }}\n}}\n"
    )
    threads = x.size // per_thread
    out = np.zeros(threads, dtype)
    RawKernel(source, "f", options=("-std=c++17",))(
        (-(-threads // 256),), (256,), (out, x, np.int32(threads))
    )
    return out


def floats() -> np.ndarray:
    """float32 with every upper half; lower halves 0, tie, beside the tie, and two more."""
    lower = np.array([0, 0x7FFF, 0x8000, 0x8001, 0xFFFF, 0x1234], np.uint32)
    return (ALL16.astype(np.uint32)[:, None] << 16 | lower).ravel().view(np.float32)


def narrowed(x: np.ndarray, form: type) -> np.ndarray:
    """What a clamping conversion must give, by ml_dtypes, as codes; NaN stays out."""
    size = np.minimum(np.abs(x.astype(np.float64)), LARGEST[form])
    return np.copysign(size, x).astype(np.float32).astype(form).view(np.uint8)


@pytest.mark.parametrize(("form", "name"), [(E4M3, "__NV_E4M3"), (E5M2, "__NV_E5M2")])
class TestEightBits:
    def test_every_code_to_half(self, form, name):
        body = f"(unsigned short)__half_raw(__nv_cvt_fp8_to_halfraw(x, {name})).x"
        got = run("unsigned short", "unsigned char", body, CODES, np.uint16).view(np.float16)
        np.testing.assert_array_equal(got, CODES.view(form).astype(np.float16))

    def test_every_pair_of_codes_to_half2(self, form, name):
        body = f"__half2_raw(__nv_cvt_fp8x2_to_halfraw2(x, {name})).x | " + (
            f"__half2_raw(__nv_cvt_fp8x2_to_halfraw2(x, {name})).y << 16"
        )
        got = run("unsigned", "unsigned short", body, ALL16, np.uint32).view(np.float16)
        np.testing.assert_array_equal(got, ALL16.view(form).astype(np.float16))

    def test_every_half(self, form, name):
        half = ALL16.view(np.float16)
        body = f"__nv_cvt_halfraw_to_fp8(x, __NV_SATFINITE, {name})"
        got = run("unsigned char", "__half_raw", body, ALL16, np.uint8)
        known = ~np.isnan(half)
        np.testing.assert_array_equal(got[known], narrowed(half[known], form))
        assert np.isnan(got[~known].view(form).astype(float)).all()

    def test_floats_with_every_upper_half(self, form, name):
        x = floats()
        known = ~np.isnan(x)
        got = run("unsigned char", "float", f"__nv_cvt_float_to_fp8(x, __NV_SATFINITE, {name})", x, np.uint8)
        np.testing.assert_array_equal(got[known], narrowed(x[known], form))
        assert np.isnan(got[~known].view(form).astype(float)).all()

    def test_pairs_of_floats(self, form, name):
        x = floats()[~np.isnan(floats())]
        x = x[: x.size // 2 * 2]
        body = f"__nv_cvt_float2_to_fp8x2(x, __NV_SATFINITE, {name})"
        got = run("unsigned short", "float2", body, x, np.uint16, per_thread=2)
        np.testing.assert_array_equal(got.view(np.uint8), narrowed(x, form))


def test_every_bf16_code_to_float():
    got = run("float", "__nv_bfloat16", "__bfloat162float(x)", ALL16, np.float32)
    np.testing.assert_array_equal(got, ALL16.view(BF16).astype(np.float32))


@pytest.mark.parametrize(("body", "result", "form"), [
    ("__float2bfloat16_rn(x)", "__nv_bfloat16", BF16),
    ("__half_as_ushort(__float2half_rn(x))", "unsigned short", np.float16),
])  # fmt: skip
def test_floats_to_sixteen_bits(body, result, form):
    x = floats()
    known = ~np.isnan(x)
    got = run(result, "float", body, x, np.uint16)
    with np.errstate(over="ignore"):
        expected = x[known].astype(form).view(np.uint16)
    np.testing.assert_array_equal(got[known], expected)
    assert np.isnan(got[~known].view(form).astype(float)).all()


@pytest.mark.parametrize(("function", "operation"), [("__hadd", np.add), ("__hmul", np.multiply)])
@pytest.mark.parametrize("other", [1.0, -0.3, 3e-39, 1e38])
def test_bf16_arithmetic_with_every_code(function, operation, other):
    """ml_dtypes rounds the float32 result; a sum or product of two bf16 rounds the same way twice."""
    y = float(np.float32(other).astype(BF16))
    body = f"{function}(x, __float2bfloat16({y!r}f))"
    got = run("__nv_bfloat16", "__nv_bfloat16", body, ALL16, np.uint16).view(BF16).astype(np.float32)
    with np.errstate(all="ignore"):
        wide = operation(ALL16.view(BF16).astype(np.float64), float(np.float32(y)))
        expected = wide.astype(np.float32).astype(BF16).astype(np.float32)
    np.testing.assert_array_equal(got, expected)


def test_every_code_of_four_bits_to_half():
    body = "(unsigned short)__half_raw(__nv_cvt_fp4_to_halfraw(x, __NV_E2M1)).x"
    got = run("unsigned short", "unsigned char", body, CODES[:16], np.uint16).view(np.float16)
    np.testing.assert_array_equal(got, CODES[:16].view(E2M1).astype(np.float16))


def test_floats_to_four_bits():
    x = floats()
    x = x[~np.isnan(x)]
    got = run("unsigned char", "float", "__nv_cvt_float_to_fp4(x, __NV_E2M1, cudaRoundNearest)", x, np.uint8)
    np.testing.assert_array_equal(got, narrowed(x, E2M1))


def test_every_scale_to_a_float():
    body = "__bfloat162float(__nv_bfloat16(__nv_cvt_e8m0_to_bf16raw(x)))"
    got = run("float", "unsigned char", body, CODES, np.float32)
    np.testing.assert_array_equal(got, CODES.view(E8M0).astype(np.float32))
