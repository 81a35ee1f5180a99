"""PTX -> a runnable Program: basic blocks, generated Python functions, and how calls connect them."""

from __future__ import annotations

from functools import lru_cache
from math import prod

from . import emit_control, emit_memory, emit_moves, emit_tensor  # noqa: F401 - registers what they emit
from .block_code import FunctionScope, block_code
from .blocks import CARRY, RawBlock, address_registers, callee, live_in, reads_writes, split_blocks
from .calls import lower_parameters, passed
from .chunk import Chunk
from .errors import EmulatorError, UnsupportedError
from .isa.table import DTYPES
from .layout import Layout, initial_bytes, lay_out, static_addresses, static_variables
from .opcodes import family
from .program import Block, Program
from .ptx import SIZES, Function, Instruction, Module, Reg, Sym
from .ptx_module import parse
from .storage import RUNTIME, register_type

_LEAVES = {"next": Chunk.go_on, "branch": Chunk.branch, "switch": Chunk.switch, "barrier": Chunk.barrier,
           "call": Chunk.call, "return": Chunk.leave, "exit": Chunk.leave, "trap": Chunk.trap}  # fmt: skip


# What a text that only looks like PTX can make the loader stumble over.
_UNREADABLE = (
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    AssertionError,
    SyntaxError,
    RecursionError,
)


@lru_cache(maxsize=256)
def load(ptx: str, entry: str) -> Program:
    """Make the kernel `entry` of a PTX text runnable; repeated calls return the same Program.

    Raises EmulatorError when there is no such entry, and UnsupportedError, with the instruction and
    its CUDA source line, when the kernel uses something that is not emulated.
    """
    try:
        return _load(parse(ptx), entry)
    except _UNREADABLE as error:
        raise UnsupportedError(
            f"{entry}: the PTX holds something that is not emulated ({error!r})"
        ) from error


def _load(module: Module, entry: str) -> Program:
    function = module.functions.get(entry)
    if function is None or not function.entry:
        raise EmulatorError(f"there is no kernel {entry!r} in the PTX; it has {_entries(module)}")
    _refuse_cluster(function)
    return _Loader(module, _reachable(module, function)).program()


def _entries(module: Module) -> str:
    return ", ".join(name for name, function in module.functions.items() if function.entry) or "none"


def _refuse_cluster(entry: Function) -> None:
    """`__cluster_dims__`: blocks that run together and see each other's shared memory."""
    size = entry.directives.get("reqnctapercluster", (1,))
    if prod(size) > 1:
        line = next((item.line for item in entry.body if isinstance(item, Instruction) and item.line), 0)
        told = f".reqnctapercluster {', '.join(map(str, size))}"
        raise UnsupportedError(f"{entry.name}, line {line}: {told} (thread block clusters) is not emulated")


def _reachable(module: Module, entry: Function) -> list[Function]:
    """The entry and every device function it may call, entry first."""
    found, waiting = [entry], [entry]
    while waiting:
        for item in waiting.pop().body:
            if isinstance(item, Instruction) and family(item.opcode) == "call":
                function = module.functions.get(callee(item))
                if function is not None and function not in found:
                    found.append(function)
                    waiting.append(function)
    return found


