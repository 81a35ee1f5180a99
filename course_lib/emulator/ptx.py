"""PTX text -> modules, functions and instructions (no meaning attached yet).

Grammar: NVIDIA, *Parallel Thread Execution ISA*, chapters 4 (syntax) and 5 (state
spaces, types, variables). Scopes in braces, as inline assembly uses them, are
flattened: a name declared in an inner scope gets a suffix of its own.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field

from .errors import UnsupportedError

SIZES = {"pred": 1, "b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2, "f16": 2, "bf16": 2,
         "b32": 4, "u32": 4, "s32": 4, "f32": 4, "f16x2": 4, "bf16x2": 4,
         "b64": 8, "u64": 8, "s64": 8, "f64": 8}  # fmt: skip

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<string>"(?:[^"\\]|\\.)*") |
    (?P<name>[%$A-Za-z_.][\w$%.]*(?:::[\w.]+)*) |
    (?P<number>0[fF][0-9A-Fa-f]{8}|0[dD][0-9A-Fa-f]{16}|0[xX][0-9A-Fa-f]+U?|\d+\.\d*(?:[eE][+-]?\d+)?|\d+U?) |
    (?P<mark>[-+{}()\[\],;:@!|=<>*&~?/^])
    )""",
    re.VERBOSE,
)
_LOC = re.compile(r"\.loc\s+(\d+)\s+(\d+)\s+\d+(?:.*inlined_at\s+(\d+)\s+(\d+))?")
_LINE_DIRECTIVES = (".version", ".target", ".address_size", ".file", ".section")


@dataclass(frozen=True)
class Reg:
    """A register, or a `.param` variable of a call (then `name` holds no `%`)."""

    name: str
    negated: bool = False


@dataclass(frozen=True)
class Imm:
    """A literal. `text` is as written; its bits depend on the operand's type."""

    text: str

    def value(self) -> int | float:
        """The literal as a Python number (0f/0d forms are decoded to floats)."""
        text = self.text.replace(" ", "")
        sign = -1 if text.startswith("-") else 1
        text = text.lstrip("-+").rstrip("U")
        if text[:2] in ("0f", "0F"):
            return sign * struct.unpack(">f", bytes.fromhex(text[2:]))[0]
        if text[:2] in ("0d", "0D"):
            return sign * struct.unpack(">d", bytes.fromhex(text[2:]))[0]
        if "." in text:
            return sign * float(text)
        if text[:2] in ("0x", "0X"):
            return sign * int(text, 16)
        return sign * (int(text, 8) if len(text) > 1 and text[0] == "0" else int(text))


@dataclass(frozen=True)
class Sym:
    """The address of a variable or function."""

    name: str
    offset: int = 0


@dataclass(frozen=True)
class Mem:
    """`[base + offset]`; base is a Reg, a Sym or an Imm."""

    base: Reg | Sym | Imm
    offset: int = 0


@dataclass(frozen=True)
class Vec:
    """`{a, b, ...}`."""

    items: tuple


@dataclass(frozen=True)
class Pair:
    """`p|q`, the two destinations of setp and shfl."""

    first: Reg
    second: Reg


Operand = Reg | Imm | Sym | Mem | Vec | Pair


@dataclass
class Instruction:
    """One PTX instruction with the CUDA source line it came from (0: unknown)."""

    opcode: str
    operands: list[Operand]
    guard: Reg | None
    line: int
    ptx_line: int


@dataclass
class Label:
    """A branch target."""

    name: str


@dataclass
class Variable:
    """A `.global`, `.const`, `.shared`, `.local` or `.param` variable."""

    name: str
    space: str
    size: int
    align: int
    data: bytes | None = None
    pointers: list[tuple[int, str, int]] = field(default_factory=list)
    extern: bool = False


@dataclass
class Parameter:
    """A kernel parameter: PTX type (`u64`, `f32`, `b8` for structs), size and alignment in bytes."""

    name: str
    ptx_type: str
    size: int
    align: int
    offset: int = 0


