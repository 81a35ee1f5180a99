"""selp and slct."""

import math

import numpy as np
import pytest

from .reference import bits32, f32


@pytest.mark.parametrize("code", ["b16", "u32", "s64", "f32", "f64"])
def test_selp(run, code):
    assert run(f"selp.{code}", [1, 2, 3], [4, 5, 6], [True, False, True]).tolist() == [1, 5, 3]
    assert run(f"selp.{code}", 1, 0, [True, False]).tolist() == [1, 0]
    assert run(f"selp.{code}", [1, 2], 7, False).tolist() == [7, 7]


def test_selp_moves_bits_untouched(run):
    nans = f32(0x7FA00001, 0xFFFFFFFF)
    assert bits32(run("selp.f32", nans, np.float32(0), [True, True])) == [0x7FA00001, 0xFFFFFFFF]


def test_slct_by_sign(run):
    assert run("slct.b32.s32", 1, 2, [0, 5, -1]).tolist() == [1, 1, 2]
    assert run("slct.f64.f32", 1, 2, [-0.0, 1e-40, -1e-40, math.nan]).tolist() == [1, 1, 2, 2]
    assert run("slct.ftz.u64.f32", 1, 2, [-1e-40, -1.0, math.nan]).tolist() == [1, 2, 2]