class _Loader:
    def __init__(self, module: Module, functions: list[Function]) -> None:
        self.module, self.functions = module, functions
        self.entry = functions[0].name
        self.by_name = {function.name: function for function in functions}
        self.layout: Layout = lay_out(module, functions)
        self.first_block: dict[str, int] = {}
        self.raw: dict[str, list[RawBlock]] = {}
        self.numbers: dict[tuple[str, str], int] = {}
        self.namespace: dict = {**RUNTIME, "_count": 0}
        self.instructions: list[Instruction] = []
        self.blocks: list[Block] = []
        self.source: list[str] = []

    def program(self) -> Program:
        """Build everything."""
        lower_parameters(self.functions)
        count = 0
        for function in self.functions:
            if function.registers:
                function.registers[CARRY] = "pred"
            self.raw[function.name] = split_blocks(function)
            self.first_block[function.name] = count
            count += len(self.raw[function.name])
            for register in function.registers:
                self.numbers[function.name, register] = len(self.numbers)
        for function in self.functions:
            self._function(function)
        exec(compile("\n".join(self.source), f"<{self.entry}>", "exec"), self.namespace)
        for block in self.blocks:
            block.run = self.namespace[f"b{block.number}"]
        return self._finish()

    def _finish(self) -> Program:
        entry, layout = self.functions[0], self.layout
        types = [register_type(f.registers[register]) for f in self.functions for register in f.registers]
        statics = static_variables(self.module)
        addresses = static_addresses(statics)
        return Program(
            kernel=self.entry,
            parameters=entry.parameters,
            blocks=self.blocks,
            entry_block=0,
            instructions=self.instructions,
            initial_registers=[DTYPES[code].type(0) for code in types],
            static_shared=layout.static_shared,
            local_size=layout.local_size,
            recursive=layout.recursive,
            shared_grain=self._grain(),
            variables={v.name: v for v in statics},
            directives=entry.directives,
            addresses=addresses,
            buffers={v.name: initial_bytes(v, addresses) for v in statics},
            python_source="\n".join(self.source),
            shared_arrays={n: start for n, (space, start) in layout.symbols.items() if space == "shared"},
        )

    def _grain(self) -> int:
        """Smallest width, in bytes, at which the kernel touches shared memory (at most 4)."""
        widths = [4]
        for instruction in self.instructions:
            if family(instruction.opcode) in ("ld", "st", "atom") and ".global" not in instruction.opcode:
                widths.append(SIZES.get(instruction.opcode.split(".")[-1], 4))
        return min(widths)

    # -- blocks ---------------------------------------------------------------

    # -- blocks ---------------------------------------------------------------

    def _function(self, function: Function) -> None:
        raw, first = self.raw[function.name], self.first_block[function.name]
        labels = {block.label: first + k for k, block in enumerate(raw) if block.label}
        made = [self._block(function, one, first + k, labels) for k, one in enumerate(raw)]
        for block in made:
            if max(block.successors, default=0) >= first + len(raw):
                raise UnsupportedError(f"{function.name}: control runs past the end of the function")
        self.blocks += made
        scope = self._scope(function)
        numbers = scope.numbers
        live = live_in(raw, [[n - first for n in block.successors] for block in made])
        for block, registers in zip(made, live, strict=True):
            block.live_in = sorted(numbers[name] for name in registers if name in numbers)
        for block, one in zip(made, raw, strict=True):
            after = {number for s in block.successors for number in made[s - first].live_in}
            if one.ending in ("call", "return") and one.instructions:
                after |= {numbers[name] for name in reads_writes(one.instructions[-1])[0] if name in numbers}
            self.source += block_code(scope, self.namespace, block, one, after)

    def _scope(self, function: Function) -> FunctionScope:
        types = {name: register_type(kind) for name, kind in function.registers.items()}
        numbers = {name: self.numbers[function.name, name] for name in function.registers}
        symbols = self.layout.symbols | self.layout.local[function.name]
        return FunctionScope(self.entry, types, numbers, address_registers(function), symbols, function.entry)

    def _block(self, function: Function, raw: RawBlock, number: int, labels: dict[str | None, int]) -> Block:
        start = len(self.instructions)
        self.instructions += raw.instructions
        block = Block(number, raw.instructions, range(start, len(self.instructions)), _LEAVES[raw.ending])
        block.frame = self.layout.frames[function.name]
        block.exits = raw.ending == "exit"
        if raw.ending in ("next", "branch", "barrier", "call"):
            block.following = number + 1
        if raw.target is not None:
            target = _label(function, labels, raw.target)
            if raw.ending == "next":
                block.following = target
            else:
                block.target, block.branches = target, raw.real_branch
        if raw.ending == "switch":
            table = function.tables[raw.instructions[-1].operands[-1].name]  # type: ignore[union-attr]
            block.table = tuple(_label(function, labels, label) for label in table)
        if raw.ending == "call":
            self._link_call(function, block, raw.instructions[-1])
        return block

    def _link_call(self, function: Function, block: Block, call: Instruction) -> None:
        """Note which function a call enters, and which registers are copied there and back."""
        name = callee(call)
        called = self.by_name.get(name)
        place = f"{self.entry}, line {call.line}" if call.line else self.entry
        if any(isinstance(operand, Reg) for operand in call.operands):
            raise UnsupportedError(
                f"{place}: a call through a function pointer (or of a virtual function) is not emulated"
            )
        if called is None:
            raise UnsupportedError(f"{place}: the function {name} of the device runtime is not emulated")
        block.callee = self.first_block[name]
        at = next(k for k, operand in enumerate(call.operands) if isinstance(operand, Sym))
        given, wanted = (
            [r.name for o in some for r in o.items] for some in (call.operands[at + 1 :], call.operands[:at])
        )  # type: ignore[union-attr]
        number = self.numbers
        block.arguments = tuple(
            (number[function.name, outer], number[name, inner])
            for outer, inner in passed(function, given, called, called.parameters)
        )
        block.returns = tuple(
            (number[name, inner], number[function.name, outer])
            for outer, inner in passed(function, wanted, called, called.returns)
        )


def _label(function: Function, labels: dict[str | None, int], name: str) -> int:
    if name not in labels:
        raise UnsupportedError(f"{function.name}: a branch to {name}, which is no label, is not emulated")
    return labels[name]
