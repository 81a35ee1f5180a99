"""Words that many libraries share in kernel names: architectures, data types, matrix layouts, tiles."""

import re
from collections.abc import Iterable

from .parts import Part, guessed, rule, unknown

GENERATIONS = {
    "fermi": "2.x", "kepler": "3.x", "maxwell": "5.x", "pascal": "6.x", "volta": "7.0", "turing": "7.5",
    "ampere": "8.x", "ada": "8.9", "hopper": "9.0", "blackwell": "10.x and 12.x",
}  # fmt: skip

# name of a type -> what it is, in the words of the CUTLASS library and of PyTorch
TYPES = {
    "f64": "64-bit float", "f32": "32-bit float", "f16": "16-bit float (IEEE half)", "bf16": "bfloat16",
    "tf32": "tf32: a 32-bit float of which tensor cores use 19 bits",
    "fp64": "64-bit float", "fp32": "32-bit float", "fp16": "16-bit float (IEEE half)",
    "e4m3": "8-bit float, 4 exponent bits", "e5m2": "8-bit float, 5 exponent bits",
    "e2m1": "4-bit float", "ue8m0": "8-bit scale, a power of two", "ue4m3": "8-bit unsigned scale",
    "s8": "8-bit integer", "u8": "8-bit unsigned integer", "i8": "8-bit integer", "s4": "4-bit integer",
    "s32": "32-bit integer", "i32": "32-bit integer", "b1": "bits", "void": "none",
    "c64": "complex of two 32-bit floats", "cf32": "complex of two 32-bit floats",
    "cf64": "complex of two 64-bit floats",
}  # fmt: skip

# the letter before gemm: BLAS's own (https://www.netlib.org/lapack/lug/node24.html), with cuBLAS's additions
LETTERS = {
    "s": "32-bit float", "d": "64-bit float", "c": "complex of two 32-bit floats",
    "z": "complex of two 64-bit floats", "h": "16-bit float", "i": "32-bit integer",
}  # fmt: skip

TYPE = "|".join(sorted(TYPES, key=len, reverse=True))
GENERATION = "|".join(GENERATIONS)
LAYOUTS = {"n": "stored by columns (not transposed)", "t": "stored by rows (transposed)"}

# what a letter behind an architecture says (PTX ISA, .target)
_ONLY = {"": "and up", "a": "only", "f": "and others of its family"}
ARCHITECTURE = rule(
    r"sm_?(\d{2,3})([af]?)", lambda m: [Part(m[0], f"for compute capability {_dotted(m[1])} {_ONLY[m[2]]}")]
)
GENERATION_RULE = rule(
    f"({GENERATION})", lambda m: [Part(m[1], f"made for {m[1].title()} GPUs (CC {GENERATIONS[m[1]]})")]
)
ALIGN = rule(
    r"align(\d+)", "loads of at most {1} element(s); pointers and row lengths must be multiples of it"
)
VERSION = guessed(r"v(\d+)", "version {1} of this kernel")
_ACTIVATION = r"(relu|gelu|bias|silu|sigmoid|tanh)", "the epilogue applies {1} to the result"
ACTIVATION, GUESSED_ACTIVATION = rule(*_ACTIVATION), guessed(*_ACTIVATION)


def _dotted(digits: str) -> str:
    return f"{digits[:-1]}.{digits[-1]}"


def type_part(text: str, role: str, source: str = "documented") -> Part:
    """A data type and what it is the type of."""
    return Part(text, f"{role}: {TYPES[text]}", source)


def layout_parts(match: re.Match, matrices: str = "ABC", source: str = "documented") -> Iterable[Part]:
    """`nn`, `tn`, `tnn`: a letter per matrix, as BLAS calls them."""
    words = [f"{name} {LAYOUTS[letter]}" for name, letter in zip(matrices, match[1], strict=False)]
    yield Part(match[1], "; ".join(words), source)


def instruction_part(digits: str, source: str = "documented") -> Part:
    """The digits that name a tensor-core instruction, of a shape that there is."""
    shape = instruction(digits)
    return (
        Part(digits, f"tensor-core instruction {shape}", source) if shape.startswith("m") else unknown(digits)
    )


def instruction(digits: str) -> str:
    """The shape of the tensor-core instruction: "16816" -> "m16n8k16"."""
    shapes = {
        "884": "m8n8k4", "8816": "m8n8k16", "8832": "m8n8k32", "1684": "m16n8k4", "1688": "m16n8k8",
        "16816": "m16n8k16", "16832": "m16n8k32", "16864": "m16n8k64", "161616": "m16n16k16",
        "161608": "m16n16k8", "1616128": "m16n16k128", "168128": "m16n8k128", "168256": "m16n8k256",
    }  # fmt: skip
    return shapes.get(digits, f"shape {digits}")
