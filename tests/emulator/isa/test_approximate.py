"""Approximations: correctly rounded, hence inside the bounds of the ISA."""

import math

import numpy as np
import pytest

from .reference import bits32, bits64, f32, f64

RNG = np.random.default_rng(7)
FUNCTIONS = {
    "rcp": lambda x: 1 / x,
    "sqrt": math.sqrt,
    "rsqrt": lambda x: 1 / math.sqrt(x),
    "ex2": lambda x: 2.0**x,
    "lg2": math.log2,
    "sin": math.sin,
    "cos": math.cos,
    "tanh": math.tanh,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_rounded_once(run, name):
    x = (RNG.random(2000) * 6 + 1e-3).astype(np.float32)
    expected = np.array([FUNCTIONS[name](v) for v in x.astype(float).tolist()]).astype(np.float32)
    assert bits32(run(f"{name}.approx.f32", x)) == bits32(expected)


@pytest.mark.parametrize(
    ("opcode", "x", "expected"),
    [
        ("ex2.approx.ftz.f32", -math.inf, 0.0),
        ("ex2.approx.ftz.f32", 3.0, 8.0),
        ("ex2.approx.ftz.f32", 128.0, math.inf),
        ("ex2.approx.f32", -140.0, 2.0**-140),
        ("ex2.approx.ftz.f32", -140.0, 0.0),
        ("ex2.approx.ftz.f32", -1e-40, 1.0),
        ("lg2.approx.ftz.f32", 0.0, -math.inf),
        ("lg2.approx.ftz.f32", 1e-40, -math.inf),
        ("lg2.approx.f32", 2.0**-140, -140.0),
        ("lg2.approx.f32", 1.0, 0.0),
        ("rcp.approx.ftz.f32", -0.0, -math.inf),
        ("rcp.approx.ftz.f32", 1e-40, math.inf),
        ("rcp.approx.ftz.f32", -math.inf, -0.0),
        ("rsqrt.approx.f32", -0.0, -math.inf),
        ("rsqrt.approx.f32", 4.0, 0.5),
        ("sqrt.approx.f32", -0.0, -0.0),
        ("sin.approx.f32", -0.0, -0.0),
        ("cos.approx.f32", 0.0, 1.0),
        ("tanh.approx.f32", -math.inf, -1.0),
    ],
)
def test_special_values(run, opcode, x, expected):
    assert bits32(run(opcode, x)) == bits32(expected)


@pytest.mark.parametrize(
    ("opcode", "x"),
    [
        ("lg2.approx.f32", -1.0),
        ("sqrt.approx.f32", -1.0),
        ("rsqrt.approx.f32", -1.0),
        ("sin.approx.f32", math.inf),
    ],
)
def test_nan(run, opcode, x):
    assert bits32(run(opcode, x)) == [0x7FFFFFFF]


def test_division(run):
    assert run("div.approx.f32", [6.0, 1.0], [3.0, 8.0]).tolist() == [2.0, 0.125]
    assert run("div.full.ftz.f32", 1.0, 3.0) == np.float32(1 / 3)
    huge = 1.5 * 2.0**126
    assert bits32(run("div.approx.f32", [huge, -1.0, math.inf], huge)) == [0, 0x80000000, 0x7FFFFFFF]
    assert run("div.full.f32", huge, huge) == 1.0
    assert bits32(run("div.approx.ftz.f32", f32(1), 1.0)) == [0]


def test_gross_float64(run):
    assert bits64(run("rcp.approx.ftz.f64", f64(0x3FDB3289110F496A))) == [0x4002D34800000000]
    assert bits64(run("rcp.approx.ftz.f64", [5e-324, math.nan])) == [0x7FF0000000000000, 0x7FFFFFFF00000000]
    assert run("rcp.approx.ftz.f64", -4.0) == -0.25
    assert run("rsqrt.approx.ftz.f64", 4.0) == 0.5
    assert run("rsqrt.approx.f64", 2.0) == 1 / math.sqrt(2.0)