@dataclass
class Function:
    """An entry or a device function before it is split into basic blocks."""

    name: str
    entry: bool
    parameters: list[Parameter]
    returns: list[Parameter]
    registers: dict[str, str] = field(default_factory=dict)
    variables: list[Variable] = field(default_factory=list)
    body: list[Instruction | Label] = field(default_factory=list)
    tables: dict[str, list[str]] = field(default_factory=dict)
    directives: dict[str, tuple[int, ...]] = field(default_factory=dict)


@dataclass
class Module:
    """Everything one PTX text declares."""

    functions: dict[str, Function] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    declared: dict[str, Function] = field(default_factory=dict)


def parse(text: str) -> Module:
    """Parse PTX. Raises UnsupportedError, naming the line, at what it cannot read."""
    return _Parser(text).module()


def _strip_comments(text: str) -> str:
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.DOTALL)
    return re.sub(r"//[^\n]*", "", text)


def _tokens(text: str) -> list[tuple[str, str, int]]:
    """(kind, text, PTX line); a `.loc` becomes one token of kind "loc" holding the CUDA line."""
    found: list[tuple[str, str, int]] = []
    for number, line in enumerate(_strip_comments(text).split("\n"), 1):
        stripped = line.strip()
        if stripped.startswith((".loc ", ".loc\t")):
            found.append(("loc", _source_line(stripped), number))
        elif stripped.startswith(_LINE_DIRECTIVES):
            continue
        else:
            found.extend(_line_tokens(line, number))
    return found


def _line_tokens(line: str, number: int) -> list[tuple[str, str, int]]:
    found, at = [], 0
    line = line.rstrip()
    while at < len(line):
        match = _TOKEN.match(line, at)
        if match is None:
            raise UnsupportedError(f"PTX line {number}: cannot read {line[at:].strip()!r}")
        found.append((match.lastgroup or "", match.group(match.lastgroup or 0), number))
        at = match.end()
    return found


def _source_line(directive: str) -> str:
    """CUDA line of a `.loc`: file 1 is the learner's; code inlined from a header counts at its call."""
    match = _LOC.match(directive)
    if match is None:
        return "0"
    file, line, outer_file, outer_line = match.groups()
    if file == "1":
        return line
    return outer_line if outer_file == "1" else "0"


