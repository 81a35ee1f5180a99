"""cvt to and from f16, bf16 and tf32."""

import numpy as np

from .arrays import Lanes, blend
from .convert import INTEGERS, TO_INTEGRAL, exact_pair, float_to_integer, holder, widen
from .formats import BF16, F16, FORMATS, join
from .half import relu
from .rounding import MODES, flush, quiet, saturate, to_odd
from .table import DTYPES, instruction


def _keep_nan(form, result, a):
    """float64 NaN keep the upper bits of their payload, float32 ones do not."""
    if a.dtype == np.float32:
        return result
    if form is F16:
        return blend(np.isnan(a), a.astype(np.float16), result)
    upper = a.astype(np.float32).view(np.uint32) >> 16
    return blend(np.isnan(a), upper.astype(np.uint16), result)


def _register_from_float(form):
    """From f32 and f64 in all modes."""
    for mode in MODES:

        def narrowing(a, mode=mode):
            return _keep_nan(form, form.round(a, mode), a)

        for source in ("f32", "f64"):
            opcode, signature = f"cvt.{mode}{{}}.{form.name}.{source}", f"{form.code} <- {source}"
            instruction(opcode.format(""), signature)(narrowing)
            if form is F16:
                instruction(opcode.format(".sat"), signature)(lambda a, f=narrowing: f(saturate(a)))
        # float32 subnormals are zero or one step in f16: hardware ignores .ftz there.
        instruction(f"cvt.{mode}.ftz.{form.name}.f32", f"{form.code} <- f32")(
            lambda a, f=narrowing: f(a if form is F16 else flush(a))
        )
        if mode in ("rn", "rz"):
            _register_relu_and_pairs(form, mode, narrowing)


def _register_relu_and_pairs(form, mode, narrowing):
    """cvt.rn.relu.f16.f32, cvt.rn.f16x2.f32 (first operand into the upper half) and both at once."""
    instruction(f"cvt.{mode}.relu.{form.name}.f32", f"{form.code} <- f32")(lambda a: narrowing(relu(a)))
    pair = f"cvt.{mode}{{}}.{form.name}x2.f32"
    instruction(pair.format(""), "u32 <- f32 f32")(lambda a, b: join(narrowing(b), narrowing(a)))
    instruction(pair.format(".relu"), "u32 <- f32 f32")(
        lambda a, b: join(narrowing(relu(b)), narrowing(relu(a)))
    )


def _flush_and_quiet(x):
    return quiet(flush(x))


def _register_to_float(form):
    """To f32 and f64: exact."""
    for modifier in ("", ".ftz"):
        finish = quiet if form is F16 else _flush_and_quiet if modifier else np.positive
        instruction(f"cvt{modifier}.f32.{form.name}", f"f32 <- {form.code}")(
            lambda a, finish=finish: finish(form.value(a))
        )
        if form is F16:
            instruction(f"cvt{modifier}.sat.f32.f16", "f32 <- f16")(lambda a: saturate(F16.value(a)))
    instruction(f"cvt.f64.{form.name}", f"f64 <- {form.code}")(lambda a: widen(form.value(a)))


def _register_integers(form):
    """Integers of all widths; bf16 has no redundant .sat."""
    for target in INTEGERS:
        clamp = float_to_integer(target, target not in ("u64", "s64"))
        for rounding, function in TO_INTEGRAL.items():

            def cvt(a, clamp=clamp, function=function):
                return clamp(function(form.value(a)))

            for sat in ("", ".sat") if form is F16 else ("",):
                opcode = f"cvt.{rounding}{sat}.{target}.{form.name}"
                instruction(opcode, f"{holder(target)} <- {form.code}")(cvt)
    for source in INTEGERS:
        for mode in MODES:

            def from_integer(a, mode=mode, dtype=DTYPES[source]):
                wide = a.astype(dtype, copy=False).astype(f"{dtype.kind}8")
                return form.round(to_odd(*exact_pair(wide)), mode)

            instruction(f"cvt.{mode}.{form.name}.{source}", f"{form.code} <- {source}")(from_integer)


def _register_same(form):
    """Rounding to an integral value, and the plain copy with .sat."""
    code = form.code
    for rounding, function in TO_INTEGRAL.items():
        instruction(f"cvt.{rounding}.{form.name}.{form.name}", f"{code} <- {code}")(
            lambda a, f=function: form.round(f(form.value(a)))
        )
    instruction(f"cvt.{form.name}.{form.name}", f"{code} <- {code}")(lambda a: form.round(form.value(a)))


@instruction("cvt.sat.f16.f16", "f16 <- f16")
def saturate_f16(a: Lanes) -> Lanes:
    """Clamp to [0, 1]; NaN becomes +0."""
    return F16.round(saturate(F16.value(a)))


for _form in FORMATS:
    _register_from_float(_form)
    _register_to_float(_form)
    _register_integers(_form)
    _register_same(_form)
for _mode in MODES:
    instruction(f"cvt.{_mode}.bf16.f16", "u16 <- f16")(lambda a, m=_mode: BF16.round(F16.value(a), m))
    instruction(f"cvt.{_mode}.f16.bf16", "f16 <- u16")(lambda a, m=_mode: F16.round(BF16.value(a), m))


@instruction("cvt.rna.tf32.f32", "u32 <- f32")
def to_tf32(a: Lanes) -> Lanes:
    """Round to 10 fraction bits, ties away from zero; the 13 low bits become 0."""
    bits = a.view(np.uint32)
    rounded = (bits + np.uint32(1 << 12)) & ~np.uint32(0x1FFF)
    special = bits & np.uint32(0x7F800000) == np.uint32(0x7F800000)
    return blend(special, bits & ~np.uint32(0x1FFF), rounded)
