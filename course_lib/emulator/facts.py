"""Facts about the memory instructions of a program, found once by reading it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .ptx import SIZES, Imm, Instruction, Mem, Pair, Reg, Sym, Vec

_STRONG = {"relaxed", "acquire", "release", "acq_rel"}
_FAMILIES = ("ld", "ldu", "st", "atom", "red")
_INSIDE = {"shared", "local", "const"}
_UNKNOWN = "?"
Origins = dict[str, set[str]]


@dataclass(frozen=True)
class Facts:
    """`stored`: parameters and variables the kernel may store through (None: cannot tell).

    `kept`: those whose address it may store in memory, where a later launch finds it (None: cannot tell).

    `global_grain`: smallest width, in bytes, at which it touches global memory, at most 4. `fenced`: it
    has fences of the GPU's scope together with atomic operations, volatile or ordered accesses to global
    memory, so that blocks may wait for each other; `signals`: it has such accesses to any memory.
    Instruction numbers: `volatile` accesses; `ordered` loads and stores (relaxed, acquire, release), which
    count as atomic; `releases`, which are fences too.
    """

    stored: frozenset[str] | None
    kept: frozenset[str] | None
    global_grain: int
    fenced: bool
    signals: bool
    volatile: frozenset[int]
    ordered: frozenset[int]
    releases: frozenset[int]


def facts_of(instructions: Sequence[Instruction]) -> Facts:
    """Read a program's instructions."""
    parts = [instruction.opcode.split(".") for instruction in instructions]
    memory = [site for site, words in enumerate(parts) if words[0] in _FAMILIES and "param" not in words]
    outside = [site for site in memory if not _INSIDE & {word.split("::")[0] for word in parts[site]}]
    volatile = frozenset(site for site in memory if {"volatile", "mmio"} & set(parts[site]))
    ordered = frozenset(
        site for site in memory if _STRONG & set(parts[site]) and parts[site][0] not in ("atom", "red")
    )
    releases = frozenset(site for site in memory if {"release", "acq_rel"} & set(parts[site]))
    fences = bool(releases) or any(words[0] in ("membar", "fence") and "cta" not in words for words in parts)
    signals = {site for site in memory if parts[site][0] in ("atom", "red")} | volatile | ordered
    grain = min([4, *(SIZES.get(parts[site][-1], 4) for site in outside)])
    fenced = fences and not signals.isdisjoint(outside)
    origins = None if _calls(instructions) else _origins(instructions)
    stored, kept = stored_names(instructions, origins), kept_names(instructions, origins)
    return Facts(stored, kept, grain, fenced, bool(signals), volatile, ordered, releases)


def _calls(instructions: Sequence[Instruction]) -> bool:
    return any(instruction.opcode.startswith("call") for instruction in instructions)


def _origins(instructions: Sequence[Instruction]) -> Origins:
    """For each register, the parameters and variables that its value may come from.

    Follows registers, whatever the order of the instructions. A pointer that was itself loaded from memory
    could point anywhere: it is _UNKNOWN.
    """
    origins: Origins = {}
    changed = True
    while changed:
        changed = False
        for instruction in instructions:
            targets = _targets(instruction)
            if not targets:
                continue
            found = _sources(instruction, origins)
            for name in targets:
                known = origins.setdefault(name, set())
                if not found <= known:
                    known |= found
                    changed = True
    return origins


def stored_names(instructions: Sequence[Instruction], origins: Origins | None) -> frozenset[str] | None:
    """Names of the parameters and variables whose memory the instructions may change; None: any.

    `origins` are those of the registers; None where functions are called, which may store anywhere.
    """
    if origins is None:
        return None
    stored: set[str] = set()
    for instruction in instructions:
        place = _changed_place(instruction)
        if place is not None:
            names = _names(place, origins)
            if not names or _UNKNOWN in names:
                return None
            stored |= names
    return frozenset(stored)


def kept_names(instructions: Sequence[Instruction], origins: Origins | None) -> frozenset[str] | None:
    """Names of the parameters and variables whose address the instructions may store; None: any.

    Arguments as those of `stored_names`. Local and shared memory count too: a pointer may go on from there.
    """
    stores = [one for one in instructions if _stores_pointer(one.opcode.split("."))]
    if not stores or origins is None:
        return None if stores else frozenset()
    kept: set[str] = set()
    for store in stores:
        for operand in store.operands:
            if not isinstance(operand, Mem):
                kept |= _names(operand, origins)
    return frozenset(kept)


def _stores_pointer(words: list[str]) -> bool:
    """Whether an instruction stores integers of 8 bytes; the parameters of a function are its own."""
    return words[0] in ("st", "red", "atom") and "param" not in words and words[-1] in ("b64", "u64", "s64")


def _changed_place(instruction: Instruction) -> Mem | None:
    """The memory operand of a store or an atomic operation outside shared and local memory."""
    family, *parts = instruction.opcode.split(".")
    spaces = {part.split("::")[0] for part in parts}
    if family not in ("st", "red", "atom") or spaces & {"shared", "local", "param"}:
        return None
    return next((operand for operand in instruction.operands if isinstance(operand, Mem)), None)


def _targets(instruction: Instruction) -> list[str]:
    if instruction.opcode.startswith(("st.", "red.")) or not instruction.operands:
        return []
    items = [instruction.operands[0]]
    if isinstance(items[0], Vec):
        items = list(items[0].items)
    elif isinstance(items[0], Pair):
        items = [items[0].first, items[0].second]
    return [item.name for item in items if isinstance(item, Reg)]


def _sources(instruction: Instruction, origins: Origins) -> set[str]:
    family, *parts = instruction.opcode.split(".")
    if family in ("ld", "ldu", "atom") and "param" not in parts:
        return {_UNKNOWN} if SIZES.get(parts[-1], 0) == 8 and parts[-1] != "f64" else set()
    found: set[str] = set()
    for operand in instruction.operands[1:]:
        found |= _names(operand, origins)
    return found


def _names(operand: object, origins: Origins) -> set[str]:
    if isinstance(operand, Reg):
        return origins.get(operand.name, set())
    if isinstance(operand, Sym):
        return {operand.name}
    if isinstance(operand, Mem):
        return _names(operand.base, origins)
    if isinstance(operand, Vec):
        return set().union(*(_names(item, origins) for item in operand.items))
    return set() if isinstance(operand, Imm) else {_UNKNOWN}
