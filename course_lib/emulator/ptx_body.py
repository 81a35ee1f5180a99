"""Parsing PTX: function bodies, that is statements, operands and scopes.

Braces open scopes, as inline assembly uses them. They are flattened: a name declared in
an inner scope gets a suffix of its own. Labels are local to their scope as well, but may
be used before they stand, so branches are resolved at the end of the function.
"""

from __future__ import annotations

from collections.abc import Callable

from .errors import UnsupportedError
from .ptx import Function, Imm, Instruction, Label, Mem, Operand, Pair, Reg, Sym, Vec
from .ptx_tokens import Reader

_ELEMENTS = ("x", "y", "z", "w")
_COLOURS = dict(zip("rgba", _ELEMENTS, strict=True))


class BodyParser:
    """Fills one function from the reader. `variable` and `parameter` parse declarations."""

    def __init__(self, reader: Reader, function: Function, variable: Callable, parameter: Callable) -> None:
        self.reader, self.function = reader, function
        self.variable, self.parameter = variable, parameter
        self.scopes: list[dict[str, str | Vec]] = []
        self.path: tuple[int, ...] = ()
        self.labels: set[tuple[int, str]] = set()
        self.jumps: list[tuple[Instruction, tuple[int, ...]]] = []
        self.paths: dict[str, tuple[int, ...]] = {}
        self.serial = 0

    def body(self) -> None:
        """Everything from the opening brace to the one that closes it."""
        self.reader.take("{")
        self.reader.line = 0
        self.open()
        while self.scopes:
            self.statement()
        for instruction, path in self.jumps:
            target = instruction.operands[0]
            instruction.operands[0] = Sym(self.label_name(target.name, path))  # type: ignore[union-attr]
        for name, targets in self.function.tables.items():
            targets[:] = [self.label_name(target, self.paths[name]) for target in targets]

    # -- scopes ---------------------------------------------------------------

    def open(self) -> None:
        """`{`"""
        self.serial += 1
        self.path = (*self.path, self.serial)
        self.scopes.append({})

    def close(self) -> None:
        """`}`"""
        self.path = self.path[:-1]
        self.scopes.pop()

    def unique(self, name: str) -> str:
        """The name that stands for one declared here: inner scopes add a number."""
        return name if len(self.path) == 1 else f"{name}#{self.path[-1]}"

    def declare(self, name: str) -> str:
        """Note a name in the current scope."""
        self.scopes[-1][name] = self.unique(name)
        return self.unique(name)

    def resolve(self, name: str) -> str | Vec:
        """What a name means here; names of no scope stand for themselves."""
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), name)

    def label_name(self, name: str, path: tuple[int, ...]) -> str:
        """The label that `name` means within nested scopes."""
        for depth in range(len(path), 1, -1):
            if (path[depth - 1], name) in self.labels:
                return f"{name}#{path[depth - 1]}"
        return name

    # -- statements -----------------------------------------------------------

    def statement(self) -> None:
        """One declaration, label, instruction or brace."""
        word = self.reader.take()
        if word == "{":
            self.open()
        elif word == "}":
            self.close()
        elif word == ".reg":
            self.declare_registers()
        elif word in (".shared", ".local", ".global", ".const"):
            self.declare_variable(word[1:])
        elif word == ".param":
            self.declare(self.parameter(self.reader).name)
            self.reader.take(";")
        elif word.startswith("."):
            self.reader.skip_statement()
        elif word != ";":
            if self.reader.accept(":"):
                self.labelled(word)
            else:
                self.instruction(word)

    def declare_variable(self, space: str) -> None:
        """A variable of the function; in an inner scope its name gets the scope's number."""
        found = self.variable(self.reader, space)
        found.name = self.declare(found.name)
        self.function.variables.append(found)

    def labelled(self, name: str) -> None:
        """What follows `name:`: a list of branch targets, a prototype or code."""
        if self.reader.accept(".branchtargets"):
            targets = [self.reader.take()]
            while self.reader.accept(","):
                targets.append(self.reader.take())
            self.reader.take(";")
            name = self.declare(name)
            self.function.tables[name], self.paths[name] = targets, self.path
        elif self.reader.peek() in (".callprototype", ".calltargets"):
            self.reader.skip_statement()
        else:
            self.labels.add((self.path[-1], name))
            self.function.body.append(Label(self.unique(name)))

    def declare_registers(self) -> None:
        """`.reg .f32 a, b<4>;` or `.reg .v4 .f32 v;`"""
        kind, vector = "", 1
        while self.reader.peek().startswith("."):
            word = self.reader.take()[1:]
            if word in ("v2", "v4"):
                vector = int(word[1])
            else:
                kind = word
        while True:
            for name in self.declared_names():
                if vector == 1:
                    self.function.registers[self.declare(name)] = kind
                else:
                    self.declare_vector(name, kind, vector)
            if not self.reader.accept(","):
                break
        self.reader.take(";")

    def declared_names(self) -> list[str]:
        """`a`, or `b<4>` for b0 to b3."""
        name = self.reader.take()
        if not self.reader.accept("<"):
            return [name]
        count = self.reader.integer()
        self.reader.take(">")
        return [f"{name}{number}" for number in range(count)]

    def declare_vector(self, name: str, kind: str, count: int) -> None:
        """A vector register: its elements are registers `v.x` ...; `v` alone means all of them."""
        elements = [f"{name}.{letter}" for letter in _ELEMENTS[:count]]
        for element in elements:
            self.function.registers[self.declare(element)] = kind
        self.scopes[-1][name] = Vec(tuple(Reg(self.unique(element)) for element in elements))

    def instruction(self, word: str) -> None:
        """`@p opcode operand, ...;`"""
        guard = None
        if word == "@":
            negated = self.reader.accept("!")
            guard = Reg(self.register(self.reader.take()), negated)
            word = self.reader.take()
        found = Instruction(
            word, [], guard, self.reader.line, self.reader.tokens[self.reader.at - 1].ptx_line
        )
        while not self.reader.accept(";"):
            if not self.reader.accept(","):
                found.operands.append(self.operand())
        if word.split(".")[0] == "bra" and found.operands and isinstance(found.operands[0], Sym):
            self.jumps.append((found, self.path))
        self.function.body.append(found)

    # -- operands -------------------------------------------------------------

    def operand(self) -> Operand:
        """One operand of an instruction."""
        word = self.reader.take()
        if word == "[":
            return self.memory()
        if word in ("{", "("):
            return self.vector("}" if word == "{" else ")")
        if word == "-":
            return Imm("-" + self.reader.take())
        if word == "!":
            return Reg(self.register(self.reader.take()), negated=True)
        if word[0].isdigit():
            return Imm(word)
        first = self.named(word)
        if isinstance(first, Reg) and self.reader.accept("|"):
            return Pair(first, Reg(self.register(self.reader.take())))
        if isinstance(first, Sym):
            return Sym(first.name, self.reader.offset())
        return first

    def register(self, name: str) -> str:
        """The flattened name of a register. Raises UnsupportedError for a vector."""
        found = self.resolve(name)
        if isinstance(found, Vec):
            raise UnsupportedError(
                f"PTX line {self.reader.ptx_line()}: vector {name} where a scalar is needed"
            )
        return found

    def named(self, word: str) -> Reg | Sym | Vec:
        """A name: a register, a vector register, or else a symbol."""
        stem, _, element = word.rpartition(".")
        if element in _COLOURS and isinstance(self.resolve(stem), Vec):
            word = f"{stem}.{_COLOURS[element]}"
        found = self.resolve(word)
        if isinstance(found, Vec):
            return found
        if found in self.function.registers or word.startswith("%") or word == "_":
            return Reg(found)
        return Sym(found)

    def vector(self, closing: str) -> Vec:
        """Operands up to the closing brace or parenthesis."""
        items: list[Operand] = []
        while not self.reader.accept(closing):
            if not self.reader.accept(","):
                items.append(self.operand())
        return Vec(tuple(items))

    def memory(self) -> Mem:
        """`base + offset]`, or with coordinates `base, {x, y}]`."""
        word = self.reader.take()
        base = Imm(word) if word[0].isdigit() else self.named(word)
        if isinstance(base, Vec):
            raise UnsupportedError(f"PTX line {self.reader.ptx_line()}: a vector is no address")
        offset = self.reader.offset()
        coordinates = []
        while self.reader.accept(","):
            coordinates.append(self.operand())
        self.reader.take("]")
        return Mem(base, offset, tuple(coordinates))
