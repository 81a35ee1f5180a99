"""What holds for all entries of the table, and the helpers under them."""

import numpy as np
import pytest

from course_lib.emulator.isa import DTYPES, TABLE
from course_lib.emulator.isa.arrays import blend, in_chunks
from course_lib.emulator.isa.table import instruction

RNG = np.random.default_rng(9)
LANE_ENTRIES = sorted(opcode for opcode, entry in TABLE.items() if entry.kind != "warp")


def column(code, count):
    """Random bits as values of one type."""
    dtype = DTYPES[code]
    if dtype == np.bool_:
        return RNG.integers(0, 2, count).astype(bool)
    return np.frombuffer(RNG.bytes(count * dtype.itemsize), dtype).copy()


def results_of(opcode, operands):
    results = TABLE[opcode].function(*operands)
    return results if isinstance(results, tuple) else (results,)


def same(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and a.tobytes() == b.tobytes()


def test_an_opcode_is_registered_once():
    with pytest.raises(ValueError, match=r"add\.s32 is registered twice"):
        instruction("add.s32", "s32 <- s32 s32")(np.add)
    with pytest.raises(ValueError, match="unknown types"):
        instruction("add.q32", "q32 <- q32 q32")


def test_results_have_the_types_of_the_signature():
    wrong = []
    for opcode in LANE_ENTRIES:
        entry = TABLE[opcode]
        operands = [column(code, 40) for code in entry.operands]
        if opcode == "lop3.b32":
            operands[3] = np.uint32(0x96)
        before = [x.copy() for x in operands]
        for result, code in zip(results_of(opcode, operands), entry.results, strict=True):
            if result.dtype != DTYPES[code] or result.shape != (40,):
                wrong.append(opcode)
        if not all(same(a, b) for a, b in zip(operands, before, strict=True)):
            wrong.append(f"{opcode} changed an operand")
    assert not wrong


def mixtures(count):
    """Which operands are scalars: none, all, only the first, only the last."""
    return {(False,) * count, (True,) * count} | {
        tuple(i == chosen for i in range(count)) for chosen in (0, count - 1)
    }


def test_scalars_and_arrays_mix():
    wrong = []
    for opcode in LANE_ENTRIES:
        values = [column(code, 1) for code in TABLE[opcode].operands]
        table = [np.uint32(0x2D)] if opcode == "lop3.b32" else []  # always a constant
        values = values[: len(values) - len(table)]
        expected = results_of(opcode, values + table)
        for scalars in mixtures(len(values)):
            operands = [x[0] if s else np.repeat(x, 5) for x, s in zip(values, scalars, strict=True)]
            lanes = () if all(scalars) else (5,)
            for result, one in zip(results_of(opcode, operands + table), expected, strict=True):
                if np.shape(result) != lanes or not same(result, np.full(lanes, one[0])):
                    wrong.append((opcode, scalars))
    assert not wrong


@pytest.mark.parametrize("code", ["u16", "u32", "u64", "f32", "f64"])
def test_blend(code):
    a, b, p = column(code, 100), column(code, 100), column("pred", 100)
    assert same(blend(p, a, b), np.where(p, a, b))
    assert same(blend(p, a[0], b[0]), np.where(p, a[0], b[0]))
    assert same(blend(np.True_, a, b[0]), a)


def test_chunks_hide_nothing():
    double = in_chunks(7)(lambda a, b, scale=2: scale * a + b)
    a = np.arange(60.0).reshape(5, 12)
    assert (double(a, a[:1]) == 2 * a + a[:1]).all()
    assert (double(a, np.float64(3), scale=4) == 4 * a + 3).all()
    assert double(np.float64(1), np.float64(2)) == 4


def test_empty_arrays():
    for opcode in ("add.ftz.f32", "fma.rn.f32", "fma.rn.f64", "max.f32", "cvt.rzi.s32.f32", "div.s32"):
        operands = [column(code, 0) for code in TABLE[opcode].operands]
        assert TABLE[opcode].function(*operands).shape == (0,)
