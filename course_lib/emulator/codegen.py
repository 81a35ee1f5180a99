"""PTX -> a runnable Program: layout of variables, basic blocks, generated Python functions."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from .blocks import CARRY, RawBlock, address_registers, family, live_in, param_register, reads_writes, split_blocks
from .emit import RUNTIME, Emitter, register_type
from .errors import UnsupportedError
from .isa.table import DTYPES
from .program import Block, Program
from .ptx import SIZES, Function, Imm, Instruction, Label, Mem, Module, Reg, Sym, Variable, Vec, parse
from .run import Chunk

_LEAVES = {"next": Chunk.go_on, "branch": Chunk.branch, "switch": Chunk.switch, "barrier": Chunk.barrier,
           "call": Chunk.call, "return": Chunk.leave, "exit": Chunk.leave, "trap": Chunk.trap}  # fmt: skip


@lru_cache(maxsize=256)
def load(ptx: str, entry: str) -> Program:
    """Make the kernel `entry` of a PTX text runnable; repeated calls return the same Program.

    Raises KeyError when there is no such entry, and UnsupportedError, with the instruction and
    its CUDA source line, when the kernel uses something that is not emulated.
    """
    return _Loader(parse(ptx), entry).program()


class _Loader:
    def __init__(self, module: Module, entry: str) -> None:
        self.module, self.entry = module, entry
        function = module.functions.get(entry)
        if function is None or not function.entry:
            raise KeyError(entry)
        self.functions = self._reachable(function)
        self.static_shared, self.local_size = 0, 0
        self.symbols = self._layout()
        self.first_block: dict[str, int] = {}
        self.raw: dict[str, list[RawBlock]] = {}
        self.numbers: dict[tuple[str, str], int] = {}
        self.namespace: dict = {**RUNTIME, "_count": 0}
        self.instructions: list[Instruction] = []
        self.blocks: list[Block] = []
        self.source: list[str] = []

    def program(self) -> Program:
        """Build everything."""
        count = 0
        for function in self.functions:
            _rewrite_parameters(function)
            if function.registers:
                function.registers[CARRY] = "pred"
            self.raw[function.name] = split_blocks(function)
            self.first_block[function.name] = count
            count += len(self.raw[function.name])
        for function in self.functions:
            for register in function.registers:
                self.numbers[function.name, register] = len(self.numbers)
        for function in self.functions:
            self._function(function)
        exec(compile("\n".join(self.source), f"<{self.entry}>", "exec"), self.namespace)
        for block in self.blocks:
            block.run = self.namespace[f"b{block.number}"]
        return self._finish()

    def _finish(self) -> Program:
        entry = self.module.functions[self.entry]
        types = [register_type(f.registers[register]) for f in self.functions for register in f.registers]
        variables = {v.name: v for v in self._variables() if v.space in ("global", "const")}
        return Program(
            self.entry, entry.parameters, self.blocks, 0, self.instructions,
            [DTYPES[code].type(0) for code in types], self.static_shared, self.local_size, self._grain(),
            variables, entry.directives, {name: _initial(v) for name, v in variables.items()}, "\n".join(self.source),
        )  # fmt: skip

    # -- functions and variables ----------------------------------------------

    def _reachable(self, entry: Function) -> list[Function]:
        """The entry and every device function it may call, entry first."""
        found, waiting = [entry], [entry]
        while waiting:
            for item in waiting.pop().body:
                if isinstance(item, Instruction) and family(item.opcode) == "call":
                    callee = next((o.name for o in item.operands if isinstance(o, Sym)), "")
                    function = self.module.functions.get(callee)
                    if function is not None and function not in found:
                        found.append(function)
                        waiting.append(function)
        return found

    def _variables(self) -> list[Variable]:
        """Module variables and those of the reachable functions."""
        return [*self.module.variables.values(), *(v for f in self.functions for v in f.variables)]

    def _layout(self) -> dict[str, tuple[str, int]]:
        """Space and offset of every variable; kernel parameters too."""
        symbols: dict[str, tuple[str, int]] = {}
        for variable in self._variables():
            if variable.space == "shared" and not variable.extern:
                self.static_shared = _place(symbols, variable, self.static_shared)
            elif variable.space == "local":
                self.local_size = _place(symbols, variable, self.local_size)
            elif variable.space in ("global", "const"):
                symbols[variable.name] = (variable.space, 0)
        for variable in self._variables():
            if variable.space == "shared" and variable.extern:
                start = -(-self.static_shared // variable.align) * variable.align
                symbols[variable.name] = ("shared", start)
                self.static_shared = start
        for parameter in self.module.functions[self.entry].parameters:
            symbols[parameter.name] = ("param", parameter.offset)
        return symbols

    def _grain(self) -> int:
        """Smallest width, in bytes, at which the kernel touches shared memory (at most 4)."""
        widths = [4]
        for instruction in self.instructions:
            if family(instruction.opcode) in ("ld", "st", "atom") and ".global" not in instruction.opcode:
                widths.append(SIZES.get(instruction.opcode.split(".")[-1], 4))
        return min(widths)

    # -- blocks ---------------------------------------------------------------

    def _function(self, function: Function) -> None:
        raw, first = self.raw[function.name], self.first_block[function.name]
        labels = {block.label: first + k for k, block in enumerate(raw) if block.label}
        self._labels, self._current = labels, function
        made = [self._block(function, block, first + k, first + len(raw)) for k, block in enumerate(raw)]
        self.blocks += made
        successors = [[n - first for n in block.successors] for block in made]
        numbers = {name: self.numbers[function.name, name] for name in function.registers}
        addresses = address_registers(function)
        for block, source, live in zip(made, raw, live_in(raw, successors), strict=True):
            block.live_in = sorted(numbers[name] for name in live if name in numbers)
        for k, (block, source) in enumerate(zip(made, raw, strict=True)):
            after = set().union(*(set(made[s].live_in) for s in successors[k]))
            if source.ending in ("call", "return") and source.instructions:
                after |= {numbers[name] for name in reads_writes(source.instructions[-1])[0] if name in numbers}
            self._emit_block(function, block, source, after, numbers, addresses)

    def _block(self, function: Function, raw: RawBlock, number: int, end: int) -> Block:
        start = len(self.instructions)
        self.instructions += raw.instructions
        block = Block(number, raw.instructions, range(start, len(self.instructions)), _LEAVES[raw.ending])
        last = raw.instructions[-1] if raw.instructions else None
        if raw.ending in ("next", "branch", "barrier", "call"):
            block.following = number + 1
        if raw.ending == "next" and raw.target is not None:
            block.following = self._labels[raw.target]
        if raw.ending == "branch":
            block.target, block.branches = self._labels[raw.target], raw.real_branch
        if raw.ending == "switch":
            table = last.operands[-1].name  # type: ignore[union-attr]
            block.table = tuple(self._labels[label] for label in function.tables[table])
        if raw.ending == "call":
            self._link_call(function, block, last)  # type: ignore[arg-type]
        block.exits = raw.ending == "exit"
        if block.following >= end:
            raise UnsupportedError(f"{function.name}: control runs past the end of the function")
        return block

    def _link_call(self, function: Function, block: Block, call: Instruction) -> None:
        at = next(k for k, operand in enumerate(call.operands) if isinstance(operand, Sym))
        name = call.operands[at].name  # type: ignore[union-attr]
        callee = self.module.functions.get(name)
        if callee is None:
            raise UnsupportedError(f"{function.name}, line {call.line}: call of {name} is not emulated")
        block.callee = self.first_block[name]
        given = [r.name for r in call.operands[at + 1].items] if at + 1 < len(call.operands) else []  # type: ignore[union-attr]
        wanted = [r.name for r in call.operands[0].items] if at > 0 else []  # type: ignore[union-attr]
        block.arguments = tuple(self._pairs(function, given, callee, callee.parameters))
        block.returns = tuple((b, a) for a, b in self._pairs(function, wanted, callee, callee.returns))

    def _pairs(self, caller: Function, names: list[str], callee: Function, declared: list) -> list[tuple[int, int]]:
        """(caller's register, callee's register) numbers of every piece both sides use."""
        order: list[str] = []
        for name in names:
            stem = name.rsplit("@", 1)[0]
            if stem not in order:
                order.append(stem)
        position = caller.call_positions  # type: ignore[attr-defined]
        pairs = []
        for name in names:
            stem, offset = name.rsplit("@", 1)
            inside = f"{declared[position[stem]].name}@{offset}"
            if inside in callee.registers:
                pairs.append((self.numbers[caller.name, name], self.numbers[callee.name, inside]))
        return pairs

    def _emit_block(self, function: Function, block: Block, raw: RawBlock, after: set[int],
                    numbers: dict[str, int], addresses: set[str]) -> None:  # fmt: skip
        types = {name: register_type(kind) for name, kind in function.registers.items()}
        emitter = Emitter(types, numbers, addresses, self.symbols, self.namespace, self.entry)
        ends = raw.ending not in ("next", "branch") or raw.real_branch
        for site, instruction in zip(block.sites, block.instructions, strict=True):
            emitter.place = f"{self.entry}, line {instruction.line}" if instruction.line else self.entry
            name = family(instruction.opcode)
            if instruction is block.instructions[-1] and (ends or name == "bra"):
                continue
            emitter.instruction(instruction, site)
        outcome = self._outcome(emitter, raw, block)
        self._store_back(emitter, after, numbers)
        block.spins = emitter.spins
        block.member_mask = self._member_mask(block, numbers) if raw.synced else None
        body = [*emitter.lines, f"return {outcome}" if outcome else "return None"]
        self.source += [f"def b{block.number}(R, F):", *(f"    {line}" for line in body)]

    def _outcome(self, emitter: Emitter, raw: RawBlock, block: Block) -> str:
        last = block.instructions[-1] if block.instructions else None
        if raw.ending == "branch":
            return emitter.read(raw.condition, "pred")  # type: ignore[arg-type]
        if raw.ending == "switch":
            return emitter.read(last.operands[0], "u32")  # type: ignore[union-attr]
        if raw.ending == "barrier":
            if ".red" in last.opcode or ".arrive" in last.opcode:  # type: ignore[union-attr]
                raise UnsupportedError(f"{emitter.place}: PTX instruction {last.opcode} is not emulated")  # type: ignore[union-attr]
            operands = [emitter.read(operand, "u32") for operand in last.operands]  # type: ignore[union-attr]
            count = f"uniform({operands[1]})" if len(operands) > 1 else "None"
            emitter.namespace["uniform"] = _uniform
            return f"(uniform({operands[0]}), {count})" if operands else "(0, None)"
        return ""

    def _store_back(self, emitter: Emitter, after: set[int], numbers: dict[str, int]) -> None:
        for register, number in numbers.items():
            if number not in after:
                continue
            if register in emitter.addressed:
                emitter.lines.append(f"R[{number}] = {emitter.addressed[register]}")
            elif register in emitter.versions:
                stored = register_type(self._current.registers[register])
                variable = emitter._as(register, stored)
                if emitter.lines and f"{variable} = R[{number}]" in emitter.lines:
                    continue
                emitter.lines.append(f"R[{number}] = {variable}")

    def _member_mask(self, block: Block, numbers: dict[str, int]) -> int | np.generic:
        """The member mask of the `.sync` instruction a block starts with: a register number or a constant."""
        first = block.instructions[0]
        operand = first.operands[-1]
        if isinstance(operand, Imm):
            return np.uint32(int(operand.value()) & 0xFFFFFFFF)
        return numbers[operand.name] if isinstance(operand, Reg) and operand.name in numbers else np.uint32(0xFFFFFFFF)


def _uniform(value: np.ndarray | np.generic) -> int:
    flat = np.asarray(value).ravel()
    if (flat != flat[0]).any():
        raise UnsupportedError("a barrier number that differs between threads is not emulated")
    return int(flat[0])


def _place(symbols: dict[str, tuple[str, int]], variable: Variable, used: int) -> int:
    start = -(-used // variable.align) * variable.align
    symbols[variable.name] = (variable.space, start)
    return start + variable.size


def _initial(variable: Variable) -> np.ndarray:
    return np.frombuffer(variable.data or bytes(variable.size), np.uint8).copy()


def _rewrite_parameters(function: Function) -> None:
    """Turn `.param` accesses that belong to calls into registers, and list them in the call."""
    own = {p.name for p in (*function.parameters, *function.returns)} if not function.entry else set()
    body: list = []
    for item in function.body:
        if isinstance(item, Label) or not item.opcode.startswith(("ld.param", "st.param")):
            body.append(item)
            continue
        memory = item.operands[0] if item.opcode.startswith("st") else item.operands[1]
        if isinstance(memory, Mem) and isinstance(memory.base, Sym) and ("#" in memory.base.name or memory.base.name in own):
            body += _parameter_moves(function, item, memory)
        else:
            body.append(item)
    positions: dict[str, int] = {}
    function.body = [_rewrite_call(function, item, positions) for item in body]
    function.call_positions = positions  # type: ignore[attr-defined]


def _parameter_moves(function: Function, item: Instruction, memory: Mem) -> list[Instruction]:
    storing = item.opcode.startswith("st")
    other = item.operands[1] if storing else item.operands[0]
    kind = item.opcode.split(".")[-1]
    pieces = other.items if isinstance(other, Vec) else (other,)
    moves = []
    for k, piece in enumerate(pieces):
        offset = memory.offset + k * SIZES[kind]
        register = Reg(param_register(function, memory.base.name, offset, SIZES[kind]))  # type: ignore[union-attr]
        operands = [register, piece] if storing else [piece, register]
        opcode = f"param.{'put' if storing else 'get'}.{kind}"
        moves.append(Instruction(opcode, operands, item.guard, item.line, item.ptx_line))
    return moves


def _rewrite_call(function: Function, item: Instruction | Label, positions: dict[str, int]) -> Instruction | Label:
    if isinstance(item, Label) or family(item.opcode) not in ("call", "ret"):
        return item
    if family(item.opcode) == "ret":
        results = {p.name for p in function.returns}
        known = [Reg(r) for r in function.registers if r.rsplit("@", 1)[0] in results]
        return Instruction(item.opcode, [Vec(tuple(known))], item.guard, item.line, item.ptx_line)
    operands: list = []
    for operand in item.operands:
        if isinstance(operand, Vec):
            names = [piece.name for piece in operand.items]
            positions.update({name: k for k, name in enumerate(names)})
            known = [r for r in function.registers if "@" in r and r.rsplit("@", 1)[0] in names]
            operands.append(Vec(tuple(Reg(register) for register in known)))
        else:
            operands.append(operand)
    return Instruction(item.opcode, operands, item.guard, item.line, item.ptx_line)
