"""A function's instructions -> basic blocks, and which registers live where."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from .isa import TABLE
from .opcodes import family, is_warp_sync
from .ptx import Function, Instruction, Label, Mem, Operand, Pair, Reg, Sym, Vec

BUILTINS = ("vprintf", "__assertfail")
CARRY = "%cc"
_ENDINGS = {"bra": "branch", "brx": "switch", "ret": "return", "exit": "exit", "trap": "trap",
            "bar": "barrier", "barrier": "barrier"}  # fmt: skip
_NO_RESULT = ("st", "red", "bra", "brx", "ret", "exit", "bar", "barrier", "trap", "membar", "fence")


@dataclass
class RawBlock:
    """Instructions up to a point where control may go elsewhere.

    `ending` is "next", "branch", "switch", "barrier", "call", "return", "exit" or "trap"; `condition` is
    the branch's predicate; a branch made only to skip a predicated instruction is no `real_branch`.
    """

    label: str | None = None
    instructions: list[Instruction] = field(default_factory=list)
    ending: str = "next"
    condition: Reg | None = None
    target: str | None = None
    real_branch: bool = False
    synced: bool = False


def _ending(instruction: Instruction) -> str | None:
    """How an instruction ends its block; None where control simply goes on."""
    name, parts = family(instruction.opcode), instruction.opcode.split(".")
    if name == "call":
        return None if callee(instruction) in BUILTINS else "call"
    if name in ("bar", "barrier") and {"warp", "arrive", "cluster"} & set(parts):
        return None
    return _ENDINGS.get(name)


def callee(instruction: Instruction) -> str:
    """Name of the function a `call` names directly; "" for a call through a pointer."""
    return next((operand.name for operand in instruction.operands if isinstance(operand, Sym)), "")


def split_blocks(function: Function) -> list[RawBlock]:
    """Cut a function's body into basic blocks, in text order."""
    cutter = _Cutter()
    for item in function.body:
        if isinstance(item, Label):
            cutter.start(item.name)
        else:
            cutter.add(item)
    last = cutter.blocks[-1]
    if last.ending == "next":
        last.ending = "return"
    return cutter.blocks


class _Cutter:
    def __init__(self) -> None:
        self.blocks = [RawBlock()]
        self.skips = 0

    def start(self, label: str | None = None) -> None:
        """Begin a new block unless the current one is still empty and unnamed."""
        current = self.blocks[-1]
        if current.instructions or current.label or current.ending != "next":
            self.blocks.append(RawBlock(label))
        else:
            current.label = label

    def add(self, instruction: Instruction) -> None:
        """Append one instruction to the current block, and close the block where control may leave it."""
        ending = _ending(instruction)
        if ending == "barrier" and "red" in instruction.opcode.split(".") and instruction.guard is None:
            self.reduction(instruction)
            return
        if instruction.guard is not None and ending != "branch" and not _selectable(instruction):
            self.guarded(instruction)
            return
        if is_warp_sync(instruction.opcode):
            self.start()
            self.blocks[-1].synced = True
        self.blocks[-1].instructions.append(instruction)
        if ending is not None:
            self.end(instruction, ending)

    def guarded(self, instruction: Instruction) -> None:
        """`@p instruction` -> a branch around it."""
        self.skips += 1
        around = f"#skip{self.skips}"
        guard = instruction.guard
        assert guard is not None
        block = self.blocks[-1]
        block.ending, block.target = "branch", around
        block.condition = Reg(guard.name, not guard.negated)
        self.start()
        self.add(replace(instruction, guard=None))
        self.start(around)

    def reduction(self, instruction: Instruction) -> None:
        """`bar.red.op d, a, b, p` -> vote, wait, read the result (the barrier ends a block)."""
        result, number, *count, predicate = instruction.operands
        operation = next((p for p in ("popc", "and", "or") if p in instruction.opcode.split(".")), "")
        helper = replace(instruction, opcode="param.vote", operands=[number, predicate])
        self.blocks[-1].instructions += [helper, replace(instruction, operands=[number, *count])]
        self.end(instruction, "barrier")
        read = replace(instruction, opcode=f"param.votes.{operation}", operands=[result, number])
        self.blocks[-1].instructions.append(read)

    def end(self, instruction: Instruction, ending: str) -> None:
        """Close the current block."""
        block = self.blocks[-1]
        block.ending = ending
        if ending == "branch":
            block.target = instruction.operands[0].name  # type: ignore[union-attr]
            block.condition = instruction.guard
            block.real_branch = True
            if instruction.guard is None:
                block.ending = "next"
        self.start()