class _Parser:
    def __init__(self, text: str) -> None:
        self.tokens = _tokens(text)
        self.at = 0
        self.line = 0
        self.scopes: list[dict[str, str]] = []
        self.serial = 0

    # -- reading tokens -------------------------------------------------------

    def peek(self) -> str:
        while self.at < len(self.tokens) and self.tokens[self.at][0] == "loc":
            line = int(self.tokens[self.at][1])
            self.line = line or self.line
            self.at += 1
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def take(self, expected: str | None = None) -> str:
        text = self.peek()
        if text == "" or (expected is not None and text != expected):
            raise UnsupportedError(f"PTX line {self.ptx_line()}: expected {expected!r}, found {text!r}")
        self.at += 1
        return text

    def accept(self, text: str) -> bool:
        if self.peek() != text:
            return False
        self.at += 1
        return True

    def ptx_line(self) -> int:
        return self.tokens[min(self.at, len(self.tokens) - 1)][2] if self.tokens else 0

    def integer(self) -> int:
        sign = -1 if self.accept("-") else 1
        return sign * int(Imm(self.take()).value())

    # -- module level ---------------------------------------------------------

    def module(self) -> Module:
        module = Module()
        linkage: set[str] = set()
        while word := self.peek():
            if word in (".visible", ".extern", ".weak", ".common"):
                linkage.add(self.take())
            elif word in (".entry", ".func"):
                self.function(module)
                linkage = set()
            elif word in (".global", ".const", ".shared", ".local"):
                variable = self.variable(self.take()[1:])
                variable.extern = ".extern" in linkage
                module.variables[variable.name] = variable
                linkage = set()
            elif word == ";":
                self.take()
            elif word in (".texref", ".samplerref", ".surfref"):
                raise UnsupportedError(f"PTX line {self.ptx_line()}: textures and surfaces are not emulated")
            else:
                self.skip_statement()
        return module

    def skip_statement(self) -> None:
        depth = 0
        while self.peek():
            word = self.take()
            depth += (word == "{") - (word == "}")
            if depth <= 0 and word in (";", "}"):
                return

    def variable(self, space: str) -> Variable:
        align, kind, vector = 1, "b8", 1
        while self.peek().startswith("."):
            word = self.take()[1:]
            if word == "align":
                align = self.integer()
            elif word in ("v2", "v4"):
                vector = int(word[1])
            elif word in SIZES:
                kind = word
            elif word in ("texref", "samplerref", "surfref"):
                raise UnsupportedError(f"PTX line {self.ptx_line()}: textures and surfaces are not emulated")
        name = self.take()
        count, extern = vector, False
        while self.accept("["):
            if self.accept("]"):
                count, extern = 0, True
            else:
                count *= self.integer()
                self.take("]")
        variable = Variable(name, space, count * SIZES[kind], max(align, SIZES[kind]), extern=extern)
        if self.accept("="):
            self.initialiser(variable, kind)
        self.accept(";")
        return variable

    def initialiser(self, variable: Variable, kind: str) -> None:
        data = bytearray(variable.size)
        at = depth = 0
        while True:
            word = self.take()
            if word == "{":
                depth += 1
            elif word == "}":
                depth -= 1
            elif word == "-" or word[0].isdigit():
                literal = word + self.take() if word == "-" else word
                _put(data, at, Imm(literal).value(), kind)
                at += SIZES[kind]
            elif word != ",":
                at = self.pointer_initialiser(variable, word, at)
            if depth == 0 and self.peek() in (";", ""):
                break
        variable.data = bytes(data)

    def pointer_initialiser(self, variable: Variable, word: str, at: int) -> int:
        parenthesised = word == "generic" and self.accept("(")
        name = self.take() if parenthesised else word
        if parenthesised:
            self.take(")")
        offset = self.integer() if self.accept("+") else 0
        variable.pointers.append((at, name, offset))
        return at + 8

    # -- functions ------------------------------------------------------------

    def function(self, module: Module) -> None:
        entry = self.take() == ".entry"
        returns = self.parameters() if self.peek() == "(" else []
        name = self.take()
        parameters = self.parameters() if self.peek() == "(" else []
        function = Function(name, entry, parameters, returns)
        while self.peek() not in ("{", ";", ""):
            word = self.take()
            if word.startswith(".") and (self.peek() or ".")[0].isdigit():
                numbers = [self.integer()]
                while self.accept(","):
                    numbers.append(self.integer())
                function.directives[word[1:]] = tuple(numbers)
        if self.accept(";"):
            module.declared[name] = function
            return
        self.take("{")
        self.line = 0
        self.scopes = [{}]
        while self.scopes:
            self.statement(function)
        module.functions[name] = function

    def parameters(self) -> list[Parameter]:
        found: list[Parameter] = []
        offset = 0
        self.take("(")
        while not self.accept(")"):
            if self.accept(","):
                continue
            self.take(".param") if self.peek() == ".param" else self.take(".reg")
            parameter = self.parameter()
            offset = -(-offset // parameter.align) * parameter.align
            parameter.offset = offset
            offset += parameter.size
            found.append(parameter)
        return found

    def parameter(self) -> Parameter:
        align, kind, count = 0, "b8", 1
        while self.peek().startswith("."):
            word = self.take()[1:]
            if word == "align":
                align = self.integer()
            elif word in SIZES:
                kind = word
        name = self.take()
        if self.accept("["):
            count = 0 if self.peek() == "]" else self.integer()
            self.take("]")
        return Parameter(name, kind, count * SIZES[kind], align or SIZES[kind])

    # -- statements -----------------------------------------------------------

    def statement(self, function: Function) -> None:
        word = self.take()
        if word == "{":
            self.scopes.append({})
        elif word == "}":
            self.scopes.pop()
        elif word == ".reg":
            self.declare_registers(function)
        elif word in (".shared", ".local", ".global", ".const"):
            function.variables.append(self.variable(word[1:]))
        elif word == ".param":
            parameter = self.parameter()
            self.declare(parameter.name)
            self.take(";")
        elif word.startswith("."):
            self.skip_statement()
        elif word == ";":
            return
        elif self.accept(":"):
            self.labelled(function, word)
        else:
            self.instruction(function, word)

    def labelled(self, function: Function, name: str) -> None:
        if self.accept(".branchtargets"):
            targets = [self.take()]
            while self.accept(","):
                targets.append(self.take())
            self.take(";")
            function.tables[name] = targets
        elif self.peek() == ".callprototype":
            self.skip_statement()
        else:
            function.body.append(Label(self.label_name(name)))

    def label_name(self, name: str) -> str:
        """Labels may be used before they are declared, so inner scopes share the function's names."""
        return name

    def declare(self, name: str) -> str:
        outer = any(name in scope for scope in self.scopes)
        self.serial += 1
        unique = f"{name}#{self.serial}" if outer or len(self.scopes) > 1 else name
        self.scopes[-1][name] = unique
        return unique

    def declare_registers(self, function: Function) -> None:
        kind, vector = "", 1
        while self.peek().startswith("."):
            word = self.take()[1:]
            vector = int(word[1]) if word in ("v2", "v4") else vector
            kind = kind if word in ("v2", "v4") else word
        while True:
            name = self.take()
            if self.accept("<"):
                count = self.integer()
                self.take(">")
                names = [f"{name}{i}" for i in range(count)]
            else:
                names = [name] if vector == 1 else [f"{name}.{lane}" for lane in "xyzw"[:vector]]
            for each in names:
                function.registers[self.declare(each)] = kind
            if not self.accept(","):
                break
        self.take(";")

    def instruction(self, function: Function, word: str) -> None:
        guard = None
        if word == "@":
            negated = self.accept("!")
            guard = Reg(self.resolve(self.take()), negated)
            word = self.take()
        ptx_line = self.tokens[self.at - 1][2]
        operands: list[Operand] = []
        opcode = word
        while not self.accept(";"):
            if not self.accept(","):
                operands.append(self.operand(function))
        function.body.append(Instruction(opcode, operands, guard, self.line, ptx_line))

    def resolve(self, name: str) -> str:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return name

    def operand(self, function: Function) -> Operand:
        word = self.take()
        if word == "[":
            return self.memory(function)
        if word in ("{", "("):
            return self.vector(function, "}" if word == "{" else ")")
        if word == "-":
            return Imm("-" + self.take())
        if word == "!":
            return Reg(self.resolve(self.take()), negated=True)
        if word[0].isdigit():
            return Imm(word)
        first = self.named(function, word)
        if isinstance(first, Reg) and self.accept("|"):
            return Pair(first, Reg(self.resolve(self.take())))
        if isinstance(first, Sym) and self.peek() in ("+", "-"):
            return Sym(first.name, self.signed_offset())
        return first

    def named(self, function: Function, word: str) -> Reg | Sym:
        unique = self.resolve(word)
        if unique in function.registers or word.startswith("%") or word == "_":
            return Reg(unique)
        return Sym(unique)

    def vector(self, function: Function, closing: str) -> Vec:
        items: list[Operand] = []
        while not self.accept(closing):
            if not self.accept(","):
                items.append(self.operand(function))
        return Vec(tuple(items))

    def signed_offset(self) -> int:
        if self.accept("+"):
            return self.integer()
        return self.integer() if self.peek() == "-" else 0

    def memory(self, function: Function) -> Mem:
        word = self.take()
        base = Imm(word) if word[0].isdigit() else self.named(function, word)
        offset = self.signed_offset()
        if self.accept(","):
            raise UnsupportedError(f"PTX line {self.ptx_line()}: tensor and texture coordinates are not emulated")
        self.take("]")
        return Mem(base, offset)


def _put(data: bytearray, at: int, value: int | float, kind: str) -> None:
    size = SIZES[kind]
    if isinstance(value, float):
        data[at : at + size] = struct.pack("<f" if size == 4 else "<d", value)
    else:
        data[at : at + size] = (int(value) & ((1 << 8 * size) - 1)).to_bytes(size, "little")
