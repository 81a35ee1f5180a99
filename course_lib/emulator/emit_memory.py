"""Loads, stores and atomics of every state space, and parameters."""

from __future__ import annotations

import numpy as np

from .emit import Emitter, emits
from .emit_moves import pack, unpack
from .isa import TABLE
from .isa.table import DTYPES
from .isa.table import Instruction as Entry
from .opcodes import memory_form, space_of
from .ptx import SIZES, Instruction, Mem, Operand, Reg, Sym, Vec
from .storage import value_type

_NOT_PLAIN = ("async", "bulk", "mmio", "multimem")
_WAITING = ("volatile", "acquire", "relaxed")


def _check_form(emitter: Emitter, instruction: Instruction, memory: Operand) -> None:
    """Refuse forms that only look like a plain access."""
    if (
        not isinstance(memory, Mem)
        or memory.coordinates
        or set(_NOT_PLAIN) & set(instruction.opcode.split("."))
    ):
        raise emitter.refuse(f"PTX instruction {instruction.opcode}")
    if instruction.opcode.split(".")[-1] not in SIZES or instruction.opcode.endswith("b128"):
        raise emitter.refuse(f"PTX instruction {instruction.opcode}")
    if "shared::cluster" in instruction.opcode:
        raise emitter.refuse("memory of another block of a cluster")


def _space(emitter: Emitter, memory: Mem, opcode: str) -> str:
    """State space of an access; that of the variable where it names one by a generic opcode."""
    space = space_of(opcode)
    if space == "generic" and isinstance(memory.base, Sym):
        return emitter.symbols.get(memory.base.name, ("global", 0))[0]
    return space


@emits("ld", "ldu")
def emit_ld(emitter: Emitter, instruction: Instruction, site: int) -> None:
    """Loads, scalar and vector."""
    target, source = instruction.operands[:2]
    _check_form(emitter, instruction, source)
    assert isinstance(source, Mem)
    parts = instruction.opcode.split(".")
    emitter.spins |= any(part in _WAITING for part in parts)
    targets = list(target.items) if isinstance(target, Vec) else [target]
    code = value_type(parts[-1])
    space = _space(emitter, source, instruction.opcode)
    if space == "param" and isinstance(source.base, Sym):
        _load_parameter(emitter, targets, source, code)
        return
    base, offset = emitter.address_of(source)
    variables = [emitter.fresh() for _ in targets]
    call = f'F.load("{space}", {base}, {offset}, {emitter.dtype(code)}, {len(targets)}, {site})'
    emitter.lines.append(f"{', '.join(variables)} = {call}")
    for item, variable in zip(targets, variables, strict=True):
        emitter.write(item, variable, code)


def _load_parameter(emitter: Emitter, targets: list[Operand], source: Mem, code: str) -> None:
    """A kernel parameter at a fixed offset: one value for all threads."""
    assert isinstance(source.base, Sym)
    if source.base.name not in emitter.symbols:
        raise emitter.refuse(f"this access to parameter {source.base.name}")
    offset = emitter.symbols[source.base.name][1] + source.offset + source.base.offset
    for k, target in enumerate(targets):
        at = offset + k * DTYPES[code].itemsize
        emitter.write(target, emitter.assign(f'F.parameter({at}, "{DTYPES[code].name}")'), code)


@emits("st")
def emit_st(emitter: Emitter, instruction: Instruction, site: int) -> None:
    """Stores, scalar and vector."""
    target, source = instruction.operands[:2]
    _check_form(emitter, instruction, target)
    assert isinstance(target, Mem)
    items = source.items if isinstance(source, Vec) else (source,)
    code = value_type(instruction.opcode.split(".")[-1])
    space = _space(emitter, target, instruction.opcode)
    base, offset = emitter.address_of(target)
    values = ", ".join(emitter.read(item, code) for item in items)
    emitter.lines.append(f'F.store("{space}", {base}, {offset}, [{values}], {emitter.dtype(code)}, {site})')


