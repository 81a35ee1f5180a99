"""Carry chains: multi-word arithmetic must equal Python's integers."""

import itertools

import pytest

WORDS = {"u32": 2**32, "s32": 2**32, "u64": 2**64, "s64": 2**64}


def corners(base):
    return [0, 1, base // 2 - 1, base // 2, base - 2, base - 1, 0x9E3779B9 % base]


@pytest.mark.parametrize("code", WORDS)
def test_add_and_subtract(run, code):
    base = WORDS[code]
    pairs = list(itertools.product(corners(base), repeat=2))
    a, b = ([pair[i] for pair in pairs] for i in (0, 1))
    for carry in (False, True):
        flags = [carry] * len(a)
        total, out = run(f"addc.cc.{code}", a, b, flags)
        assert total.tolist() == [(x + y + carry) % base for x, y in pairs]
        assert out.tolist() == [x + y + carry >= base for x, y in pairs]
        assert run(f"addc.{code}", a, b, flags).tolist() == total.tolist()
        rest, out = run(f"subc.cc.{code}", a, b, flags)  # without the carry, one is borrowed
        assert rest.tolist() == [(x - y - (not carry)) % base for x, y in pairs]
        assert out.tolist() == [x >= y + (not carry) for x, y in pairs]
        assert run(f"subc.{code}", a, b, flags).tolist() == rest.tolist()


@pytest.mark.parametrize("code", WORDS)
def test_without_carry_in(run, code):
    base = WORDS[code]
    total, out = run(f"add.cc.{code}", base - 1, 1)
    assert (total, out) == (0, True)
    assert run(f"sub.cc.{code}", 0, 1) == (base - 1, False)
    assert run(f"sub.cc.{code}", 1, 1) == (0, True)


def as_signed(value, base):
    return value - base if value >= base // 2 else value


@pytest.mark.parametrize("code", WORDS)
def test_multiply_add(run, code):
    base = WORDS[code]
    for a, b, c in itertools.product(corners(base), repeat=3):
        x, y = (as_signed(a, base), as_signed(b, base)) if code[0] == "s" else (a, b)
        for half, part in (("lo", x * y % base), ("hi", x * y // base % base)):
            total, out = run(f"mad.{half}.cc.{code}", a, b, c)
            assert (total, out) == ((part + c) % base, part + c >= base)
            total, out = run(f"madc.{half}.cc.{code}", a, b, c, True)
            assert (total, out) == ((part + c + 1) % base, part + c + 1 >= base)
            assert run(f"madc.{half}.{code}", a, b, c, True) == total


def test_128_bit_product_from_32_bit_words(run):
    """The schoolbook chain that compilers emit for __umul64hi."""
    a, b = 0xFEDCBA9876543210, 0x123456789ABCDEF1
    a0, a1, b0, b1 = a % 2**32, a >> 32, b % 2**32, b >> 32
    low = run("mul.lo.u32", a0, b0)
    r1, cc = run("mad.lo.cc.u32", a1, b0, int(run("mul.hi.u32", a0, b0)))
    r2 = run("madc.hi.u32", a1, b0, 0, bool(cc))
    r1, cc = run("mad.lo.cc.u32", a0, b1, int(r1))
    r2, cc = run("madc.hi.cc.u32", a0, b1, int(r2), bool(cc))
    r3 = run("addc.u32", 0, 0, bool(cc))
    r2, cc = run("mad.lo.cc.u32", a1, b1, int(r2))
    r3 = run("madc.hi.u32", a1, b1, int(r3), bool(cc))
    assert int(low) | int(r1) << 32 | int(r2) << 64 | int(r3) << 96 == a * b
