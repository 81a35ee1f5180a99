"""Shifts and bit fields against bit-by-bit Python."""

import numpy as np
import pytest

RNG = np.random.default_rng(2)
AMOUNTS = [0, 1, 5, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 2**31, 2**32 - 1]


def words(bits, count=40):
    corners = [0, 1, 2**bits - 1, 2 ** (bits - 1), 2 ** (bits - 1) - 1, 0x5A5A5A5A % 2**bits]
    sizes = RNG.integers(0, bits, count)
    return corners + [int.from_bytes(RNG.bytes(bits // 8), "little") >> int(s) for s in sizes]


def signed(value, bits):
    return value - 2**bits if value >> bits - 1 else value


@pytest.mark.parametrize("bits", [16, 32, 64])
@pytest.mark.parametrize("amount", AMOUNTS)
def test_shifts_clamp_at_the_width(run, bits, amount):
    a, far = words(bits), min(amount, 200)
    assert run(f"shl.b{bits}", a, amount).tolist() == [(x << far) % 2**bits for x in a]
    for kind in "ub":
        assert run(f"shr.{kind}{bits}", a, amount).tolist() == [x >> far for x in a]
    assert run(f"shr.s{bits}", a, amount).tolist() == [signed(x, bits) >> far for x in a]


def test_shift_by_lanes_as_by_one_amount(run):
    lanes = run("shl.b32", [1] * 40, list(range(40)))
    assert lanes.tolist() == [2**i if i < 32 else 0 for i in range(40)]


@pytest.mark.parametrize("amount", [0, 1, 31, 32, 33, 40, 2**32 - 1])
def test_funnel_shifts(run, amount):
    low, high = words(32), words(32)
    for mode, n in (("wrap", amount % 32), ("clamp", min(amount, 32))):
        both = [y << 32 | x for x, y in zip(low, high, strict=True)]
        assert run(f"shf.l.{mode}.b32", low, high, amount).tolist() == [(z << n >> 32) % 2**32 for z in both]
        assert run(f"shf.r.{mode}.b32", low, high, amount).tolist() == [(z >> n) % 2**32 for z in both]


def extract(a, position, length, bits, is_signed):
    """The pseudo-code of the ISA's bfe."""
    top = bits - 1
    fill = a >> min(position + length - 1, top) & 1 if is_signed and length else 0
    return sum(
        (a >> position + i & 1 if i < length and position + i <= top else fill) << i for i in range(bits)
    )


def insert(a, b, position, length, bits):
    """The pseudo-code of the ISA's bfi."""
    for i in range(min(length, max(bits - position, 0))):
        b = b & ~(1 << position + i) | (a >> i & 1) << position + i
    return b


FIELDS = [(0, 0), (0, 8), (4, 12), (24, 8), (30, 8), (31, 1), (32, 4), (40, 0), (60, 10), (0, 64), (33, 31)]
FIELDS += [(0, 255), (255, 255)]


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize(("position", "length"), FIELDS)
def test_bit_fields(run, bits, position, length):
    a, b = words(bits, 12), words(bits, 12)
    unsigned = [extract(x, position, length, bits, False) for x in a]
    assert run(f"bfe.u{bits}", a, position, length).tolist() == unsigned
    extended = [signed(extract(x, position, length, bits, True), bits) for x in a]
    assert run(f"bfe.s{bits}", a, position, length).tolist() == extended
    merged = [insert(x, y, position, length, bits) for x, y in zip(a, b, strict=True)]
    assert run(f"bfi.b{bits}", a, b, position, length).tolist() == merged


def test_bfe_past_the_top_gives_the_sign(run):
    assert run("bfe.s32", 0x80000000, 40, 4) == -1
    assert run("bfe.u32", 0x80000000, 40, 4) == 0


def test_32_bit_fields_use_only_8_bits_of_position_and_length(run):
    assert run("bfe.u32", 0xABCD, 0x104, 0x208) == 0xBC


@pytest.mark.parametrize("bits", [32, 64])
def test_counts(run, bits):
    a = words(bits)
    assert run(f"popc.b{bits}", a).tolist() == [bin(x).count("1") for x in a]
    assert run(f"clz.b{bits}", a).tolist() == [bits - x.bit_length() for x in a]
    assert run(f"brev.b{bits}", a).tolist() == [int(f"{x:0{bits}b}"[::-1], 2) for x in a]
    for code, numbers in ((f"u{bits}", a), (f"s{bits}", [~x % 2**bits if x >> bits - 1 else x for x in a])):
        tops = [x.bit_length() - 1 for x in numbers]
        assert run(f"bfind.{code}", a).tolist() == [t % 2**32 for t in tops]
        shifts = [(bits - 1 - t if t >= 0 else -1) % 2**32 for t in tops]
        assert run(f"bfind.shiftamt.{code}", a).tolist() == shifts


def test_counts_of_every_single_bit_and_its_predecessor(run):
    powers = [2**i for i in range(64)]
    assert run("clz.b64", powers).tolist() == [63 - i for i in range(64)]
    assert run("clz.b64", [p - 1 for p in powers]).tolist() == [64 - i for i in range(64)]


@pytest.mark.parametrize(
    ("base", "offset", "expected"),
    [
        (0, 1, 1),
        (0, 2, 3),
        (0, 3, 8),
        (0, 4, 2**32 - 1),
        (3, 0, 3),
        (2, 0, 2**32 - 1),
        (8, -1, 8),
        (8, -3, 1),
        (7, -1, 3),
    ],
)
def test_nth_set_bit(run, base, offset, expected):
    assert run("fns.b32", 0b100001010, base, offset) == expected


@pytest.mark.parametrize("mode", ["wrap", "clamp"])
@pytest.mark.parametrize(("a", "b"), [(0, 0), (4, 8), (30, 5), (0, 32), (32, 4), (33, 33), (31, 1)])
def test_masks(run, mode, a, b):
    x, y = (a % 32, b % 32) if mode == "wrap" else (min(a, 32), min(b, 32))
    assert run(f"bmsk.{mode}.b32", a, b) == ((1 << y) - 1 << x) % 2**32
    value = 0xDEADBEEF
    assert run(f"szext.{mode}.u32", value, b) == value % 2**y
    sign = signed(value % 2**y, y) if y else 0
    assert run(f"szext.{mode}.s32", value, b) == sign
