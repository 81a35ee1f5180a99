"""PTX instructions -> lines of Python, one basic block at a time.

A block becomes one function of the register list `R` and the fragment `F`. Within it
every register value is a local variable; a `mov` costs nothing, and a value is viewed
as another type (u32 as f32, say) only where an instruction asks for it.
"""

from __future__ import annotations

import struct

import numpy as np

from .address import add_address, address, lanes
from .blocks import CARRY, family
from .errors import UnsupportedError
from .isa import TABLE
from .isa.table import DTYPES
from .memory import LOCAL_WINDOW, SHARED_WINDOW
from .ptx import SIZES, Imm, Instruction, Mem, Operand, Pair, Reg, Sym, Vec

SPECIAL = ("tid", "ntid", "ctaid", "nctaid", "laneid", "warpid", "lanemask_eq", "lanemask_lt", "lanemask_le",
           "lanemask_gt", "lanemask_ge")  # fmt: skip
CLOCKS = ("clock", "clock_hi", "clock64", "globaltimer", "globaltimer_lo", "globaltimer_hi")
CONSTANT_SPECIALS = {"nwarpid": 64, "smid": 0, "nsmid": 132, "gridid": 1, "total_smem_size": 233472}
NO_EFFECT = ("membar", "fence", "nanosleep", "prefetch", "prefetchu", "applypriority", "discard", "griddepcontrol")
_SPACES = ("global", "shared", "local", "const", "param")
_CANONICAL = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}


def register_type(ptx_type: str) -> str:
    """The type a register of a declared PTX type is stored as (a key of DTYPES)."""
    if ptx_type in ("pred", "f32", "f64"):
        return ptx_type
    return _CANONICAL[max(2, SIZES[ptx_type])]


def value_type(ptx_type: str) -> str:
    """The type a memory or move operand of a PTX type has (a key of DTYPES)."""
    if ptx_type in DTYPES:
        return ptx_type
    return _CANONICAL[SIZES[ptx_type]]


