"""mov, cvta and isspacep: values and addresses that only change place or name."""

from __future__ import annotations

import numpy as np

from .emit import Emitter, emits
from .isa.table import DTYPES
from .memory import LOCAL_WINDOW, SHARED_WINDOW, WINDOW_SIZE
from .opcodes import space_of
from .ptx import SIZES, Instruction, Operand, Reg, Sym, Vec
from .storage import CANONICAL, value_type

_WINDOWS = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}


@emits("mov")
def emit_mov(emitter: Emitter, instruction: Instruction, site: int) -> None:
    """mov, also packing and unpacking `{lo, hi}`, and vectors element by element."""
    *_, kind = instruction.opcode.split(".")
    target, source = instruction.operands
    if isinstance(target, Vec) and isinstance(source, Vec):
        values = [emitter.read(item, value_type(kind)) for item in source.items]
        for item, value in zip(target.items, values, strict=True):
            emitter.write(item, value, value_type(kind))
    elif isinstance(target, Vec):
        unpack(emitter, target, source, kind)
    elif isinstance(source, Vec):
        pack(emitter, target, source, kind)
    elif isinstance(source, Reg) and source.name in emitter.addressed and _holds_address(emitter, target):
        emitter.write_address(target, emitter.addressed[source.name])
    else:
        code = value_type(kind)
        value = emitter.read(source, code)
        if isinstance(source, Sym):
            value = emitter.assign(f"{value}.astype({emitter.dtype(code)})")
        emitter.write(target, value, code)


def _holds_address(emitter: Emitter, target: Operand) -> bool:
    return isinstance(target, Reg) and target.name in emitter.addresses


def pack(emitter: Emitter, target: Operand, source: Vec, kind: str) -> None:
    """`{lo, hi}` -> one value of PTX type `kind`."""
    size = SIZES[kind] // len(source.items)
    part, whole = CANONICAL[size], CANONICAL[SIZES[kind]]
    pieces = []
    for k, item in enumerate(source.items):
        piece = emitter.assign(f"{emitter.read(item, part)}.astype({emitter.dtype(whole)})")
        shift = emitter.constant(DTYPES[whole].type(8 * size * k))
        pieces.append(f"({piece} << {shift})" if k else piece)
    emitter.write(target, emitter.assign(" | ".join(pieces)), whole)


def unpack(emitter: Emitter, target: Vec, source: Operand, kind: str) -> None:
    """One value of PTX type `kind` -> `{lo, hi}`."""
    size = SIZES[kind] // len(target.items)
    part, whole = CANONICAL[size], CANONICAL[SIZES[kind]]
    value = emitter.read(source, whole)
    for k, item in enumerate(target.items):
        shift = emitter.constant(DTYPES[whole].type(8 * size * k))
        emitter.write(item, emitter.assign(f"({value} >> {shift}).astype({emitter.dtype(part)})"), part)


@emits("cvta")
def emit_cvta(emitter: Emitter, instruction: Instruction, site: int) -> None:
    """Generic address <-> address in a state space: global, const and param addresses are generic already."""
    target, source = instruction.operands
    window = _WINDOWS.get(space_of(instruction.opcode), 0)
    back = "to" in instruction.opcode.split(".")
    if isinstance(source, Sym) and emitter.symbols.get(source.name, ("",))[0] in _WINDOWS and not window:
        raise emitter.refuse(f"{instruction.opcode} of {source.name}")
    value = emitter.address_source(source, "u64")
    if window:
        shift = emitter.constant(np.uint64((-window if back else window) % (1 << 64)))
        value = emitter.assign(f"add_address({value}, {shift})")
    else:
        value = emitter.assign(f"address({value})")  # an argument of a function is plain
    if _holds_address(emitter, target):
        emitter.write_address(target, value)
    else:
        emitter.write(target, emitter.assign(f"lanes({value})"), "u64")


@emits("isspacep")
def emit_isspacep(emitter: Emitter, instruction: Instruction, site: int) -> None:
    """Whether a generic address lies in a state space."""
    target, source = instruction.operands
    space = space_of(instruction.opcode)
    value = emitter.read(source, "u64")
    if space in _WINDOWS:
        first = emitter.constant(np.uint64(_WINDOWS[space]))
        size = emitter.constant(np.uint64(WINDOW_SIZE))
        found = emitter.assign(f"({value} - {first}) < {size}")
    else:
        found = emitter.assign(f'F.is_in("{space}", {value})')
    emitter.write(target, found, "pred")
