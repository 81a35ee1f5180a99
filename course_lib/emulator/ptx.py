"""What PTX text says, as data: instructions, variables and functions, with no meaning attached yet.

Grammar: NVIDIA, *Parallel Thread Execution ISA*, chapters 4 (syntax) and 5 (state
spaces, types, variables). `ptx_module.parse` makes these from text.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

SIZES = {"pred": 1, "b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2, "f16": 2, "bf16": 2,
         "b32": 4, "u32": 4, "s32": 4, "f32": 4, "f16x2": 4, "bf16x2": 4, "tf32": 4,
         "b64": 8, "u64": 8, "s64": 8, "f64": 8, "b128": 16}  # fmt: skip


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
        if text[:2] in ("0x", "0X"):
            return sign * int(text, 16)
        if text[:2] in ("0b", "0B"):
            return sign * int(text, 2)
        if "." in text or "e" in text or "E" in text:
            return sign * float(text)
        return sign * (int(text, 8) if len(text) > 1 and text[0] == "0" else int(text))


@dataclass(frozen=True)
class Sym:
    """The address of a variable or function, or a label."""

    name: str
    offset: int = 0


@dataclass(frozen=True)
class Mem:
    """`[base + offset]`; `coordinates` of a texture or tensor follow a comma in the brackets."""

    base: Reg | Sym | Imm
    offset: int = 0
    coordinates: tuple = ()


@dataclass(frozen=True)
class Vec:
    """`{a, b, ...}`, or a register declared `.v2` or `.v4`."""

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
    """A `.global`, `.const`, `.shared`, `.local` or `.param` variable.

    `pointers` are (byte, name, offset) of initial values that are addresses.
    """

    name: str
    space: str
    size: int
    align: int
    data: bytes | None = None
    pointers: list[tuple[int, str, int]] = field(default_factory=list)
    extern: bool = False


@dataclass
class Parameter:
    """A parameter: PTX type (`u64`, `f32`, `b8` for structs), size, alignment and offset in bytes."""

    name: str
    ptx_type: str
    size: int
    align: int
    offset: int = 0


@dataclass
class Function:
    """An entry or a device function before it is split into basic blocks.

    `call_positions` maps the `.param` variables of its calls to their place in the argument list (or
    the list of results); `calls.lower_parameters` fills it.
    """

    name: str
    entry: bool
    parameters: list[Parameter]
    returns: list[Parameter]
    registers: dict[str, str] = field(default_factory=dict)
    variables: list[Variable] = field(default_factory=list)
    body: list[Instruction | Label] = field(default_factory=list)
    tables: dict[str, list[str]] = field(default_factory=dict)
    directives: dict[str, tuple[int, ...]] = field(default_factory=dict)
    call_positions: dict[str, int] = field(default_factory=dict)


@dataclass
class Module:
    """Everything one PTX text declares."""

    functions: dict[str, Function] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    declared: dict[str, Function] = field(default_factory=dict)
