"""Inputs of the matrix kernels and what they should give in float64."""

import zlib

import numpy as np

from .tensor_sources import BYTES, MMA_FORMS, WMMA_FORMS, shape

WARPS = 8
LEAST = {"f16": 2.0**-14, "bf16": 2.0**-126, "tf32": 2.0**-126, "e4m3": 2.0**-14, "e5m2": 2.0**-14}  # normal
KINDS = ("normal", "wide", "special")


def seeded(*what) -> np.random.Generator:
    """A generator of its own for every case."""
    return np.random.default_rng(zlib.crc32(repr(what).encode()))


def bits_of(value: np.ndarray, element: str) -> np.ndarray:
    """float64 values -> elements as unsigned integers (bf16 and tf32 are cut); integers as they are."""
    if element == "f16":
        return value.astype(np.float16).view(np.uint16)
    if element in ("bf16", "tf32", "f32"):
        word = value.astype(np.float32).view(np.uint32)
        return (
            (word >> 16).astype(np.uint16)
            if element == "bf16"
            else word & (0xFFFFE000 if element == "tf32" else 0xFFFFFFFF)
        )
    return value.astype({"f64": np.float64, "s8": np.int8, "u8": np.uint8, "s32": np.int32}[element])


def values_of(raw: np.ndarray, element: str) -> np.ndarray:
    """Elements -> float64, exactly."""
    if element == "f16":
        return raw.view(np.float16).astype(np.float64)
    if element == "bf16":
        return (raw.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if element in ("tf32", "f32"):
        return raw.view(np.float32).astype(np.float64)
    if element in ("e4m3", "e5m2"):
        return eight(raw.astype(np.int64), 3 if element == "e4m3" else 2)
    return raw.astype(np.float64)


def eight(code: np.ndarray, fraction_bits: int) -> np.ndarray:
    """8-bit floats: sign, 7 - fraction_bits bits of exponent (bias 7 or 15), fraction."""
    exponent, fraction = (code & 127) >> fraction_bits, code & ((1 << fraction_bits) - 1)
    bias = (1 << (6 - fraction_bits)) - 1
    size = np.where(exponent == 0, fraction, fraction + (1 << fraction_bits)) * 2.0 ** (
        np.maximum(exponent, 1) - bias - fraction_bits
    )
    if fraction_bits == 2:
        size = np.where(exponent == 31, np.where(fraction == 0, np.inf, np.nan), size)
    else:
        size = np.where((code & 127) == 127, np.nan, size)
    return np.where(code & 128, -size, size)


def _exponents(element: str) -> tuple[int, int]:
    return {"f16": (-24, 15), "bf16": (-60, 60), "tf32": (-60, 60), "f32": (-60, 60), "f64": (-60, 60)}[
        element
    ]


def elements(rng: np.random.Generator, count: tuple[int, ...], element: str, kind: str) -> np.ndarray:
    """Random elements: of one size ("normal"), of all ("wide"), with zeros, infinities, NaN ("special")."""
    if element in ("e4m3", "e5m2"):
        raw = rng.integers(0, 256, count).astype(np.uint8)
        finite = np.isfinite(values_of(raw, element))
        return raw if kind == "special" else np.where(finite, raw, np.uint8(0x38))
    if element in ("s8", "u8", "s32"):
        low, high = {"s8": (-128, 128), "u8": (0, 256), "s32": (-(2**31), 2**31)}[element]
        return bits_of(rng.integers(low, high, count), element)
    value = rng.standard_normal(count)
    if kind == "wide":
        low, high = _exponents(element)
        value = np.copysign(rng.uniform(1, 2, count), value) * 2.0 ** rng.integers(low, high, count)
    if kind == "special":
        chosen = rng.integers(0, 24, count)
        tiny = {"f16": 2.0**-24, "bf16": 2.0**-133, "tf32": 2.0**-136, "f32": 2.0**-149, "f64": 2.0**-1074}[
            element
        ]
        for k, one in enumerate((0.0, -0.0, tiny, -tiny)):
            value = np.where(chosen == k, one, value)
        rare = rng.integers(0, 300, count)
        for k, one in enumerate((np.inf, -np.inf, np.nan)):
            value = np.where(rare == k, one, value)
    with np.errstate(over="ignore"):
        return bits_of(value, element)


def mma_arguments(name: str, kind: str, warps: int = WARPS) -> list[np.ndarray]:
    """A, B (by columns), C and an empty D for `warps` problems."""
    form, a, b, c, *_ = MMA_FORMS[name]
    m, n, k = shape(form)
    rng = seeded("mma", name, kind)
    made = [elements(rng, (warps, *size), e, kind) for size, e in (((m, k), a), ((n, k), b), ((m, n), c))]
    return [*made, np.zeros_like(made[2])]


def mma_reference(name: str, arguments: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """(A * B + C in float64, largest |product| or |C| per element).

    In the second, factors below the least normal number of their format count as that number.
    """
    _, a, b, c, *_ = MMA_FORMS[name]
    x, y, z = (values_of(raw, e) for raw, e in zip(arguments[:3], (a, b, c), strict=True))
    with np.errstate(invalid="ignore", over="ignore"):
        exact = (x[:, :, None, :] * y[:, None, :, :]).sum(-1) + z
        x, y = (np.where(v == 0, 0, np.maximum(np.abs(v), LEAST.get(e, 0))) for v, e in ((x, a), (y, b)))
        return exact, np.maximum((x[:, :, None, :] * y[:, None, :, :]).max(-1), np.abs(z))


_TYPES = {"half": "f16", "__nv_bfloat16": "bf16", "signed char": "s8", "unsigned char": "u8", "float": "f32",
          "wmma::precision::tf32": "tf32", "double": "f64", "int": "s32"}  # fmt: skip


def wmma_arguments(name: str, blocks: int = 4) -> list[np.ndarray]:
    """A, B, C in the layouts of the kernel, empty D, and room for the fragments."""
    m, n, k, kind, accumulator, *_ = WMMA_FORMS[name]
    rng = seeded("wmma", name)
    a, c = _TYPES[kind], _TYPES[accumulator]
    made = [elements(rng, (blocks, size), e, "normal") for size, e in ((m * k, a), (n * k, a), (m * n, c))]
    return [*made, np.zeros_like(made[2]), np.zeros((blocks, 40, 32), made[2].dtype)]


def wmma_reference(name: str, arguments: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """(2 * (A * B + C) in the layout of D, largest |product| or |C| per element)."""
    m, n, k, kind, accumulator, a, b, c = WMMA_FORMS[name]
    x, y, z = (
        values_of(raw, _TYPES[e]) for raw, e in zip(arguments[:3], (kind, kind, accumulator), strict=True)
    )
    x = x.reshape(-1, m, k) if a == "row" else x.reshape(-1, k, m).swapaxes(1, 2)
    y = y.reshape(-1, n, k) if b == "col" else y.reshape(-1, k, n).swapaxes(1, 2)
    z = z.reshape(-1, m, n) if c == "row" else z.reshape(-1, n, m).swapaxes(1, 2)
    products = x[:, :, None, :] * y[:, None, :, :]
    total, size = 2 * (products.sum(-1) + z), np.maximum(np.abs(products).max(-1), np.abs(z))
    if c == "col":
        total, size = total.swapaxes(1, 2), size.swapaxes(1, 2)
    return total.reshape(len(total), -1), size.reshape(len(total), -1)


def values(name: str, raw: np.ndarray) -> np.ndarray:
    """D of a wmma kernel in float64."""
    return values_of(raw, _TYPES[WMMA_FORMS[name][4]])


def every_mma() -> list[tuple[str, str]]:
    """(form, kind of data) of every mma case; integers have one kind."""
    return [
        (name, kind)
        for name, form in MMA_FORMS.items()
        for kind in KINDS
        if BYTES[form[1]] > 1 or kind == "normal" or form[3] != "s32"
    ]


# -- memory ---------------------------------------------------------------------------


def words(first: int, second: int) -> list[np.ndarray]:
    """Random words, and room for the result."""
    return [seeded(first, second).integers(0, 2**32, first, np.uint32), np.zeros(second, np.uint32)]


def copy_arguments(size: int) -> list[np.ndarray]:
    """64 pieces of `size` bytes, room for them, and how many bytes of each to copy: all numbers occur."""
    data = seeded("copy", size).integers(0, 256, 64 * size).astype(np.uint8)
    return [data, np.zeros(64 * size, np.uint8), np.arange(64, dtype=np.int32) % (size + 1)]


def running_arguments(blocks: int = 4, tiles: int = 5) -> list:
    """Arguments of the double-buffered kernel."""
    values = seeded("running").standard_normal(blocks * tiles * 64).astype(np.float32)
    return [values, np.zeros_like(values), np.int32(tiles)]


def matmul_arguments(m: int, n: int, k: int) -> list:
    """Arguments of the pipelined matrix product."""
    rng = seeded("matmul", m, n, k)
    a, b = (rng.standard_normal(size).astype(np.float16) for size in ((m, k), (k, n)))
    return [a, b, np.zeros((m, n), np.float32), *(np.int32(x) for x in (m, n, k))]
