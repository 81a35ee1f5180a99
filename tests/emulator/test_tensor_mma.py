"""mma.sync from CUDA source: against float64 within a bound, and bit for bit against the published rule."""

from fractions import Fraction

import numpy as np
import pytest

from course_lib.emulator import RawKernel
from course_lib.emulator.isa.matrix_form import multiply_form, tensor_operations, tensor_work
from course_lib.profile import profile

from . import tensor_cases as cases
from .tensor_sources import MMA, MMA_FORMS, shape

# exponent of the least normal number of a format
SMALLEST = {"f16": -14, "e4m3": -14, "e5m2": -14, "bf16": -126, "tf32": -126, "f32": -126, "f64": -1022}
LEAST_RESULT = {"f16": 2.0**-14, "f32": 2.0**-126, "f64": 2.0**-1022}


def run(name, arguments):
    """D of the form's kernel for the given A, B, C."""
    warps = len(arguments[0])
    RawKernel(MMA, f"mma_{name}")((-(-warps // 4),), (128,), tuple(arguments))
    return arguments[3]


@pytest.mark.parametrize(("name", "kind"), cases.every_mma())
def test_float64_within_the_bound(name, kind):
    form, a_type, _, c_type, *more = MMA_FORMS[name]
    k = shape(form)[2]
    arguments = cases.mma_arguments(name, kind)
    got = cases.values_of(run(name, arguments), c_type)
    exact, size = cases.mma_reference(name, arguments)
    if c_type == "s32":
        exact = np.clip(exact, -(2**31), 2**31 - 1) if more else (exact + 2**31) % 2**32 - 2**31
        np.testing.assert_array_equal(got, exact)
        return
    assert np.array_equal(np.isnan(got), np.isnan(exact))
    infinite = np.isinf(exact)
    np.testing.assert_array_equal(got[infinite], exact[infinite])
    checked = np.isfinite(exact) & (k * size < {"f16": 65504, "f32": 2.0**127, "f64": np.inf}[c_type])
    last = {"f16": 2.0**-10, "f32": 2.0**-23, "f64": 2.0**-52}[c_type]  # unit in the last place of 1
    bound = (k + 1) * size * min(2.0**-25, last) + last * np.maximum(np.abs(exact), LEAST_RESULT[c_type])
    if a_type in ("e4m3", "e5m2"):  # two steps, and C by an addition of its own
        bound = 3 * (bound + last * k * size)
    with np.errstate(invalid="ignore"):
        assert (np.abs(got - exact)[checked] <= bound[checked]).all()


# -- the rule, in exact arithmetic ------------------------------------------------------


def leading(value: Fraction, smallest: int) -> int:
    """Exponent of the leading bit, not below `smallest`."""
    size, exponent = abs(value), 0
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    return max(exponent, smallest)


def cut(value: Fraction, last: int) -> Fraction:
    """Toward zero, to a multiple of 2**last."""
    scaled = value / Fraction(2) ** last
    whole = abs(scaled.numerator) // scaled.denominator
    return (whole if scaled >= 0 else -whole) * Fraction(2) ** last


def fused(x, y, c, smallest, smallest_c) -> Fraction:
    """Products and c, each cut 25 bits below the largest exponent, then added exactly."""
    terms = [(Fraction(p) * Fraction(q), leading(Fraction(p), smallest) + leading(Fraction(q), smallest))
             for p, q in zip(x, y, strict=True) if p and q]  # fmt: skip
    if c:
        terms.append((Fraction(c), leading(Fraction(c), smallest_c)))
    if not terms:
        return Fraction(0)
    top = max(exponent for _, exponent in terms)
    return sum((cut(value, top - 25) for value, _ in terms), Fraction(0))


def as_float32(value: Fraction) -> np.float32:
    """Cut to 24 bits."""
    return np.float32(float(cut(value, leading(value, -126) - 23))) if value else np.float32(0)


def as_float16(value: Fraction) -> np.float16:
    """Rounded to nearest even, to 11 bits."""
    if not value:
        return np.float16(0)
    step = Fraction(2) ** (leading(value, -14) - 10)
    rounded = round(value / step) * step
    return (
        np.float16(float(rounded)) if abs(rounded) < 65536 else np.float16(np.inf if rounded > 0 else -np.inf)
    )


@pytest.mark.parametrize("kind", ["normal", "wide"])
@pytest.mark.parametrize("name", [n for n, f in MMA_FORMS.items() if f[3] in ("f16", "f32")])
def test_bits_follow_the_published_rule(name, kind):
    form, a_type, b_type, c_type, *_ = MMA_FORMS[name]
    k = shape(form)[2]
    arguments = cases.mma_arguments(name, kind, 4)
    got = run(name, arguments)
    x, y, z = (
        cases.values_of(raw, e) for raw, e in zip(arguments[:3], (a_type, b_type, c_type), strict=True)
    )
    smallest, round_once = SMALLEST[a_type], as_float32 if c_type == "f32" else as_float16
    for w, i, j in [(w, i, j) for w in range(4) for i in (0, 5, 15) for j in (0, 3, 7)]:
        first, second, c = x[w, i], y[w, j], z[w, i, j]
        if a_type in ("e4m3", "e5m2"):
            lower, upper = ([n for n in range(k) if n % 4 // 2 == half] for half in (0, 1))
            result = round_once(fused(first[lower], second[lower], 0.0, smallest, SMALLEST[c_type]))
            if np.isfinite(result):
                total = fused(first[upper], second[upper], float(result), smallest, SMALLEST[c_type])
                result = round_once(total)
            with np.errstate(over="ignore"):
                wanted = result + result.dtype.type(c)
        else:
            wanted = round_once(fused(first, second, c, smallest, SMALLEST[c_type]))
        assert got[w, i, j] == wanted.view(got.dtype), (w, i, j)


# -- known sums -----------------------------------------------------------------------


def half_problem(first, second, c):
    """One row of A, one column of B and one C of an m16n8k16 problem, all else zero."""
    a, b = np.zeros((4, 16, 16), np.float16), np.zeros((4, 8, 16), np.float16)
    start = np.zeros((4, 16, 8), np.float32)
    a[0, 0, : len(first)], b[0, 0, : len(second)], start[0, 0, 0] = first, second, c
    arguments = [a.view(np.uint16), b.view(np.uint16), start.view(np.uint32), np.zeros((4, 16, 8), np.uint32)]
    return run("f16_k16", arguments).view(np.float32)[0, 0, 0]


@pytest.mark.parametrize(
    ("first", "second", "c", "wanted"),
    [
        ([1] * 16, [1] * 16, 0.5, 16.5),
        (
            [2.0**-12] * 16,
            [2.0**-13] * 16,
            1.0,
            1 + 2.0**-21,
        ),  # 16 * 2**-25: two bits beyond float32 are kept
        ([2.0**-13] * 16, [2.0**-13] * 16, 1.0, 1.0),  # 16 * 2**-26: cut off one by one, though they add up
        ([1, 2.0**-12], [1, 2.0**-12], 0, 1.0),  # 1 + 2**-24 is cut, not rounded
        ([1, 2.0**-12, 2.0**-12], [1, 2.0**-12, 2.0**-12], 0, 1 + 2.0**-23),
        ([-1, -(2.0**-12)], [1, 2.0**-12], 0, -1.0),  # toward zero on both sides
        (
            [2.0**14, 1, -(2.0**14)],
            [1, 1, 1],
            2.0**-12,
            1.0,
        ),  # exact cancellation; 2**-12 is below 2**14 / 2**25
        ([2.0**-24], [2.0**-24], 0, 2.0**-48),  # subnormal factors count
        ([60000] * 16, [60000] * 16, 0, 16 * 60000.0**2),
    ],
)
def test_sums_by_hand(first, second, c, wanted):
    assert half_problem(first, second, c) == np.float32(wanted)


def test_infinities_and_nan():
    assert half_problem([np.inf], [1], 0) == np.inf
    assert half_problem([np.inf, 1], [1, -np.inf], 0).view(np.uint32) == 0x7FFFFFFF
    assert half_problem([np.inf], [0], 0).view(np.uint32) == 0x7FFFFFFF
    assert half_problem([], [], -0.0).view(np.uint32) == 0


# -- forms ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("opcode", "operations"),
    [
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 4096),
        ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 2048),
        ("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.u8.s8.s32", 8192),
        ("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", 8192),
        ("wmma.mma.sync.aligned.row.col.m8n8k4.f64.f64.f64.f64.rn", 512),
        ("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", 0),
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32", 0),
        ("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", 0),
        ("fma.rn.f32", 0),
    ],
)
def test_operations_of_an_instruction(opcode, operations):
    assert tensor_operations(opcode) == operations


def test_one_register_per_tile():
    form = multiply_form("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    assert (form.a.registers, form.b.registers, form.c.registers) == (4, 2, 4)


def test_tensor_operations_are_counted():
    kernel, arguments = RawKernel(MMA, "mma_f16_k16"), cases.mma_arguments("f16_k16", "normal")
    assert profile(kernel, (2,), (128,), arguments)["course__tensor_flops.sum"] == 8 * 4096


def test_a_warp_with_missing_lanes_is_told():
    kernel, arguments = RawKernel(MMA, "mma_f16_k16"), cases.mma_arguments("f16_k16", "normal")
    p = profile(kernel, (1,), (40,), arguments)
    (found,) = [h for h in p.hazards if h.kind == "inactive lane"]
    assert found.thread == (32, 0, 0)
    assert "mma.sync" in found.message
    kernel((1,), (40,), tuple(arguments))
    exact = cases.mma_reference("f16_k16", arguments)[0]
    np.testing.assert_allclose(arguments[3].view(np.float32)[0], exact[0], rtol=1e-4, atol=1e-5)
    assert np.isnan(arguments[3].view(np.float32)[1][:2, :2]).all()


@pytest.mark.parametrize(
    ("opcode", "operations", "work"),
    [
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 4096, 4096),
        ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 2048, 4096),
        ("wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32", 4096, 8192),
        ("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", 8192, 8192),
        ("fma.rn.f32", 0, 0),
    ],
)
def test_tf32_takes_twice_as_long_as_sixteen_bits(opcode, operations, work):
    """H200 data sheet: 989 TFLOP/s for TF32 and 1,979 for FP16, both with sparsity."""
    assert (tensor_operations(opcode), tensor_work(opcode)) == (operations, work)
