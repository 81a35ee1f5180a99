"""Bytes in words: prmt, dp4a, dp2a, the video instructions, pairs of 16-bit integers."""

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
        ("add.u16x2", 0xFFFF0001, 0x00020003, 0x00010004),
        ("add.s16x2", 0x7FFFFFFF, 0x00010001, 0x80000000),
        ("min.u16x2", 0xFFFF0001, 0x00020003, 0x00020001),
        ("min.s16x2", 0xFFFF0001, 0x00020003, 0xFFFF0001),
        ("max.s16x2.relu", 0xFFFF0001, 0xFFFE0003, 0x00000003),
    ],
)
def test_video_and_pairs_of_integers(run, opcode, a, b, expected):
    assert run(opcode, a, b) == expected


@pytest.mark.parametrize(
    ("opcode", "a", "b", "c", "expected"),
    [
        ("vadd4.u32.u32.u32", 0xFF010203, 0x01010101, 9, 0x00020304),
        ("vadd4.u32.u32.u32.sat", 0xFF010203, 0x02010101, 0, 0xFF020304),
        ("vsub2.s32.s32.s32.sat", 0x80000005, 0x00010007, 0, 0x8000FFFE),
        ("vabsdiff4.u32.u32.u32", 0x01FF1020, 0x02001010, 0, 0x01FF0010),
        ("vabsdiff4.u32.u32.u32.add", 0x01FF1020, 0x02001010, 1000, 1000 + 1 + 255 + 16),
        ("vabsdiff4.u32.s32.s32.add", 0x01FF1020, 0x02001010, 1000, 1000 + 1 + 1 + 16),
        ("vmax2.s32.s32.s32", 0xFFFF0001, 0x00008000, 0, 0x00000001),
    ],
)
def test_video_in_parts(run, opcode, a, b, c, expected):
    assert run(opcode, a, b, c) == expected
    assert run(opcode, [a, a], b, [c, c]).tolist() == [expected] * 2