@emits("createpolicy")
def emit_createpolicy(emitter: Emitter, instruction: Instruction, site: int) -> None:
    """A cache policy is an opaque number that only loads and stores look at; here it does nothing."""
    emitter.write(instruction.operands[0], emitter.constant(np.uint64(0)), "u64")


@emits("param")
def emit_param(emitter: Emitter, instruction: Instruction, site: int) -> None:
    """Helpers that stand for no instruction of the PTX, and are not counted.

    `param.put`, `param.get`: arguments and results of device functions (made by `calls`);
    `param.vote`, `param.votes`: before and behind the barrier of a `bar.red` (made by `blocks`).
    """
    _, what, *kinds = instruction.opcode.split(".")
    target, source = instruction.operands
    if what == "vote":
        emitter.lines.append(f"F.vote({emitter.read(target, 'u32')}, {emitter.read(source, 'pred')})")
        return
    kind = kinds[0]
    if what == "votes":
        call = f'F.votes({emitter.read(source, "u32")}, "{kind}")'
        emitter.write(target, emitter.assign(call), "u32" if kind == "popc" else "pred")
        return
    bits = f"b{8 * SIZES[kind]}"
    if isinstance(target, Vec):
        unpack(emitter, target, source, bits)
    elif isinstance(source, Vec):
        pack(emitter, target, source, bits)
    else:
        code = value_type(kind)
        emitter.write(target, emitter.read(source, code), code)


# -- atomics -------------------------------------------------------------------------


@emits("atom")
def emit_atom(emitter: Emitter, instruction: Instruction, site: int) -> None:
    """Atomic read-modify-write."""
    emitter.spins = True
    _atomic(emitter, instruction, instruction.operands[0], list(instruction.operands[1:]), site)


@emits("red")
def emit_red(emitter: Emitter, instruction: Instruction, site: int) -> None:
    """Atomic without a result."""
    _atomic(emitter, instruction, Reg("_"), list(instruction.operands), site)


def _entry(emitter: Emitter, opcode: str, space: str) -> Entry:
    """The table's entry of an atomic: an own one for this space, or the common one."""
    _, kind, operation = memory_form(opcode)
    flush = ".noftz" if "noftz" in opcode else ""
    for prefix in (f"atom.{space}.", "atom."):
        entry = TABLE.get(f"{prefix}{operation}{flush}.{kind}")
        if entry is not None:
            return entry
    raise emitter.refuse(f"PTX instruction {opcode}")


def _atomic(
    emitter: Emitter, instruction: Instruction, target: Operand, operands: list[Operand], site: int
) -> None:
    memory = operands[0]
    _check_form(emitter, instruction, memory)
    assert isinstance(memory, Mem)
    space = _space(emitter, memory, instruction.opcode)
    entry = _entry(emitter, instruction.opcode, space)
    base, offset = emitter.address_of(memory)
    code = entry.results[0]
    targets = target.items if isinstance(target, Vec) else (target,)
    columns = [
        operand.items if isinstance(operand, Vec) else (operand,)
        for operand in operands[1 : len(entry.operands)]
    ]
    if isinstance(target, Reg) and target.name == "_" and len(columns[0]) > 1:
        targets = (target,) * len(columns[0])
    function = emitter.function(entry.function, entry.opcode)
    for k, (item, *values) in enumerate(zip(targets, *columns, strict=True)):
        read = ", ".join(
            emitter.read(v, wanted) for v, wanted in zip(values, entry.operands[1:], strict=True)
        )
        place = f'"{space}", {base}, {offset + k * DTYPES[code].itemsize}'
        wanted = not (isinstance(item, Reg) and item.name == "_")
        call = f"F.atomic({place}, {function}, [{read}], {emitter.dtype(code)}, {site}, {wanted})"
        emitter.write(item, emitter.assign(call), code)
