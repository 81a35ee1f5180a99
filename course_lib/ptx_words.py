"""PTX in plain words: what a word means, and what an instruction computes.

After NVIDIA, *Parallel Thread Execution ISA*, chapters 5 (state spaces), 9 (instructions) and 10 (special
registers). Only what compilers make of ordinary kernels is told; the rest stays as it is.
"""

import re
import struct
from typing import Any

from .listing import ptx_lines
from .report import Cell, Table

# a word of PTX, as a regular expression -> what it means
WORDS = {
    r"%ctaid\.\w": "blockIdx: CTA, cooperative thread array, is PTX's name of a block",
    r"%ntid\.\w": "blockDim",
    r"%tid\.\w": "threadIdx",
    r"%nctaid\.\w": "gridDim",
    r"%laneid": "number of the thread in its warp",
    r"%rd\d+": "a 64-bit register: an address, mostly",
    r"%r\d+": "a 32-bit register for whole numbers",
    r"%rs\d+": "a 16-bit register for whole numbers",
    r"%f\d+": "a 32-bit register for floats",
    r"%fd\d+": "a 64-bit register for floats",
    r"%p\d+": "a predicate: true or false, one bit a thread",
    r"ld\.param\.\w+": "reads a parameter of the kernel",
    r"cvta\.to\.global\.\w+": "turns a general address into one of global memory; costs nothing",
    r"ld\.global\.\S+": "loads from global memory; .nc: nobody writes there, so the read-only path will do",
    r"st\.global\.\S+": "stores to global memory",
    r"ld\.shared\.\S+": "loads from shared memory",
    r"st\.shared\.\S+": "stores to shared memory",
    r"ld\.local\.\S+": "loads from the thread's own memory, which is DRAM behind caches",
    r"st\.local\.\S+": "stores to the thread's own memory",
    r"mad\.lo\.\w+": "multiplies, adds, keeps the lower half",
    r"mul\.wide\.\w+": "multiplies 32-bit numbers to a 64-bit one: index times element size",
    r"fma\.rn\S*": "multiplies and adds, rounded once to nearest",
    r"setp\.\w+\S*": "compares and sets a predicate",
    r"selp\.\w+": "chooses one of two values by a predicate: an if without a branch",
    r"@!?%p\d+": "the instruction after it counts only for threads whose predicate is true (with !: false)",
    r"bra": "branch: go on at a label",
    r"bar\.sync": "__syncthreads()",
    r"shfl\.sync\.\w+\.b32": "a warp shuffle",
    r"\.ftz": "subnormal numbers count as zero (flush to zero), as CuPy asks",
    r"\.approx": "an approximation by the special function unit",
    r"0f[0-9A-F]{8}": "a float, written as its 32 bits in hexadecimal",
    r"\bret\b": "the thread is done",
}

_BINARY = {"add": "+", "sub": "-", "mul": "*", "div": "/", "and": "and", "or": "or", "xor": "xor",
           "shl": "<<", "shr": ">>", "rem": "mod"}  # fmt: skip
_COMPARE = {"eq": "=", "ne": "≠", "lt": "<", "le": "≤", "gt": ">", "ge": "≥", "equ": "=", "neu": "≠",
            "ltu": "<", "leu": "≤", "gtu": ">", "geu": "≥", "lo": "<", "ls": "≤", "hi": ">",
            "hs": "≥"}  # fmt: skip
_UNARY = {"ex2": "2^{0}", "lg2": "log2({0})", "rcp": "1 / {0}", "sqrt": "sqrt({0})", "rsqrt": "1 / sqrt({0})",
          "sin": "sin({0})", "cos": "cos({0})", "tanh": "tanh({0})", "abs": "|{0}|", "neg": "-{0}",
          "not": "not {0}", "mov": "{0}", "cvta": "{0}", "cvt": "{0}, converted"}  # fmt: skip
_LINE = re.compile(r"(?:(@!?%p\d+)\s+)?([\w.:]+)\s*(.*?);?$")
_HEX_FLOAT = re.compile(r"0f([0-9A-Fa-f]{8})")


def hex_float(bits: str) -> float:
    """`0f3F4C422A` -> 0.7978845596313477."""
    return struct.unpack(">f", bytes.fromhex(bits[2:]))[0]


def in_words(line: str) -> str:
    """What a PTX instruction computes, such as `f4 = f1 * f3 + f1`; "" for one that this does not read."""
    match = _LINE.fullmatch(re.sub(r"^\$?\w+:\s*", "", line.strip()))
    if not match:
        return ""
    predicate, opcode, rest = match.groups()
    operands = [_plain(text.strip()) for text in re.split(r",(?![^\[{]*[\]}])", rest) if text.strip()]
    told = _sentence(opcode.split("."), operands)
    if predicate and told:
        told = f"if {'not ' * ('!' in predicate)}{predicate.lstrip('@!%')}: {told}"
    return told


def vocabulary(kernel: Any) -> Table:
    """The words of PTX that a kernel uses, with their meaning and the first line they stand in."""
    lines = [text for _, _, text in ptx_lines(kernel)]
    rows = []
    for pattern, meaning in WORDS.items():
        found = next(((m.group(), line) for line in lines if (m := re.search(pattern, line))), None)
        if found:
            rows.append([Cell(found[0], code=True), Cell(meaning), Cell(found[1], code=True)])
    return Table(["word", "meaning", "where it first stands"], rows, {0, 1, 2})


def annotated(kernel: Any, notes: dict[str, str] | None = None) -> Table:
    """Every PTX instruction of a kernel with what it computes; ``notes``: text in a line -> remark."""
    rows = []
    for source_line, _, text in ptx_lines(kernel):
        remark = "; ".join(note for mark, note in (notes or {}).items() if mark in text)
        rows.append([Cell(source_line), Cell(text, code=True), Cell(in_words(text), code=True), Cell(remark)])
    header = ["line", "PTX", "in words", "note"]
    return Table(header, rows, {1, 2, 3})


def _plain(operand: str) -> str:
    """An operand without its %; a float in decimal, to 8 digits."""
    match = _HEX_FLOAT.fullmatch(operand)
    return f"{hex_float(operand):.8g}" if match else operand.replace("%", "")


def _sentence(parts: list[str], given: list[str]) -> str:
    name = parts[0]
    if name in ("ret", "exit"):
        return "done"
    if name == "bra":
        return f"go to {given[0]}" if given else ""
    if len(given) < 2:
        return ""
    to, *values = given
    if name == "ld":
        return (
            f"{to} = {parts[1]} memory at {values[0]}"
            if parts[1] != "param"
            else f"{to} = parameter {values[0]}"
        )
    if name == "st":
        return f"{parts[1]} memory at {to} = {values[0]}"
    if name == "setp":
        return f"{to} = {values[0]} {_COMPARE.get(parts[1], parts[1])} {values[1]}"
    if name == "copysign":
        return f"{to} = {values[1]} with the sign of {values[0]}"
    if name == "selp":
        return f"{to} = {values[0]} if {values[2]} else {values[1]}"
    return _arithmetic(name, to, values)


def _arithmetic(name: str, to: str, values: list[str]) -> str:
    if name in ("fma", "mad") and len(values) == 3:
        return f"{to} = {values[0]} * {values[1]} + {values[2]}"
    if name in ("min", "max") and len(values) == 2:
        return f"{to} = {name}({values[0]}, {values[1]})"
    if name in _BINARY and len(values) == 2:
        return f"{to} = {values[0]} {_BINARY[name]} {values[1]}"
    return f"{to} = {_UNARY[name].format(values[0])}" if name in _UNARY and len(values) == 1 else ""
