"""cvt to and from pairs of 8-bit floats: e4m3x2 and e5m2x2.

Always with ``.satfinite``: what is too large becomes the largest finite value, NaN
becomes 0x7f. The first operand goes into the upper byte.
"""

from dataclasses import dataclass

import numpy as np

from .arrays import Lanes
from .formats import F16, halves, join
from .half import relu
from .table import instruction


@dataclass(frozen=True)
class Eight:
    """Fraction bits, exponent of the smallest normal value, code of the largest finite one."""

    name: str
    fraction: int
    smallest: int
    largest: int


E4M3 = Eight("e4m3", 3, -6, 0x7E)
E5M2 = Eight("e5m2", 2, -14, 0x7B)


def encode(x: Lanes, form: Eight) -> Lanes:
    """float to 8-bit codes (uint16), nearest even, saturating."""
    size = np.minimum(np.absolute(x.astype(np.float64)), 2.0**20)
    _, exponent = np.frexp(size)
    exponent = np.maximum(np.where(size == 0, form.smallest, exponent - 1), form.smallest)
    steps = np.rint(np.ldexp(size, form.fraction - exponent))
    code = np.minimum((exponent - form.smallest) * 2**form.fraction + steps, form.largest)
    code = np.where(np.isnan(x), 0x7F, code + 128 * np.signbit(x))
    return code.astype(np.uint16)[()]


def _values(form: Eight):
    """float16 bits of all 256 codes."""
    code = np.arange(256)
    field, fraction = code >> form.fraction & (0x7F >> form.fraction), code % 2**form.fraction
    steps = np.where(field == 0, fraction, fraction + 2**form.fraction)
    value = np.ldexp(steps.astype(np.float64), form.smallest - form.fraction + np.maximum(field - 1, 0))
    if form is E5M2:
        value[code & 0x7F == 0x7C] = np.inf
        value[code & 0x7F > 0x7C] = np.nan
    else:
        value[code & 0x7F == 0x7F] = np.nan
    return F16.round(np.where(code < 128, value, -value)).view(np.uint16)


def _pack(high, low, form):
    return encode(high, form) << np.uint16(8) | encode(low, form)


for _form in (E4M3, E5M2):
    _table = _values(_form)
    for _suffix, _finish in (("", lambda x: x), (".relu", relu)):
        instruction(f"cvt.rn.satfinite{_suffix}.{_form.name}x2.f32", "u16 <- f32 f32")(
            lambda a, b, form=_form, finish=_finish: _pack(finish(a), finish(b), form)
        )

        def _from_pair(word, form=_form, finish=_finish):
            low, high = (finish(F16.value(x.view(np.float16))) for x in halves(word))
            return _pack(high, low, form)

        instruction(f"cvt.rn.satfinite{_suffix}.{_form.name}x2.f16x2", "u16 <- u32")(_from_pair)

        def _to_pair(word, table=_table, finish=_finish):
            low, high = (finish(table[x].view(np.float16)) for x in (word & 255, word >> 8))
            return join(low, high)

        instruction(f"cvt.rn{_suffix}.f16x2.{_form.name}x2", "u32 <- u16")(_to_pair)
