"""Damaged PTX: refused with an error of ours, or run to some end; never another exception, never a hang."""

import random
import re
import time

import numpy as np
import pytest

from course_lib.emulator.codegen import load
from course_lib.emulator.compile import compile_source
from course_lib.emulator.errors import EmulatorError
from course_lib.emulator.prepared import Prepared
from course_lib.emulator.run import launch

from .random_kernels import OPTIONS, make

SECONDS = 1.0
TOKEN = re.compile(r"[\w.%$]+|[^\s]")
REGISTER = re.compile(r"%(r|rd|f|p|rs|fd)\d+")
MODIFIER = re.compile(r"\.(u32|s32|b32|u64|s64|f32|f64|u16|global|shared|lo|wide|sync)\b")
OTHERS = ("u32", "s64", "f32", "b64", "u16", "f64", "pred", "shared", "global", "local", "hi", "rn", "x")
NUMBERS = ("0", "1", "-1", "7", "33", str(2**31), str(2**63))


def damage_tokens(text: str, rng: random.Random) -> str:
    """Delete, replace, repeat a token, or cut the text off."""
    places = [match.span() for match in TOKEN.finditer(text)]
    (a, b), (c, d) = rng.choice(places), rng.choice(places)
    return rng.choice([
        text[:a] + text[b:], text[:a] + text[c:d] + text[b:], text[:a] + text[c:d] + " " + text[a:], text[:a],
    ])  # fmt: skip


def damage_statements(text: str, rng: random.Random) -> str:
    """Delete, copy or swap statements; change a register, a number or a modifier."""
    lines = text.split("\n")
    start = next(k for k, line in enumerate(lines) if ".entry" in line)
    places = [
        k for k in range(start, len(lines)) if lines[k].strip().endswith(";") and ".reg" not in lines[k]
    ]
    i, j = rng.choice(places), rng.choice(places)
    kind = rng.randrange(6)
    if kind == 0:
        lines[i] = ""
    elif kind == 1:
        lines.insert(j, lines[i])
    elif kind == 2:
        lines[i], lines[j] = lines[j], lines[i]
    elif kind == 3:
        lines[i] = REGISTER.sub(lambda m: f"%{m[1]}{rng.randrange(12)}", lines[i], count=1)
    elif kind == 4:
        lines[i] = re.sub(r"\b\d+\b", lambda m: rng.choice(NUMBERS), lines[i], count=1)
    else:
        lines[i] = MODIFIER.sub(lambda m: f".{rng.choice(OTHERS)}", lines[i], count=1)
    return "\n".join(lines)


@pytest.mark.parametrize("damage", [damage_tokens, damage_statements])
@pytest.mark.parametrize("seed", [3, 8])
def test_damaged_ptx(seed: int, damage: object) -> None:
    rng = random.Random(seed)
    whole = compile_source(make(seed).source, OPTIONS).ptx
    outcomes, until = [], time.monotonic() + SECONDS
    while len(outcomes) < 4 or (time.monotonic() < until and len(outcomes) < 60):
        text = whole
        for _ in range(rng.randrange(1, 4)):
            text = damage(text, rng)
        started = time.monotonic()
        try:
            program = load(text, "k")
            arguments = [np.arange(256, dtype=np.int64) if p.ptx_type == "u64" else bytes(p.size)
                         for p in program.parameters]  # fmt: skip
            launch(Prepared(program, (2, 1, 1), (64, 1, 1), arguments, step_budget=2000))
            outcomes.append("ran")
        except EmulatorError as error:
            outcomes.append(type(error).__name__)
        assert time.monotonic() - started < 10
