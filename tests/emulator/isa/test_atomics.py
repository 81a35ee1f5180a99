"""The new memory word of every atomic operation."""

import math

import numpy as np
import pytest

from course_lib.emulator.isa import TABLE

from .reference import bits32, f32


@pytest.mark.parametrize(
    ("opcode", "old", "operands", "new"),
    [
        ("atom.add.u32", 2**32 - 1, (2,), 1),
        ("atom.add.s32", 5, (-7,), -2),
        ("atom.add.u64", 2**64 - 1, (1,), 0),
        ("atom.min.s32", 5, (-7,), -7),
        ("atom.min.u32", 5, (-7,), 5),
        ("atom.max.s64", -5, (-7,), -5),
        ("atom.max.u64", 5, (2**63,), 2**63),
        ("atom.and.b32", 0b1100, (0b1010,), 0b1000),
        ("atom.or.b64", 0b1100, (0b1010,), 0b1110),
        ("atom.xor.b32", 0b1100, (0b1010,), 0b0110),
        ("atom.exch.b32", 1, (9,), 9),
        ("atom.exch.b64", 1, (9,), 9),
        ("atom.cas.b32", 7, (7, 9), 9),
        ("atom.cas.b32", 8, (7, 9), 8),
        ("atom.cas.b64", 7, (7, 9), 9),
        ("atom.cas.b16", 7, (7, 9), 9),
        ("atom.inc.u32", 3, (5,), 4),
        ("atom.inc.u32", 5, (5,), 0),
        ("atom.inc.u32", 9, (5,), 0),
        ("atom.dec.u32", 3, (5,), 2),
        ("atom.dec.u32", 0, (5,), 5),
        ("atom.dec.u32", 6, (5,), 5),
        ("atom.add.f32", 1.5, (2.0,), 3.5),
        ("atom.add.f64", 1.5, (2.0,), 3.5),
        ("atom.add.noftz.f16", 1.5, (2.0,), 3.5),
        ("atom.add.noftz.f16x2", 0x3C003C00, (0x3C000000,), 0x40003C00),
        ("atom.add.noftz.bf16x2", 0x3F803F80, (0x3F800000,), 0x40003F80),
    ],
)
def test_new_word(run, opcode, old, operands, new):
    assert TABLE[opcode].kind == "atomic"
    assert run(opcode, old, *operands) == new
    assert run(opcode, [old, old], *operands).tolist() == [new, new]


def test_global_float_add_flushes_and_shared_does_not(run):
    small = f32(0x00000100)
    assert bits32(run("atom.add.f32", small, small)) == [0x00000200]
    assert bits32(run("atom.global.add.f32", small, small)) == [0]
    assert run("atom.global.add.f32", np.float32(1.5), np.float32(2)) == 3.5


def test_float_nan(run):
    assert bits32(run("atom.add.f32", math.inf, -math.inf)) == [0x7FFFFFFF]
