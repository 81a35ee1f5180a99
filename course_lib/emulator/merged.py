"""What ptxas made of the PTX's memory instructions: joined, dropped or kept.

Nsight Compute counts SASS. ptxas joins neighbouring loads into one wider load and
drops loads whose value it already has. `nvdisasm -gp` names the PTX line of every SASS
instruction, so a PTX access can be counted at the width the hardware runs it with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from .opcodes import family, memory_form
from .program import Program
from .ptx import SIZES, Imm, Reg, Sym, Vec
from .sass import SassLine

_SASS = re.compile(r"(?:@!?U?P\w+\s+)?(LDG|STG|LDS|STS)((?:\.\w+)*)\b")
_SASS_WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}
_CLASSES = {
    "LDG": ("ld", "global"),
    "STG": ("st", "global"),
    "LDS": ("ld", "shared"),
    "STS": ("st", "shared"),
}


@dataclass(frozen=True)
class _Access:
    """A PTX load or store: its kind, where it stands and which bytes it touches."""

    kind: tuple[str, str]
    ptx_line: int
    base: Reg | Sym | Imm
    offset: int
    width: int


@lru_cache(maxsize=256)
def sass_widths(program: Program, sass: tuple[SassLine, ...]) -> dict[int, int]:
    """Instruction number -> bytes per lane as SASS accesses them; 0: another access brings its bytes.

    Called with the same arguments again it returns the same table. Only instructions that differ from the PTX
    are listed. The table is empty where the SASS is not fully explained by the PTX: every SASS access must
    stand on a PTX access of its kind, and every PTX access without one must lie within the bytes that a
    SASS access on the same base register moves. A count that follows the PTX is better than a guess.
    """
    found = _by_line(sass)
    accesses = {site: a for site in range(len(program.instructions)) if (a := _access(program, site))}
    if not found or not set(found) <= {(a.ptx_line, a.kind) for a in accesses.values()}:
        return {}
    kept = [(a, found[a.ptx_line, a.kind]) for a in accesses.values() if (a.ptx_line, a.kind) in found]
    widths = {}
    for site, access in accesses.items():
        actual = found.get((access.ptx_line, access.kind))
        if actual is None:
            if not any(_brings(other, max(wide), access) for other, wide in kept):
                return {}
            widths[site] = 0
        elif actual != {access.width}:
            if len(actual) > 1:
                return {}
            widths[site] = next(iter(actual))
    return widths


@lru_cache(maxsize=256)
def may_merge(program: Program) -> bool:
    """Whether two accesses share a base register and lie within 16 bytes, so that ptxas could join them.

    Reading the SASS takes a third of a second; most kernels of the course do not need it.
    """
    seen: dict[tuple, list[int]] = {}
    for site in range(len(program.instructions)):
        access = _access(program, site)
        if access is None:
            continue
        near = seen.setdefault((access.kind, access.base), [])
        if any(abs(access.offset - offset) < 16 for offset in near):
            return True
        near.append(access.offset)
    return False


def _brings(other: _Access, width: int, wanted: _Access) -> bool:
    """Whether `width` bytes moved by `other` include the bytes of `wanted`."""
    start = other.offset - other.offset % width
    same = other.kind == wanted.kind and other.base == wanted.base
    return same and start <= wanted.offset and wanted.offset + wanted.width <= start + width


def _by_line(sass: Iterable) -> dict[tuple[int, tuple[str, str]], set[int]]:
    found: dict[tuple[int, tuple[str, str]], set[int]] = {}
    for _, text, _, ptx_line in sass:
        match = _SASS.match(text)
        if match:
            parts = match.group(2).split(".")
            width = next((_SASS_WIDTHS[part] for part in parts if part in _SASS_WIDTHS), 4)
            found.setdefault((ptx_line, _CLASSES[match.group(1)]), set()).add(width)
    return found


def _access(program: Program, site: int) -> _Access | None:
    instruction = program.instructions[site]
    name = family(instruction.opcode)
    if name not in ("ld", "st"):
        return None
    space, kind, _ = memory_form(instruction.opcode)
    if space not in ("global", "shared"):
        return None
    value, memory = instruction.operands[:2] if name == "ld" else instruction.operands[1::-1]
    count = len(value.items) if isinstance(value, Vec) else 1
    return _Access((name, space), instruction.ptx_line, memory.base, memory.offset, SIZES[kind] * count)  # type: ignore[union-attr]