class Emitter:
    """Collects the Python lines of one block. `namespace` is shared by a whole program."""

    def __init__(self, types: dict[str, str], numbers: dict[str, int], addresses: set[str],
                 symbols: dict[str, tuple[str, int]], namespace: dict, line: str) -> None:  # fmt: skip
        self.types, self.numbers, self.addresses = types, numbers, addresses
        self.symbols, self.namespace, self.place = symbols, namespace, line
        self.lines: list[str] = []
        self.versions: dict[str, dict[str, str]] = {}
        self.addressed: dict[str, str] = {}
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
                raise UnsupportedError(f"{self.place}: register {register} is not declared or not emulated")
            stored = self.assign(f"R[{self.numbers[register]}]")
            if register in self.addresses:
                stored = self.assign(f"lanes({stored})")
            known = self.versions[register] = {self.types[register]: stored}
        return known

    def read(self, operand: Operand, code: str) -> str:
        """Expression of an operand as type `code`."""
        if isinstance(operand, Imm):
            return self.constant(immediate(operand, code))
        if isinstance(operand, Sym):
            return self._symbol(operand)
        if not isinstance(operand, Reg):
            raise UnsupportedError(f"{self.place}: operand {operand} is not emulated")
        if operand.name not in self.types:
            return self._special(operand.name, code)
        value = self._as(operand.name, code)
        return self.assign(f"~{value}") if operand.negated else value

    def _as(self, register: str, code: str) -> str:
        if register in self.addressed and register not in self.versions:
            self.versions[register] = {self.types[register]: self.assign(f"lanes({self.addressed[register]})")}
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
            variable, have = self.convert(variable, have, _CANONICAL[size]), _CANONICAL[size]
        extended = (have[0] if wanted > size else "u") + str(8 * wanted)
        if wanted < size and have[0] == "s":
            variable = self.convert(variable, have, _CANONICAL[size])
        variable = self.assign(f"{variable}.astype({self.dtype(extended)})")
        return self.convert(variable, extended, want)

    def write(self, operand: Operand, variable: str, code: str) -> None:
        """Bind a destination register to a value of type `code`."""
        if not isinstance(operand, Reg):
            raise UnsupportedError(f"{self.place}: destination {operand} is not emulated")
        register = operand.name
        if register == "_":
            return
        if register not in self.types:
            raise UnsupportedError(f"{self.place}: destination {register} is not emulated")
        stored = self.types[register]
        if DTYPES[stored].itemsize != DTYPES[code].itemsize:
            variable, code = self.convert(variable, code, stored), stored
        self.versions[register] = {code: variable}
        self.addressed.pop(register, None)

    def _special(self, name: str, code: str) -> str:
        bare = name.lstrip("%")
        head = bare.split(".")[0]
        if head in SPECIAL:
            return self.convert(self.assign(f'F.special("{bare}")'), "u32", code)
        if head in CLOCKS:
            return self.convert(self.assign(f'F.clock("{DTYPES[code].name}")'), code, code)
        if head in CONSTANT_SPECIALS:
            return self.constant(DTYPES[code].type(CONSTANT_SPECIALS[head]))
        if name == "WARP_SZ":
            return self.constant(DTYPES[code].type(32))
        if head in ("dynamic_smem_size",):
            return self.assign("F.dynamic_shared()")
        raise UnsupportedError(f"{self.place}: special register {name} is not emulated")

    def _symbol(self, symbol: Sym) -> str:
        if symbol.name == "WARP_SZ":
            return self.constant(np.uint32(32))
        space, offset = self.symbols.get(symbol.name, ("", 0))
        if space in ("shared", "local"):
            return self.constant(np.uint64(offset + symbol.offset))
        if space == "":
            raise UnsupportedError(f"{self.place}: the address of {symbol.name} is not emulated")
        return self.assign(f'F.symbol("{symbol.name}", {symbol.offset})')

    # -- addresses ------------------------------------------------------------

    def address_of(self, memory: Mem) -> tuple[str, int]:
        """(expression holding an Address or a scalar, constant offset)."""
        base = memory.base
        if isinstance(base, Sym):
            return self._symbol(base), memory.offset
        if isinstance(base, Imm):
            return self.constant(immediate(base, "u64")), memory.offset
        return self._address_register(base.name), memory.offset

    def _address_register(self, register: str) -> str:
        if register not in self.addressed:
            if register in self.versions:
                self.addressed[register] = self.assign(f"address({self._as(register, self.types[register])})")
            elif register not in self.types:
                raise UnsupportedError(f"{self.place}: {register} cannot be used as an address")
            else:
                number = self.numbers[register]
                self.addressed[register] = self.assign(f"address(R[{number}])")
                self.lines.append(f"R[{number}] = {self.addressed[register]}")
        return self.addressed[register]

    def _address_source(self, operand: Operand, code: str) -> str:
        """An operand of an addition that makes an address: may stay an Address."""
        if isinstance(operand, Reg) and operand.name in self.addresses and not operand.negated:
            name = operand.name
            if name in self.addressed:
                return self.addressed[name]
            if name not in self.versions:
                return self._address_register(name)
        return self.read(operand, code)

    # -- one instruction ------------------------------------------------------

    def instruction(self, instruction: Instruction, site: int) -> None:
        """Emit one instruction (not the one that ends the block)."""
        old = None
        if instruction.guard is not None:
            old = instruction.operands[0]
            code = self.types[old.name]  # type: ignore[union-attr]
            before = self.read(old, code)
        self._emit(instruction, site)
        if old is not None:
            guard = self.read(instruction.guard, "pred")  # type: ignore[arg-type]
            after = self.read(old, code)
            self.write(old, self.assign(f"select({guard}, {after}, {before})"), code)

    def _emit(self, instruction: Instruction, site: int) -> None:
        name = family(instruction.opcode)
        handler = getattr(self, f"do_{name}", None)
        entry = TABLE.get(instruction.opcode) or TABLE.get(instruction.opcode + "|")
        if entry is not None and entry.kind != "atomic":
            self.table(instruction, site)
        elif name in NO_EFFECT:
            return
        elif handler is not None:
            handler(instruction, site)
        else:
            raise UnsupportedError(f"{self.place}: PTX instruction {instruction.opcode} is not emulated")

    def table(self, instruction: Instruction, site: int) -> None:
        """An instruction of the table: read operands, call, write results."""
        paired = isinstance(instruction.operands[0], Pair) if instruction.operands else False
        entry = TABLE[instruction.opcode + "|"] if paired else TABLE[instruction.opcode]
        operands, target = list(instruction.operands), None
        if entry.kind == "lane" and entry.opcode in ("add.s64", "add.u64", "add.s32", "add.u32"):
            target = operands[0]
            if isinstance(target, Reg) and target.name in self.addresses:
                self._add_address(target, operands[1:], entry.operands[0])
                return
        results: list[Operand] = []
        if [code for code in entry.results if code != "cc"]:
            first = operands.pop(0)
            results = [first.first, first.second] if isinstance(first, Pair) else [first]
        sources = iter(operands)
        values = [
            self._carry_in() if code == "cc" else self.read(self._next(sources, instruction), code)
            for code in entry.operands
        ]
        call = self.function(entry.function, entry.opcode)
        if entry.kind == "warp":
            variables = [self.fresh() for _ in entry.results]
            self.lines.append(f"{', '.join(variables)}, = F.warp({call}, [{', '.join(values)}], {site})")
        else:
            variables = [self.fresh() for _ in entry.results]
            self.lines.append(f"{', '.join(variables)} = {call}({', '.join(values)})")
        destinations = iter(results)
        for code, variable in zip(entry.results, variables, strict=True):
            destination = Reg(CARRY) if code == "cc" else next(destinations)
            self.write(destination, variable, code)

    def _next(self, sources, instruction: Instruction) -> Operand:  # noqa: ANN001
        operand = next(sources, None)
        if operand is None:
            raise UnsupportedError(f"{self.place}: {instruction.opcode} has too few operands")
        return operand

    def _carry_in(self) -> str:
        return self._as(CARRY, "cc")

    def _add_address(self, target: Reg, operands: list[Operand], code: str) -> None:
        stored = self.types[target.name]
        left, right = (self._address_source(operand, stored) for operand in operands)
        variable = self.assign(f"add_address({left}, {right})")
        self.versions.pop(target.name, None)
        self.addressed[target.name] = variable

    # -- moves ----------------------------------------------------------------

    def do_mov(self, instruction: Instruction, site: int) -> None:
        """mov, incl. packing and unpacking of `{lo, hi}`."""
        kind = instruction.opcode.split(".")[1]
        target, source = instruction.operands
        if isinstance(target, Vec):
            self._unpack(target, source, kind)
        elif isinstance(source, Vec):
            self._pack(target, source, kind)
        elif isinstance(source, Reg) and source.name in self.addressed and isinstance(target, Reg) and (
            target.name in self.addresses
        ):
            self.versions.pop(target.name, None)
            self.addressed[target.name] = self.addressed[source.name]
        else:
            code = value_type(kind)
            self.write(target, self._moved(source, code), code)

    def _moved(self, source: Operand, code: str) -> str:
        value = self.read(source, code)
        if isinstance(source, Sym):
            return self.assign(f"{value}.astype({self.dtype(code)})")
        return value

    def _pack(self, target: Operand, source: Vec, kind: str) -> None:
        size = SIZES[kind] // len(source.items)
        part, whole = _CANONICAL[size], _CANONICAL[SIZES[kind]]
        pieces = [self.assign(f"{self.read(item, part)}.astype({self.dtype(whole)})") for item in source.items]
        shifted = [
            piece if k == 0 else f"({piece} << {self.constant(DTYPES[whole].type(8 * size * k))})"
            for k, piece in enumerate(pieces)
        ]
        self.write(target, self.assign(" | ".join(shifted)), whole)

    def _unpack(self, target: Vec, source: Operand, kind: str) -> None:
        size = SIZES[kind] // len(target.items)
        part, whole = _CANONICAL[size], _CANONICAL[SIZES[kind]]
        value = self.read(source, whole)
        for k, item in enumerate(target.items):
            shift = self.constant(DTYPES[whole].type(8 * size * k))
            self.write(item, self.assign(f"({value} >> {shift}).astype({self.dtype(part)})"), part)

    def do_cvta(self, instruction: Instruction, site: int) -> None:
        """Generic address <-> address in a state space."""
        target, source = instruction.operands
        windows = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}
        parts = instruction.opcode.split(".")
        window = next((windows[p] for p in parts if p in windows), 0)
        window = -window if "to" in parts else window
        value = self._address_source(source, "u64")
        if window:
            shift = self.constant(np.uint64(window % (1 << 64)))
            value = self.assign(f"add_address({value}, {shift})")
        if isinstance(target, Reg) and target.name in self.addresses:
            self.versions.pop(target.name, None)
            self.addressed[target.name] = value
        else:
            self.write(target, self.assign(f"lanes({value})"), "u64")

    # -- memory ---------------------------------------------------------------

    def do_ld(self, instruction: Instruction, site: int) -> None:
        """Loads of every state space, scalar and vector."""
        space, kind, _ = memory_form(instruction.opcode)
        target, source = instruction.operands[:2]
        assert isinstance(source, Mem)
        self.spins |= ".volatile" in instruction.opcode or ".acquire" in instruction.opcode or ".relaxed" in instruction.opcode
        targets = list(target.items) if isinstance(target, Vec) else [target]
        code = value_type(kind)
        if space == "param":
            return self._load_parameter(targets, source, code)
        if space == "const":
            space = "global"
        if isinstance(source.base, Sym) and space == "generic":
            space = self.symbols.get(source.base.name, ("global", 0))[0].replace("const", "global")
        base, offset = self.address_of(source)
        variables = [self.fresh() for _ in targets]
        call = f'F.load("{space}", {base}, {offset}, {self.dtype(code)}, {len(targets)}, {site})'
        self.lines.append(f"{', '.join(variables)} = {call}")
        for item, variable in zip(targets, variables, strict=True):
            self.write(item, variable, code)
        return None

    def _load_parameter(self, targets: list[Operand], source: Mem, code: str) -> None:
        if not isinstance(source.base, Sym) or source.base.name not in self.symbols:
            raise UnsupportedError(f"{self.place}: this access to a parameter is not emulated")
        offset = self.symbols[source.base.name][1] + source.offset
        for k, target in enumerate(targets):
            at = offset + k * DTYPES[code].itemsize
            self.write(target, self.assign(f'F.parameter({at}, "{DTYPES[code].name}")'), code)

    def do_st(self, instruction: Instruction, site: int) -> None:
        """Stores of every state space, scalar and vector."""
        space, kind, _ = memory_form(instruction.opcode)
        target, source = instruction.operands
        assert isinstance(target, Mem)
        items = source.items if isinstance(source, Vec) else (source,)
        code = value_type(kind)
        base, offset = self.address_of(target)
        if isinstance(target.base, Sym) and space == "generic":
            space = self.symbols.get(target.base.name, ("global", 0))[0]
        values = ", ".join(self.read(item, code) for item in items)
        self.lines.append(f'F.store("{space}", {base}, {offset}, [{values}], {self.dtype(code)}, {site})')

    def do_param(self, instruction: Instruction, site: int) -> None:
        """`param.put` / `param.get`: arguments and results of device functions (made by codegen)."""
        code = value_type(instruction.opcode.split(".")[2])
        target, source = instruction.operands
        self.write(target, self.read(source, code), code)

    def do_atom(self, instruction: Instruction, site: int) -> None:
        """Atomic read-modify-write."""
        self.spins = True
        self._atomic(instruction, instruction.operands[0], list(instruction.operands[1:]), site)

    def do_red(self, instruction: Instruction, site: int) -> None:
        """Atomic without a result."""
        self._atomic(instruction, Reg("_"), list(instruction.operands), site)

    def _atomic(self, instruction: Instruction, target: Operand, operands: list[Operand], site: int) -> None:
        space, kind, operation = memory_form(instruction.opcode)
        entry = TABLE.get(f"atom.{operation}.{kind}")
        if entry is None:
            raise UnsupportedError(f"{self.place}: PTX instruction {instruction.opcode} is not emulated")
        base, offset = self.address_of(operands[0])  # type: ignore[arg-type]
        code = entry.results[0]
        values = [self.read(operand, wanted) for operand, wanted in zip(operands[1:], entry.operands[1:], strict=False)]
        function = self.function(entry.function, entry.opcode)
        call = f'F.atomic("{space}", {base}, {offset}, {function}, [{", ".join(values)}], {self.dtype(code)}, {site})'
        self.write(target, self.assign(call), code)

    def do_call(self, instruction: Instruction, site: int) -> None:
        """vprintf and __assertfail (calls of device functions end a block and are not emitted here)."""
        operands = instruction.operands
        at = next(k for k, operand in enumerate(operands) if isinstance(operand, Sym))
        given = ", ".join(self.read(item, self.types[item.name]) for item in operands[at + 1].items)  # type: ignore[union-attr]
        result = self.assign(f'F.builtin("{operands[at].name}", [{given}])')  # type: ignore[union-attr]
        for item in operands[0].items if at else ():  # type: ignore[union-attr]
            self.write(item, result, "u32")

    def do_activemask(self, instruction: Instruction, site: int) -> None:
        """activemask.b32."""
        self.write(instruction.operands[0], self.assign("F.active_mask()"), "u32")

    def do_bar(self, instruction: Instruction, site: int) -> None:
        """bar.warp.sync (block barriers end a block and are not emitted here)."""
        if not instruction.opcode.startswith("bar.warp.sync"):
            raise UnsupportedError(f"{self.place}: PTX instruction {instruction.opcode} is not emulated")
        self.lines.append("F.sync_warp()")


