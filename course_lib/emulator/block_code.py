"""The Python function of one basic block: its instructions, what decides where to go next, registers kept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .blocks import RawBlock
from .emit import Emitter
from .layout import Symbols
from .opcodes import family
from .program import Block
from .ptx import Imm, Instruction, Reg, Sym

ALL_LANES = np.uint32(0xFFFFFFFF)
_MASKED = ("shfl", "vote", "match", "redux", "bar", "barrier", "elect")


@dataclass
class FunctionScope:
    """What the blocks of one function share: storage type and number of each register, and its symbols."""

    kernel: str
    types: dict[str, str]
    numbers: dict[str, int]
    addresses: set[str]
    symbols: Symbols
    entry: bool


def block_code(
    scope: FunctionScope, namespace: dict, block: Block, raw: RawBlock, after: set[int]
) -> list[str]:
    """Python source of a block as lines; `after` are the registers that later code reads.

    Notes in `block` whether it may spin and which lanes it waits for. Raises UnsupportedError.
    """
    emitter = Emitter(
        scope.types, scope.numbers, scope.addresses, scope.symbols, namespace, scope.kernel, scope.entry
    )
    ends = raw.ending not in ("next", "branch") or raw.real_branch
    for site, instruction in zip(block.sites, block.instructions, strict=True):
        emitter.place = f"{scope.kernel}, line {instruction.line}" if instruction.line else scope.kernel
        last = instruction is block.instructions[-1]
        if not (last and (ends or family(instruction.opcode) == "bra")):
            emitter.instruction(instruction, site)
    outcome = _outcome(emitter, raw, block)
    _store_back(emitter, after)
    block.spins = emitter.spins
    block.member_mask = _member_mask(block, scope.numbers) if raw.synced else None
    return [f"def b{block.number}(R, F):", *(f"    {line}" for line in (*emitter.lines, f"return {outcome}"))]


def _outcome(emitter: Emitter, raw: RawBlock, block: Block) -> str:
    """What the block returns: the branch condition, the index of a switch, a barrier's number and count."""
    if raw.ending == "branch":
        assert raw.condition is not None
        return emitter.read(raw.condition, "pred")
    if raw.ending not in ("switch", "barrier"):
        return "None"
    operands = [o for o in block.instructions[-1].operands if not isinstance(o, Sym)]
    values = [emitter.read(operand, "u32") for operand in operands]
    if raw.ending == "switch":
        return values[0]
    number, count = [*values, "0", "None"][:2] if len(values) != 1 else (values[0], "None")
    return f"({number}, {count})"


def _store_back(emitter: Emitter, after: set[int]) -> None:
    """Put registers that later code reads, and this block wrote, back into the list."""
    for register, number in emitter.numbers.items():
        if number not in after:
            continue
        if register in emitter.addressed:
            emitter.lines.append(f"R[{number}] = {emitter.addressed[register]}")
        elif register in emitter.versions:
            variable = emitter.value_as(register, emitter.types[register])
            if emitter.loaded.get(register) != variable:
                emitter.lines.append(f"R[{number}] = {variable}")


def _member_mask(block: Block, numbers: dict[str, int]) -> int | np.generic:
    """The member mask of the `.sync` instruction a block starts with: a register number or a constant."""
    first: Instruction = block.instructions[0]
    if family(first.opcode) not in _MASKED or not first.operands:
        return ALL_LANES
    operand = first.operands[-1]
    if isinstance(operand, Imm):
        return np.uint32(int(operand.value()) & 0xFFFFFFFF)
    return numbers[operand.name] if isinstance(operand, Reg) and operand.name in numbers else ALL_LANES
