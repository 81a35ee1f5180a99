"""Calls of the device runtime, barriers of a warp, and what is not a block's end though it waits."""

from __future__ import annotations

from .blocks import callee
from .emit import Emitter, emits
from .ptx import Instruction, Sym


@emits("call")
def emit_call(emitter: Emitter, instruction: Instruction, site: int) -> None:
    """vprintf and __assertfail (calls of device functions end a block and are not emitted here)."""
    operands = instruction.operands
    at = next(k for k, operand in enumerate(operands) if isinstance(operand, Sym))
    given = operands[at + 1].items if at + 1 < len(operands) else ()  # type: ignore[union-attr]
    values = ", ".join(emitter.read(item, emitter.types[item.name]) for item in given)
    result = emitter.assign(f'F.builtin("{callee(instruction)}", [{values}], {site})')
    for item in operands[0].items if at else ():  # type: ignore[union-attr]
        emitter.write(item, result, "u32")


@emits("nanosleep")
def emit_nanosleep(emitter: Emitter, instruction: Instruction, site: int) -> None:
    """Nothing happens, but other threads should run: kernels sleep while they wait."""
    emitter.spins = True


@emits("bar", "barrier")
def emit_bar(emitter: Emitter, instruction: Instruction, site: int) -> None:
    """bar.warp.sync and bar.arrive (barriers where threads wait end a block and are not emitted here)."""
    parts = instruction.opcode.split(".")
    if "cluster" in parts:
        raise emitter.refuse(f"PTX instruction {instruction.opcode} (thread block clusters)")
    if "arrive" in parts:
        number, count = (emitter.read(operand, "u32") for operand in instruction.operands)
        emitter.lines.append(f"F.arrive({number}, {count}, {site})")
    else:
        emitter.lines.append(f"F.sync_warp({emitter.read(instruction.operands[0], 'u32')}, {site})")


@emits("membar", "fence")
def emit_fence(emitter: Emitter, instruction: Instruction, site: int) -> None:
    """Fences change nothing here, where memory is always in order; race checks take note."""
    emitter.lines.append("F.fence()")
