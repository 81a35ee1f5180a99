"""PTX instructions -> lines of Python, one basic block at a time.

A block becomes one function of the register list `R` and the fragment `F`. Within it
every register value is a local variable; a `mov` costs nothing, and a value is viewed
as another type (u32 as f32, say) only where an instruction asks for it.

Instructions of the table (`isa`) are emitted here. For everything else a handler is
registered with `emits`: see emit_moves, emit_memory and emit_control.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from .blocks import CARRY
from .errors import UnsupportedError
from .isa import TABLE
from .isa.table import DTYPES
from .layout import Symbols
from .opcodes import family
from .ptx import Imm, Instruction, Mem, Operand, Pair, Reg, Sym
from .special import special_register
from .storage import CANONICAL, immediate

NO_EFFECT = (
    "membar",
    "fence",
    "prefetch",
    "prefetchu",
    "applypriority",
    "discard",
    "griddepcontrol",
    "pmevent",
)
_ADDS = ("add.s64", "add.u64", "add.s32", "add.u32")

Handler = Callable[["Emitter", Instruction, int], None]
HANDLERS: dict[str, Handler] = {}


def emits(*families: str) -> Callable[[Handler], Handler]:
    """Register the handler of instruction families (`ld`, `mov`, ...): it adds Python lines to an Emitter."""

    def register(handler: Handler) -> Handler:
        for name in families:
            if name in HANDLERS:
                raise ValueError(f"{name} has two handlers")
            HANDLERS[name] = handler
        return handler

    return register


class Emitter:
    """Collects the Python lines of one block. `namespace` is shared by a whole program."""

    def __init__(self, types: dict[str, str], numbers: dict[str, int], addresses: set[str],
                 symbols: Symbols, namespace: dict, place: str, entry: bool = True) -> None:  # fmt: skip
        self.types, self.numbers, self.addresses = types, numbers, addresses
        self.symbols, self.namespace, self.place, self.entry = symbols, namespace, place, entry
        self.lines: list[str] = []
        self.versions: dict[str, dict[str, str]] = {}
        self.addressed: dict[str, str] = {}
        self.loaded: dict[str, str] = {}
        self.spins = False

    # -- values ---------------------------------------------------------------

    def fresh(self) -> str:
        """A new local variable (numbered per program, so names never clash)."""
        number = self.namespace["_count"] = self.namespace["_count"] + 1
        return f"v{number}"

    def assign(self, expression: str) -> str:
        """Bind an expression to a new local variable."""
        variable = self.fresh()
        self.lines.append(f"{variable} = {expression}")
        return variable

    def constant(self, value: np.generic) -> str:
        """A name bound to a NumPy scalar."""
        name = f"k_{value.dtype.name}_{value.tobytes().hex()}"
        self.namespace[name] = value
        return name

    def function(self, callable_: object, name: str) -> str:
        """A name bound to a function of the instruction table."""
        safe = "op_" + "".join(c if c.isalnum() else "_" for c in name)
        self.namespace[safe] = callable_
        return safe

    def dtype(self, code: str) -> str:
        """A name bound to a NumPy dtype."""
        self.namespace[f"t_{code}"] = DTYPES[code]
        return f"t_{code}"

    def _version(self, register: str) -> dict[str, str]:
        known = self.versions.get(register)
        if known is None:
            if register not in self.types:
                raise self.refuse(f"register {register}, which is not declared,")
            stored = self.assign(f"R[{self.numbers[register]}]")
            if register in self.addresses:
                stored = self.assign(f"lanes({stored})")
            self.loaded[register] = stored
            known = self.versions[register] = {self.types[register]: stored}
        return known

    def read(self, operand: Operand, code: str) -> str:
        """Expression of an operand as type `code`."""
        if isinstance(operand, Imm):
            return self.constant(immediate(operand, code))
        if isinstance(operand, Sym):
            return self.symbol(operand)
        if not isinstance(operand, Reg):
            raise self.refuse(f"operand {operand}")
        if operand.name not in self.types:
            return special_register(self, operand.name, code)
        value = self.value_as(operand.name, code)
        return self.assign(f"~{value}") if operand.negated else value

    def value_as(self, register: str, code: str) -> str:
        """A register's value as type `code`."""
        if register in self.addressed and register not in self.versions:
            self.versions[register] = {
                self.types[register]: self.assign(f"lanes({self.addressed[register]})")
            }
        known = self._version(register)
        if code not in known:
            have, variable = next(iter(known.items()))
            known[code] = self.convert(variable, have, code)
        return known[code]

    def convert(self, variable: str, have: str, want: str) -> str:
        """The same bits as another type; a wider destination is extended as `have` is signed or not."""
        if have == want:
            return variable
        size, wanted = DTYPES[have].itemsize, DTYPES[want].itemsize
        if size == wanted:
            return self.assign(f"{variable}.view({self.dtype(want)})")
        if have[0] == "f":
            variable, have = self.convert(variable, have, CANONICAL[size]), CANONICAL[size]
        extended = (have[0] if wanted > size else "u") + str(8 * wanted)
        if wanted < size and have[0] == "s":
            variable = self.convert(variable, have, CANONICAL[size])
        variable = self.assign(f"{variable}.astype({self.dtype(extended)})")
        return self.convert(variable, extended, want)

    def write(self, operand: Operand, variable: str, code: str) -> None:
        """Bind a destination register to a value of type `code`."""
        if not isinstance(operand, Reg):
            raise self.refuse(f"destination {operand}")
        register = operand.name
        if register == "_":
            return
        if register not in self.types:
            raise self.refuse(f"destination {register}")
        stored = self.types[register]
        if DTYPES[stored].itemsize != DTYPES[code].itemsize:
            variable, code = self.convert(variable, code, stored), stored
        self.versions[register] = {code: variable}
        self.addressed.pop(register, None)

    def write_address(self, target: Reg, variable: str) -> None:
        """Bind a destination register, one of `addresses`, to an Address."""
        self.versions.pop(target.name, None)
        self.addressed[target.name] = variable

    def refuse(self, what: str) -> UnsupportedError:
        """The error for something that is not emulated, with its place in the CUDA source."""
        return UnsupportedError(f"{self.place}: {what} is not emulated")

    def symbol(self, symbol: Sym) -> str:
        """Expression of a variable's address (in its own state space)."""
        space, offset = self.symbols.get(symbol.name, ("", 0))
        offset += symbol.offset
        if symbol.name == "WARP_SZ":
            return self.constant(np.uint32(32))
        if space == "shared" or (space == "local" and self.entry):
            return self.constant(np.uint64(offset))
        if space == "local":
            return self.assign(f"F.frame_address({offset})")
        if space == "param":
            return self.assign(f"F.parameter_address({offset})")
        if space == "":
            raise self.refuse(f"the address of {symbol.name}")
        return self.assign(f'F.symbol("{symbol.name}", {offset})')

    # -- addresses ------------------------------------------------------------

    def address_of(self, memory: Mem) -> tuple[str, int]:
        """(expression holding an Address or a scalar, constant offset)."""
        base = memory.base
        if isinstance(base, Sym):
            return self.symbol(base), memory.offset
        if isinstance(base, Imm):
            return self.constant(immediate(base, "u64")), memory.offset
        return self._address_register(base.name), memory.offset

    def _address_register(self, register: str) -> str:
        if register not in self.addressed:
            if register in self.versions:
                self.addressed[register] = self.assign(
                    f"address({self.value_as(register, self.types[register])})"
                )
            elif register not in self.types:
                raise self.refuse(f"{register} as an address")
            else:
                number = self.numbers[register]
                self.addressed[register] = self.assign(f"address(R[{number}])")
                self.lines.append(f"R[{number}] = {self.addressed[register]}")
        return self.addressed[register]

    def address_source(self, operand: Operand, code: str) -> str:
        """An operand of an addition that makes an address: an Address where it varies between lanes.

        Arrays indexed alike then share one AddressBase, and what is learnt of it.
        """
        if isinstance(operand, Reg) and operand.name in self.addresses and not operand.negated:
            return self._address_register(operand.name)
        return self.read(operand, code)

    # -- one instruction ------------------------------------------------------

    def instruction(self, instruction: Instruction, site: int) -> None:
        """Emit one instruction (not the one that ends the block)."""
        if ".b128" in instruction.opcode:
            raise self.refuse(f"PTX instruction {instruction.opcode}")
        if instruction.guard is None:
            self._emit(instruction, site)
            return
        target = instruction.operands[0]
        if not isinstance(target, Reg) or target.name not in self.types:
            raise self.refuse(f"destination {target}")
        code = self.types[target.name]
        guard, before = self.read(instruction.guard, "pred"), self.read(target, code)
        self._emit(instruction, site, guard)
        after = self.read(target, code)
        self.write(target, self.assign(f"select({guard}, {after}, {before})"), code)

    def _emit(self, instruction: Instruction, site: int, guard: str = "True") -> None:
        name = family(instruction.opcode)
        entry = TABLE.get(instruction.opcode) or TABLE.get(instruction.opcode + "|")
        if name in ("div", "rem") and instruction.opcode.split(".")[-1][0] in "su":
            self._check_divisor(instruction, site, guard)
        if entry is not None and entry.kind != "atomic":
            self.table(instruction, site)
        elif name in HANDLERS:
            HANDLERS[name](self, instruction, site)
        elif name not in NO_EFFECT:
            raise self.refuse(f"PTX instruction {instruction.opcode}")

    def table(self, instruction: Instruction, site: int) -> None:
        """An instruction of the table: read operands, call, write results."""
        operands = list(instruction.operands)
        paired = bool(operands) and isinstance(operands[0], Pair)
        entry = TABLE.get(instruction.opcode + "|" if paired else instruction.opcode)
        if entry is None:
            raise self.refuse(f"this form of PTX instruction {instruction.opcode}")
        if entry.opcode in _ADDS and isinstance(operands[0], Reg) and operands[0].name in self.addresses:
            self._add_address(operands[0], operands[1:])
            return
        results: list[Operand] = []
        if any(code != "cc" for code in entry.results):
            first = operands.pop(0)
            results = [first.first, first.second] if isinstance(first, Pair) else [first]
        values = ", ".join(self._sources(operands, entry.operands, instruction.opcode))
        call = self.function(entry.function, entry.opcode)
        variables = [self.fresh() for _ in entry.results]
        if entry.kind == "warp":
            self.lines.append(f"{', '.join(variables)}, = F.warp({call}, [{values}], {site})")
        else:
            self.lines.append(f"{', '.join(variables)} = {call}({values})")
        destinations = iter(results)
        for code, variable in zip(entry.results, variables, strict=True):
            self.write(Reg(CARRY) if code == "cc" else next(destinations), variable, code)

    def _check_divisor(self, instruction: Instruction, site: int, guard: str) -> None:
        """Integer division by zero is reported, unless the divisor is a number in the code."""
        divisor = instruction.operands[-1]
        if not isinstance(divisor, Imm):
            value = self.read(divisor, instruction.opcode.split(".")[-1])
            self.lines.append(f"F.check_divisor({value}, {guard}, {site})")

    def _sources(self, operands: list[Operand], codes: tuple[str, ...], opcode: str) -> Iterator[str]:
        """The operands of a table entry, as it wants them; the carry flag is an operand of its own."""
        if len(operands) != len(codes) - codes.count("cc"):
            raise self.refuse(f"{opcode} with {len(operands)} source operands")
        remaining = iter(operands)
        for code in codes:
            yield self.value_as(CARRY, "cc") if code == "cc" else self.read(next(remaining), code)

    def _add_address(self, target: Reg, operands: list[Operand]) -> None:
        stored = self.types[target.name]
        left, right = (self.address_source(operand, stored) for operand in operands)
        self.write_address(target, self.assign(f"add_address({left}, {right})"))
