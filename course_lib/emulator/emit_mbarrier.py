"""mbarrier instructions, and copies that complete at one."""

from __future__ import annotations

import numpy as np

from . import mbarrier
from .emit import Emitter, emits
from .opcodes import space_of
from .ptx import Instruction, Mem, Operand, Reg

_KNOWN = ("init", "inval", "arrive", "arrive_drop", "test_wait", "try_wait")


def _place(emitter: Emitter, instruction: Instruction, operand: Operand) -> str:
    """State space, address and offset, as arguments."""
    if not isinstance(operand, Mem) or "shared::cluster" in instruction.opcode:
        raise emitter.refuse(f"PTX instruction {instruction.opcode}")
    base, offset = emitter.address_of(operand)
    return f'"{space_of(instruction.opcode)}", {base}, {offset}'


def _call(emitter: Emitter, function: object, name: str, arguments: str) -> str:
    return f"{emitter.function(function, 'mbarrier_' + name)}(F, {arguments})"


@emits("mbarrier")
def emit_mbarrier(emitter: Emitter, instruction: Instruction, site: int) -> None:
    """mbarrier.init, inval, arrive, arrive_drop, test_wait and try_wait; no transactions (`expect_tx`)."""
    parts = instruction.opcode.split(".")
    operation, operands = parts[1], list(instruction.operands)
    if operation not in _KNOWN or "expect_tx" in parts or "noComplete" in parts:
        raise emitter.refuse(f"PTX instruction {instruction.opcode}")
    emitter.spins |= "wait" in operation
    if operation in ("init", "inval"):
        place = _place(emitter, instruction, operands[0])
        if operation == "init":
            arguments = f"{place}, {emitter.read(operands[1], 'u32')}, {site}"
            emitter.lines.append(_call(emitter, mbarrier.init, "init", arguments))
        else:
            emitter.lines.append(_call(emitter, mbarrier.invalidate, "inval", f"{place}, {site}"))
    elif operation.startswith("arrive"):
        _arrive(emitter, instruction, operands, operation == "arrive_drop", site)
    else:
        _wait(emitter, instruction, operands, "parity" in parts, site)


def _arrive(
    emitter: Emitter, instruction: Instruction, operands: list[Operand], drop: bool, site: int
) -> None:
    target: Operand = Reg("_") if isinstance(operands[0], Mem) else operands.pop(0)
    one = emitter.constant(np.uint32(1))
    count = emitter.read(operands[1], "u32") if len(operands) > 1 else one
    arguments = f"{_place(emitter, instruction, operands[0])}, {count}, {drop}, {site}"
    emitter.write(target, emitter.assign(_call(emitter, mbarrier.arrive, "arrive", arguments)), "u64")


def _wait(
    emitter: Emitter, instruction: Instruction, operands: list[Operand], parity: bool, site: int
) -> None:
    target, memory, token, *_ = operands  # a time limit only says how long to wait
    value = emitter.read(token, "u32" if parity else "u64")
    arguments = f"{_place(emitter, instruction, memory)}, {value}, {parity}, {site}"
    emitter.write(target, emitter.assign(_call(emitter, mbarrier.is_complete, "wait", arguments)), "pred")


def emit_tie(emitter: Emitter, instruction: Instruction, site: int) -> None:
    """cp.async.mbarrier.arrive."""
    place = _place(emitter, instruction, instruction.operands[0])
    counted = "noinc" in instruction.opcode.split(".")
    emitter.lines.append(_call(emitter, mbarrier.tie_copies, "tie", f"{place}, {counted}, {site}"))
