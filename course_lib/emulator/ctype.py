"""C types of kernel parameters, as NumPy sees them."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

_SCALARS = {
    "bool": "bool", "char": "int8", "signed char": "int8", "unsigned char": "uint8", "uchar": "uint8",
    "short": "int16", "short int": "int16", "unsigned short": "uint16", "ushort": "uint16",
    "int": "int32", "signed": "int32", "signed int": "int32",
    "unsigned": "uint32", "unsigned int": "uint32", "uint": "uint32",
    "long": "int64", "long int": "int64", "unsigned long": "uint64", "ulong": "uint64",
    "long long": "int64", "long long int": "int64", "unsigned long long": "uint64",
    "unsigned long long int": "uint64", "size_t": "uint64", "ptrdiff_t": "int64", "clock_t": "int64",
    "half": "float16", "__half": "float16", "float": "float32", "double": "float64",
    "complex<float>": "complex64", "complex<double>": "complex128",
    "cuComplex": "complex64", "cuFloatComplex": "complex64", "cuDoubleComplex": "complex128",
} | {f"{u}int{bits}_t": f"{u}int{bits}" for u in ("", "u") for bits in (8, 16, 32, 64)}  # fmt: skip

_VECTOR_BASES = {
    "char": "int8", "uchar": "uint8", "short": "int16", "ushort": "uint16", "int": "int32", "uint": "uint32",
    "long": "int64", "ulong": "uint64", "longlong": "int64", "ulonglong": "uint64",
    "float": "float32", "double": "float64",
}  # fmt: skip
_VECTORS = {f"{name}{n}": (dtype, n) for name, dtype in _VECTOR_BASES.items() for n in (1, 2, 3, 4)}
_VECTORS |= {"half2": ("float16", 2), "__half2": ("float16", 2)}

# floats that NumPy does not have: C type -> (name in ml_dtypes, bytes, lanes)
_OTHERS = {
    "__nv_bfloat16": ("bfloat16", 2, 1), "nv_bfloat16": ("bfloat16", 2, 1),
    "__nv_bfloat162": ("bfloat16", 2, 2), "nv_bfloat162": ("bfloat16", 2, 2),
    "__nv_fp8_e4m3": ("float8_e4m3fn", 1, 1), "__nv_fp8_e5m2": ("float8_e5m2", 1, 1),
    "__nv_fp8x4_e4m3": ("float8_e4m3fn", 1, 4), "__nv_fp8x4_e5m2": ("float8_e5m2", 1, 4),
}  # fmt: skip

_PTX = {
    "f16": "half", "f32": "float", "f64": "double", "u8": "8-bit integer", "s8": "8-bit integer",
    "u16": "16-bit integer", "s16": "16-bit integer", "u32": "32-bit integer", "s32": "32-bit integer",
    "u64": "64-bit integer or pointer", "s64": "64-bit integer",
}  # fmt: skip
_BITS = {f"{bits}-bit integer": f"int{bits}" for bits in (8, 16, 32, 64)}
_INTEGER_KINDS = "iub"


@dataclass(frozen=True)
class ElementType:
    """One C type: ``lanes`` values of ``dtype``; ``either_sign`` where only the PTX is known.

    ``other``: name in ml_dtypes of a float that NumPy does not have; ``dtype`` then holds its bits.
    """

    dtype: np.dtype
    lanes: int = 1
    either_sign: bool = False
    other: str = ""

    @property
    def size(self) -> int:
        """Bytes of the whole type."""
        return self.dtype.itemsize * self.lanes

    @property
    def name(self) -> str:
        """NumPy's name of the type, as in ``cp.float32``."""
        return "bool_" if self.dtype.kind == "b" else self.dtype.name

    def matches(self, array: np.dtype) -> bool:
        """May an array of this dtype be meant where a pointer to this C type is declared?

        Signed and unsigned of one size are both fine, complex numbers are pairs of floats,
        and structures are taken as they come. Integers may be the bits of a float NumPy does not have.
        """
        if self.other:
            bits = not _is_other(array) and array.kind in "iuV" and self.dtype.itemsize == array.itemsize
            return bits or array.name == self.other
        if self.dtype.kind == "f" and _is_other(array):
            return False
        if array.kind == "V":
            return array.names is not None or self.dtype.itemsize == array.itemsize
        given = np.dtype(f"f{array.itemsize // 2}") if array.kind == "c" else array
        wanted = np.dtype(f"f{self.dtype.itemsize // 2}") if self.dtype.kind == "c" else self.dtype
        return self._kind(given) == self._kind(wanted) and given.itemsize == wanted.itemsize

    def same_kind(self, scalar: np.dtype) -> bool:
        """Whole numbers to whole numbers, floats to floats."""
        return self._kind(scalar) == self._kind(self.dtype)

    @staticmethod
    def _kind(dtype: np.dtype) -> str:
        return "i" if dtype.kind in _INTEGER_KINDS else dtype.kind

    def readings(self, raw: bytes) -> Iterator[np.generic]:
        """What the kernel may see in ``raw``; both signs if the sign is not known."""
        yield np.frombuffer(raw, self.dtype)[0]
        if self.either_sign:
            yield np.frombuffer(raw, self.dtype.str.replace("i", "u"))[0]

    def show(self, raw: bytes) -> str:
        """``raw`` as the kernel reads it, for a message."""
        return str(np.frombuffer(raw, self.dtype)[0])


def element_type(ctype: str) -> ElementType | None:
    """The NumPy side of a C type name (``unsigned int``, ``float4``, ``cuda::std::uint8_t``), or None."""
    plain = ctype.replace("struct ", "").split("::")[-1].strip()
    if plain in _BITS:
        return ElementType(np.dtype(_BITS[plain]), either_sign=True)
    if plain in _SCALARS:
        return ElementType(np.dtype(_SCALARS[plain]))
    if plain in _OTHERS:
        name, size, lanes = _OTHERS[plain]
        return ElementType(np.dtype(f"u{size}"), lanes, other=name)
    if plain in _VECTORS:
        name, lanes = _VECTORS[plain]
        return ElementType(np.dtype(name), lanes)
    return None


def _is_other(dtype: np.dtype) -> bool:
    """Whether it is a float of ml_dtypes, which NumPy does not know."""
    return dtype.type.__module__.startswith("ml_dtypes")


def of_ptx(ptx_type: str, size: int) -> str:
    """How messages name a parameter of which only the PTX is known."""
    return _PTX.get(ptx_type, f"{size}-byte structure")
