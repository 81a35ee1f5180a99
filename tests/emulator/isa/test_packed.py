"""Bytes in words: prmt, dp4a, dp2a and the video instructions."""

import numpy as np
import pytest

A, B = 0x44332211, 0x887766F5


def byte(pair, selector):
    value = pair >> 8 * (selector & 7) & 255
    return (255 if value >> 7 else 0) if selector & 8 else value


@pytest.mark.parametrize("selectors", [0x3210, 0x7654, 0x0123, 0x5432, 0xFFFF, 0xC840, 0x98BA, 0x1111])
def test_permute(run, selectors):
    expected = sum(byte(B << 32 | A, selectors >> 4 * i & 15) << 8 * i for i in range(4))
    assert run("prmt.b32", A, B, selectors) == expected
    assert run("prmt.b32", [A, A], B, [selectors, 0x3210]).tolist() == [expected, A]
    assert run("prmt.b32", [A, A], [B, B], selectors).tolist() == [expected] * 2


def test_permute_of_one_scalar_fills_all_lanes(run):
    assert run("prmt.b32", A, [B, B + 1], 0x0123).tolist() == [0x11223344] * 2


@pytest.mark.parametrize(
    ("mode", "c", "expected"),
    [
        ("f4e", 1, 0xF5443322),
        ("b4e", 1, 0x77881122),
        ("rc8", 2, 0x33333333),
        ("ecl", 1, 0x44332222),
        ("ecr", 2, 0x33332211),
        ("rc16", 1, 0x44334433),
    ],
)
def test_permute_modes(run, mode, c, expected):
    assert run(f"prmt.b32.{mode}", A, B, c) == expected
    assert run(f"prmt.b32.{mode}", A, B, c + 4) == expected


def fields(word, bits, signed):
    values = [word >> bits * i & 2**bits - 1 for i in range(32 // bits)]
    return [v - 2**bits if signed and v >> bits - 1 else v for v in values]


@pytest.mark.parametrize("a_type", ["u32", "s32"])
@pytest.mark.parametrize("b_type", ["u32", "s32"])
def test_dot_products(run, a_type, b_type):
    rng = np.random.default_rng(8)
    a, b, c = rng.integers(0, 2**32, (3, 50)).tolist()
    for x, y, z in zip(a, b, c, strict=True):
        bytes_of_b = fields(y, 8, b_type == "s32")
        four = sum(p * q for p, q in zip(fields(x, 8, a_type == "s32"), bytes_of_b, strict=True))
        assert int(run(f"dp4a.{a_type}.{b_type}", x, y, z)) % 2**32 == (four + z) % 2**32
        for half, first in (("lo", 0), ("hi", 2)):
            two = sum(
                p * q
                for p, q in zip(fields(x, 16, a_type == "s32"), bytes_of_b[first : first + 2], strict=True)
            )
            assert int(run(f"dp2a.{half}.{a_type}.{b_type}", x, y, z)) % 2**32 == (two + z) % 2**32


@pytest.mark.parametrize(
    ("opcode", "a", "b", "expected"),
    [
        ("vadd.u32.u32.u32.sat", 2**32 - 1, 5, 2**32 - 1),
        ("vadd.u32.u32.u32", 2**32 - 1, 5, 4),
        ("vadd.s32.u32.s32.sat", 2**32 - 1, -1, 2**31 - 1),
        ("vsub.u32.u32.u32.sat", 3, 5, 0),
        ("vsub.s32.u32.u32", 3, 5, -2),
        ("vabsdiff.u32.s32.s32", -5, 7, 12),
        ("vmin.s32.u32.s32", 3, -1, -1),
        ("vmax.u32.s32.s32.sat", -3, -1, 0),
    ],
)
def test_video(run, opcode, a, b, expected):
    assert run(opcode, a, b) == expected
