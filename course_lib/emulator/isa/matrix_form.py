"""Forms of mma.sync and wmma.mma: shapes, types, fragments, and how an H200 splits their sums.

Fragments: PTX ISA, "Matrix Fragments for mma.…" and `matrix_layout`. Which SASS instructions
a form becomes, and so which products are added at once, was read off ptxas's output for sm_90.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from .matrix_layout import Layout, fragment

BITS = {
    "f16": 16,
    "bf16": 16,
    "tf32": 32,
    "e4m3": 8,
    "e5m2": 8,
    "s8": 8,
    "u8": 8,
    "f64": 64,
    "f32": 32,
    "s32": 32,
}
REGISTERS = {"f32": "f32", "s32": "s32", "f64": "f64"}
_EIGHT = ("e4m3", "e5m2")
_SHAPES = {
    "f16": ("m16n8k8", "m16n8k16"),
    "bf16": ("m16n8k8", "m16n8k16"),
    "tf32": ("m16n8k4", "m16n8k8"),
    "s8": ("m8n8k16", "m16n8k16", "m16n8k32"),
    "u8": ("m8n8k16", "m16n8k16", "m16n8k32"),
    "e4m3": ("m16n8k16", "m16n8k32"),
    "e5m2": ("m16n8k16", "m16n8k32"),
    "f64": ("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"),
}
_WIDE = ("m16n16k16", "m32n8k16", "m8n32k16")
_WMMA_SHAPES = {
    "f16": _WIDE,
    "bf16": _WIDE,
    "s8": _WIDE,
    "u8": _WIDE,
    "tf32": ("m16n16k8",),
    "f64": ("m8n8k4",),
}
_ACCUMULATORS = {
    "f16": ("f16", "f32"),
    "e4m3": ("f16", "f32"),
    "e5m2": ("f16", "f32"),
    "bf16": ("f32",),
    "tf32": ("f32",),
    "s8": ("s32",),
    "u8": ("s32",),
    "f64": ("f64",),
}
_MMA = re.compile(
    r"mma\.sync\.aligned\.(m\d+n\d+k\d+)\.row\.col(\.satfinite)?(?:\.(r[nzmp]))?\.(\w+)\.(\w+)\.(\w+)\.(\w+)(?:\.(r[nzmp]))?$"
)
_WMMA = re.compile(
    r"wmma\.mma\.sync\.aligned\.(?:row|col)\.(?:row|col)\.(m\d+n\d+k\d+)\.(\w+)(?:\.(\w+)\.(\w+))?\.(\w+?)(\.satfinite)?(?:\.(r[nzmp]))?$"
)
_WMMA_MEMORY = re.compile(
    r"wmma\.(load|store)\.([abcd])\.sync\.aligned\.(row|col)\.(m\d+n\d+k\d+)(?:\.(\w+)(?:::cta)?)?\.(\w+)$"
)


@dataclass(frozen=True)
class Form:
    """A multiply-accumulate: (m, n, k), element types, fragments, and the sets of k added at once, in turn.

    `swapped`: the accumulators' rows run along n. `late`: C is added last, by an ordinary addition.
    """

    shape: tuple[int, int, int]
    types: tuple[str, str, str, str]  # d, a, b, c
    a: Layout
    b: Layout
    c: Layout
    d: Layout
    steps: tuple[tuple[int, ...], ...]
    swapped: bool = False
    late: bool = False
    satfinite: bool = False
    rounding: str = "rn"

    @property
    def operations(self) -> int:
        """Multiplications and additions of one warp instruction."""
        m, n, k = self.shape
        return 2 * m * n * k


@dataclass(frozen=True)
class Access:
    """A wmma load or store. `along_columns`: memory is contiguous from column to column of the fragment.

    `stride`: elements between rows (columns) of a matrix that fills its memory.
    """

    operand: str
    along_columns: bool
    space: str
    element: str
    layout: Layout
    stride: int


def register_code(element: str) -> str:
    """Type code of the registers that hold elements of a type."""
    return REGISTERS.get(element, "u32")


def _shape(text: str) -> tuple[int, int, int]:
    m, n, k = (int(number) for number in re.findall(r"\d+", text))
    return m, n, k


def _operand(operand: str, shape: tuple[int, int, int], element: str, wmma: bool) -> Layout:
    """Fragment of operand a, b, c or d."""
    m, n, k = shape
    swapped = n > m
    bits = BITS[element]
    if operand in "cd":
        rows, columns = (n, m) if swapped else (m, n)
        return fragment(rows, columns, bits, 2, True)
    elements = 16 if wmma and element == "f16" else 0
    per = max(1, 32 // bits)
    return fragment(m if operand == "a" else n, k, bits, per, (operand == "b") == swapped, elements)


def _steps(shape: tuple[int, int, int], element: str, wmma: bool) -> tuple[tuple[int, ...], ...]:
    """Products that the hardware adds at once."""
    k = range(shape[2])
    if element in _EIGHT:  # two HMMA on the lower and the upper half of every register, converted to f16
        return tuple(x for x in k if x % 4 < 2), tuple(x for x in k if x % 4 >= 2)
    if element == "tf32" and wmma:  # two HMMA.1684
        return tuple(k[:4]), tuple(k[4:])
    return (tuple(k),)


@lru_cache(maxsize=1024)
def multiply_form(opcode: str) -> Form | None:
    """What an mma.sync or wmma.mma opcode does; None if it is not emulated (4-bit types, m8n8k4 of f16)."""
    wmma = opcode.startswith("wmma")
    match = (_WMMA if wmma else _MMA).match(opcode)
    if match is None:
        return None
    if wmma:
        name, d, a, b, c, satfinite, rounding = match.groups()
        a, b = a or "f16", b or "f16"
    else:
        name, satfinite, early, d, a, b, c, late = match.groups()
        rounding = early or late
    known = _WMMA_SHAPES if wmma else _SHAPES
    shape = _shape(name)
    if name not in known.get(a, ()) or b not in _ACCUMULATORS or not _agree(d, a, b, c, wmma):
        return None
    if (satfinite and c != "s32") or (rounding and c != "f64"):
        return None
    layouts = [
        _operand(operand, shape, element, wmma) for operand, element in zip("abcd", (a, b, c, d), strict=True)
    ]
    return Form(
        shape,
        (d, a, b, c),
        *layouts,
        _steps(shape, a, wmma),
        shape[1] > shape[0],
        a in _EIGHT,
        bool(satfinite),
        rounding or "rn",
    )


def _agree(d: str, a: str, b: str, c: str, wmma: bool) -> bool:
    kinds = (("s8", "u8"), _EIGHT)
    alike = a == b or (not wmma and any(a in kind and b in kind for kind in kinds))
    return alike and {c, d} <= set(_ACCUMULATORS[a]) and (c == d or wmma)


@lru_cache(maxsize=1024)
def access_form(opcode: str) -> Access | None:
    """What a wmma.load or wmma.store opcode does; None where it is not emulated."""
    match = _WMMA_MEMORY.match(opcode)
    if match is None:
        return None
    _, operand, order, name, space, element = match.groups()
    multiplicands = [a for a in _WMMA_SHAPES if name in _WMMA_SHAPES[a]]
    possible = multiplicands if operand in "ab" else [c for a in multiplicands for c in _ACCUMULATORS[a]]
    if element not in possible or space not in (None, "global", "shared"):
        return None
    shape = m, n, k = _shape(name)
    layout = _operand(operand, shape, element, True)
    by_rows = order == "row"
    along = {"a": by_rows, "b": not by_rows}.get(operand, by_rows != (n > m))
    down, right = {"a": (m, k), "b": (k, n)}.get(operand, (m, n))
    return Access(operand, along, space or "generic", element, layout, right if by_rows else down)


def tensor_operations(opcode: str) -> int:
    """Multiplications and additions that one warp does in an instruction on matrices; 0 for all others."""
    if not opcode.startswith(("mma.sync", "wmma.mma")):
        return 0
    form = multiply_form(opcode)
    return form.operations if form else 0


def tensor_work(opcode: str) -> int:
    """`tensor_operations`, those of tf32 twice: every data sheet gives it half the rate of 16-bit floats.

    Products of 8-bit floats count once. An H200 does them at the 16-bit rate in `mma.sync`, after a
    conversion; their double rate is that of `wgmma`.
    """
    return tensor_operations(opcode) * (2 if ".tf32." in opcode else 1)