def memory_form(opcode: str) -> tuple[str, str, str]:
    """(state space, type, atomic operation or "") of a memory opcode; cache and ordering hints are dropped."""
    parts = opcode.split(".")[1:]
    space = next((part.split("::")[0] for part in parts if part.split("::")[0] in _SPACES), "generic")
    operations = ("add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas")
    operation = next((part for part in parts if part in operations), "")
    return space, parts[-1], operation


def immediate(operand: Imm, code: str) -> np.generic:
    """A literal as a NumPy scalar of type `code`; hexadecimal float forms keep their exact bits."""
    dtype, text = DTYPES[code], operand.text
    if dtype == np.bool_:
        return np.bool_(operand.value() != 0)
    if text[:2] in ("0f", "0F", "0d", "0D"):
        bits = int(text[2:], 16).to_bytes(4 if text[1] in "fF" else 8, "little")
        if len(bits) == dtype.itemsize:
            return np.frombuffer(bits, dtype)[0]
        return dtype.type(operand.value())
    value = operand.value()
    if isinstance(value, float) or dtype.kind == "f" and not text.lower().startswith("0x"):
        return np.dtype(dtype).type(value)
    raw = (int(value) & ((1 << (8 * dtype.itemsize)) - 1)).to_bytes(dtype.itemsize, "little")
    return np.frombuffer(raw, dtype)[0]


def select(guard, after, before):  # noqa: ANN001, ANN201 - any register values
    """`after` where the guard holds, else `before`."""
    return np.where(guard, after, before) if np.ndim(guard) else (after if guard else before)


RUNTIME = {"lanes": lanes, "address": address, "add_address": add_address, "select": select, "struct": struct}