def _selectable(instruction: Instruction) -> bool:
    """Plain arithmetic: computing it and choosing per lane is the same as skipping it."""
    entry = TABLE.get(instruction.opcode)
    plain = (entry is not None and entry.kind == "lane") or family(instruction.opcode) == "mov"
    return plain and not any(isinstance(operand, Vec | Pair) for operand in instruction.operands)


# -- registers read and written --------------------------------------------------


def registers_of(operand: Operand) -> list[str]:
    """Register names an operand mentions."""
    if isinstance(operand, Reg):
        return [operand.name]
    if isinstance(operand, Vec):
        return [name for item in operand.items for name in registers_of(item)]
    if isinstance(operand, Pair):
        return [operand.first.name, operand.second.name]
    if isinstance(operand, Mem):
        return registers_of(operand.base)
    return []


def reads_writes(instruction: Instruction) -> tuple[list[str], list[str]]:
    """(registers read, registers written); `.param` accesses must have been rewritten to registers."""
    name, operands = family(instruction.opcode), instruction.operands
    if name == "call":
        at = next(k for k, operand in enumerate(operands) if isinstance(operand, Sym))
        return ([r for operand in operands[at + 1 :] for r in registers_of(operand)],
                [r for operand in operands[:at] for r in registers_of(operand)])  # fmt: skip
    entry = TABLE.get(instruction.opcode) or TABLE.get(instruction.opcode + "|")
    no_result = name in _NO_RESULT or instruction.opcode == "param.vote"
    writes = [] if no_result or not operands else registers_of(operands[0])
    reads = [r for operand in (operands if no_result else operands[1:]) for r in registers_of(operand)]
    if operands and isinstance(operands[0], Mem):
        reads = [r for operand in operands for r in registers_of(operand)]
        writes = []
    if entry is not None and "cc" in entry.operands:
        reads.append(CARRY)
    if entry is not None and "cc" in entry.results:
        writes.append(CARRY)
    if instruction.guard is not None:
        reads += [instruction.guard.name, *writes]
    return reads, writes


def use_and_define(block: RawBlock) -> tuple[set[str], set[str]]:
    """Registers a block reads before writing them, and registers it writes."""
    used: set[str] = set()
    defined: set[str] = set()
    for instruction in block.instructions:
        reads, writes = reads_writes(instruction)
        used |= set(reads) - defined
        defined |= set(writes)
    if block.condition is not None and block.condition.name not in defined:
        used.add(block.condition.name)
    return used, defined


def live_in(blocks: list[RawBlock], successors: list[list[int]]) -> list[set[str]]:
    """Registers whose value at the start of each block may still be read (backward data flow)."""
    facts = [use_and_define(block) for block in blocks]
    live = [set(used) for used, _ in facts]
    changed = True
    while changed:
        changed = False
        for number in range(len(blocks) - 1, -1, -1):
            used, defined = facts[number]
            after = set().union(*(live[successor] for successor in successors[number]))
            found = used | (after - defined)
            if found != live[number]:
                live[number] = found
                changed = True
    return live


def address_registers(function: Function) -> set[str]:
    """Registers that serve as addresses, or are added to make one: they may hold an Address."""
    found = {
        operand.base.name
        for item in function.body
        if isinstance(item, Instruction)
        for operand in item.operands
        if isinstance(operand, Mem) and isinstance(operand.base, Reg)
    }
    adds = ("add.s64", "add.u64", "add.s32", "add.u32", "mov.u64", "mov.b64", "mov.u32", "mov.b32")
    changed = True
    while changed:
        changed = False
        for item in function.body:
            if not isinstance(item, Instruction) or not (
                item.opcode in adds or item.opcode.startswith("cvta")
            ):
                continue
            target, *sources = item.operands
            if isinstance(target, Reg) and target.name in found:
                new = {source.name for source in sources if isinstance(source, Reg)} - found
                found |= new
                changed = changed or bool(new)
    return found
