"""Extended-precision integers: add.cc, addc, sub.cc, subc, mad.cc, madc.

The carry flag travels as a bool. The PTX ISA ("Extended-Precision Integer Arithmetic
Instructions") calls it the borrow in a subtraction; in the machine it is the carry of
a + ~b + 1, which is set when there is no borrow. That shows where a chain mixes both:
the 128-bit division that NVRTC emits reads the flag of `subc.cc` with `addc`.
"""

import numpy as np

from .arrays import Lanes
from .integer import mul_hi
from .table import DTYPES, instruction


def add_carry(a: Lanes, b: Lanes, carry: Lanes = False) -> tuple[Lanes, Lanes]:
    """a + b + carry for unsigned operands -> (sum, carry out)."""
    partial = a + b
    total = partial + carry
    return total, (partial < a) | (total < partial)


def subtract_carry(a: Lanes, b: Lanes, carry: Lanes = True) -> tuple[Lanes, Lanes]:
    """a + ~b + carry for unsigned operands -> (difference, carry out): no carry is a borrow."""
    return add_carry(a, ~b, carry)


def _high(code):
    """mul.hi of unsigned registers that hold values of type ``code``."""
    signed = DTYPES[code]
    return lambda a, b: mul_hi(a.view(signed), b.view(signed)).view(a.dtype)


def _register(code, word):
    """Word-sized carry chains: all but mad.hi do the same for signed and unsigned."""
    two, three = f"{word} {word}", f"{word} {word} {word}"
    instruction(f"add.cc.{code}", f"{word} cc <- {two}")(add_carry)
    instruction(f"addc.cc.{code}", f"{word} cc <- {two} cc")(add_carry)
    instruction(f"addc.{code}", f"{word} <- {two} cc")(lambda a, b, cc: a + b + cc)
    instruction(f"sub.cc.{code}", f"{word} cc <- {two}")(subtract_carry)
    instruction(f"subc.cc.{code}", f"{word} cc <- {two} cc")(subtract_carry)
    instruction(f"subc.{code}", f"{word} <- {two} cc")(lambda a, b, cc: a + ~b + cc)
    for half, product in (("lo", np.multiply), ("hi", _high(code))):
        instruction(f"mad.{half}.cc.{code}", f"{word} cc <- {three}")(
            lambda a, b, c, product=product: add_carry(product(a, b), c)
        )
        instruction(f"madc.{half}.cc.{code}", f"{word} cc <- {three} cc")(
            lambda a, b, c, cc, product=product: add_carry(product(a, b), c, cc)
        )
        instruction(f"madc.{half}.{code}", f"{word} <- {three} cc")(
            lambda a, b, c, cc, product=product: product(a, b) + c + cc
        )


for _code, _word in (("u32", "u32"), ("s32", "u32"), ("u64", "u64"), ("s64", "u64")):
    _register(_code, _word)
