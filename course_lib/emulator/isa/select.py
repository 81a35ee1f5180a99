"""Selection: selp (by a predicate) and slct (by a sign)."""

from .arrays import Lanes, blend
from .rounding import flush
from .table import instruction


def choose(a: Lanes, b: Lanes, p: Lanes) -> Lanes:
    """``a`` where ``p`` holds, else ``b``."""
    return blend(p, a, b)


for _bits in (16, 32, 64):
    for _code in (f"b{_bits}", f"u{_bits}", f"s{_bits}"):
        _word = f"u{_bits}"
        instruction(f"selp.{_code}", f"{_word} <- {_word} {_word} pred")(choose)
for _code in ("f32", "f64"):
    instruction(f"selp.{_code}", f"{_code} <- {_code} {_code} pred")(choose)


def choose_by_sign(a: Lanes, b: Lanes, c: Lanes) -> Lanes:
    """``a`` where ``c`` >= 0 (-0 counts), else ``b``; NaN gives ``b``."""
    return blend(c >= 0, a, b)


for _code, _word in (
    ("b16", "u16"), ("u16", "u16"), ("s16", "u16"), ("b32", "u32"), ("u32", "u32"), ("s32", "u32"),
    ("f32", "u32"), ("b64", "u64"), ("u64", "u64"), ("s64", "u64"), ("f64", "u64"),
):  # fmt: skip
    instruction(f"slct.{_code}.s32", f"{_word} <- {_word} {_word} s32")(choose_by_sign)
    instruction(f"slct.{_code}.f32", f"{_word} <- {_word} {_word} f32")(choose_by_sign)
    instruction(f"slct.ftz.{_code}.f32", f"{_word} <- {_word} {_word} f32")(
        lambda a, b, c: choose_by_sign(a, b, flush(c))
    )
