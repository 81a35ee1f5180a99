"""Every instruction against results recorded on an H200 (data/README.md)."""

import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from course_lib.emulator.isa import DTYPES, TABLE

DATA = Path(__file__).parent / "data"
LANES = 96

# Where hardware only promises bounds: largest distance in units of the last place, except
# near zeros of the function, where it is absolute (both from the ISA's tables).
ULPS = {
    "div.approx": 2, "div.full": 2, "ex2.approx": 2, "rcp.approx": 1, "rsqrt.approx": 2, "sqrt.approx": 1,
    "tanh.approx": 200,
}  # fmt: skip
# .sat has no effect past 2**32 in the code that ptxas makes of these; the ISA says it has.
UNSATURATED = ("vadd.u32.u32.u32.sat", "vadd.u32.u32.s32.sat", "vadd.u32.s32.u32.sat", "vsub.u32.u32.s32.sat")
UNSATURATED += ("vabsdiff.u32.u32.s32.sat", "vabsdiff.u32.s32.u32.sat")
ABSOLUTE = {"lg2.approx": 2.0**-21, "sin.approx": 2.0**-20, "cos.approx": 2.0**-20}


def _columns(index, blob, lanes):
    """Consecutive arrays of ``lanes`` elements with the dtypes listed in ``index``."""
    start, arrays = 0, []
    for dtype in index:
        size = lanes * np.dtype(dtype).itemsize
        arrays.append(np.frombuffer(blob[start : start + size], dtype))
        start += size
    return arrays


def load_lanes():
    """[(opcode, lop3 table, results)] and {operand key: array}."""
    with np.load(DATA / "h200_lanes.npz") as file:
        index, operands = (json.loads(file[name].tobytes()) for name in ("index", "oindex"))
        results = iter(_columns([d for *_, dtypes in index for d in dtypes], file["blob"].tobytes(), LANES))
        arrays = _columns([dtype for _, dtype in operands], file["oblob"].tobytes(), LANES)
    cases = [(opcode, table, [next(results) for _ in dtypes]) for opcode, table, dtypes in index]
    return cases, {key: array for (key, _), array in zip(operands, arrays, strict=True)}


CASES, OPERANDS = load_lanes()
BY_NAME = defaultdict(list)
for _case in CASES:
    BY_NAME[_case[0].split(".")[0]].append(_case)


def _typed(raw, code):
    """A recorded operand as the emulator's registers hold it."""
    dtype = DTYPES[code]
    if dtype == np.bool_:
        return raw != 0
    return raw.astype(f"u{dtype.itemsize}").view(dtype)


def evaluate(opcode, table):
    """(operands, results as recorded raw words) of the emulator's instruction."""
    instruction = TABLE[opcode]
    codes = instruction.operands[:3] if table is not None else instruction.operands
    key = " ".join(codes) + (" atom" if instruction.kind == "atomic" else "")
    operands = [_typed(OPERANDS[f"{key}|{i}"], code) for i, code in enumerate(codes)]
    borrows = opcode.startswith("sub")
    if borrows:  # flags were set by sub.cc and read by subc: as a borrow, the carry's opposite
        operands = [~x if code == "cc" else x for x, code in zip(operands, codes, strict=True)]
    extra = [] if table is None else [np.uint32(table)]
    results = instruction.function(*operands, *extra)
    results = results if isinstance(results, tuple) else (results,)
    pairs = zip(results, instruction.results, strict=True)
    return operands, tuple(~x if borrows and code == "cc" else x for x, code in pairs)


def _raw(x, dtype):
    return x.astype(dtype) if x.dtype == np.bool_ else x.view(dtype)


def _ordered(x):
    """Floats as integers whose difference counts units in the last place."""
    bits = x.view(f"i{x.dtype.itemsize}").astype(np.int64)
    return np.where(bits < 0, -(bits & (1 << 8 * x.dtype.itemsize - 1) - 1), bits)


def _close(opcode, operands, ours, recorded):
    """Lanes where an approximation is as near to the recorded one as the ISA promises."""
    prefix = ".".join(opcode.split(".")[:2])
    if ours.dtype.kind != "f":  # packed or bf16: one unit of each half
        halves = (x.view(np.uint16).astype(int).reshape(ours.size, -1) for x in (ours, recorded))
        return np.abs(np.subtract(*halves)).max(axis=1) <= 1
    recorded = recorded.view(ours.dtype)
    same = (ours == recorded) | (np.isnan(ours) & np.isnan(recorded))
    if prefix in ABSOLUTE:
        far = np.absolute(operands[0]) > np.pi if prefix != "lg2.approx" else np.False_
        bound = ABSOLUTE[prefix] * np.maximum(1, np.absolute(ours))
        return same | far | (np.absolute(ours.astype(float) - recorded) <= bound)
    units = np.absolute(_ordered(ours) - _ordered(recorded))
    one_word = 2**32 if ours.dtype == np.float64 and "ftz" in opcode else 1
    return same | (units <= ULPS[prefix] * one_word)


def _known_difference(opcode, operands):
    """Lanes outside the ISA's definition, where the emulator follows its text instead."""
    if opcode == "fns.b32":
        return operands[2] == -(2**31)
    if opcode in UNSATURATED:
        return np.True_
    return np.False_


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_lanes(name):
    wrong = {}
    for opcode, table, recorded in BY_NAME[name]:
        operands, results = evaluate(opcode, table)
        for ours, theirs in zip(results, recorded, strict=True):
            good = _raw(ours, theirs.dtype) == theirs
            if ".approx" in opcode or ".full" in opcode:
                good |= _close(opcode, operands, ours, theirs)
            good |= _known_difference(opcode, operands)
            if not good.all():
                lane = int(np.argmin(good))
                wrong[opcode] = [x[lane] for x in operands], ours[lane], hex(theirs[lane])
    assert not wrong


# Instructions added since; each needs tests from another source.
NOT_RECORDED = {f"cvt.{r}.{t}.bf16" for r in ("rni", "rzi", "rmi", "rpi") for t in ("s8", "u8")}
NOT_RECORDED |= {f"cvt.{r}.bf16.{t}" for r in ("rn", "rz", "rm", "rp") for t in ("s8", "u8")}


def test_every_lane_instruction_was_recorded():
    recorded = {opcode for opcode, *_ in CASES}
    listed = {opcode for opcode, entry in TABLE.items() if entry.kind != "warp"}
    assert listed == recorded | NOT_RECORDED


def load_warps():
    """{opcode: arrays}"""
    arrays = defaultdict(list)
    with np.load(DATA / "h200_warps.npz") as file:
        for name in file.files:
            arrays[name.rpartition("/")[0]].append(file[name])
    return arrays


WARPS = load_warps()


@pytest.mark.parametrize("opcode", sorted(WARPS))
def test_warps(opcode):
    instruction = TABLE[opcode]
    count = len(instruction.operands)
    operands, recorded = WARPS[opcode][:count], WARPS[opcode][count:]
    active = operands[-1] >> np.arange(32, dtype=np.uint32) & 1 == 1
    *results, undefined = instruction.function(active, *operands)
    known = active if undefined is None else active & ~undefined
    for ours, theirs in zip(results, recorded, strict=True):
        assert (_raw(ours, theirs.dtype) == theirs)[known].all()
