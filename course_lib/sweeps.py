"""The launches behind every recorded table, at the size that is recorded and at any smaller one.

One description serves three uses: `course_lib.record` times the launches on a GPU, tests run small ones on
the emulator, and notebooks model the time of what was recorded.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import numpy as np

from . import chapters
from . import kernels as k

Arguments = Callable[[Any], tuple]
THREADS = 256
LINEAR, SQUARE, LOOP = (1, 1, 1), (2, 2, 2), (1, 0, 0)  # how counts, blocks and bytes grow with the size


@dataclass(frozen=True)
class Point:
    """One launch of a sweep.

    `columns` is what varies. `arguments(cp)` makes the kernel's arguments, the output first. `useful_bytes`
    and `flops` are what one launch must move and compute at least. `warm`: caches are meant to be warm.
    `shared`: bytes of dynamic shared memory. `n`: timed launches, 0 for as many as are asked for.
    """

    columns: Mapping[str, int | str]
    kernel: k.Kernel
    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: Arguments
    useful_bytes: int = 0
    flops: int = 0
    warm: bool = False
    shared: int = 0
    n: int = 0

    def compiled(self, cp: Any) -> Any:
        """The kernel of `cp`, allowed as much dynamic shared memory as the launch asks for."""
        kernel = self.kernel.compile(cp)
        if self.shared:
            kernel.max_dynamic_shared_size_bytes = self.shared
        return kernel

    def launcher(self, cp: Any) -> Callable[[], object]:
        """The launch as a function without arguments, compiled and with its arrays made."""
        kernel, args = self.compiled(cp), self.arguments(cp)
        return lambda: kernel(self.grid, self.block, args, shared_mem=self.shared)


@dataclass(frozen=True)
class Call:
    """A library's way to do the same, timed on a GPU only and never modelled.

    `launcher(cp)` gives the call, its arrays made and its first run done; None where the library is missing.
    """

    columns: Mapping[str, int | str]
    launcher: Callable[[Any], Callable[[], object] | None]
    useful_bytes: int = 0
    flops: int = 0
    warm: bool = False


@dataclass(frozen=True)
class Reading:
    """A clock that is read by the code itself: the host's, or events set in a way of its own.

    `launcher(cp)` gives a function that measures once and returns milliseconds, its arrays made; None where
    something is missing. Before every reading the GPU is idle, and L2 emptied unless `warm`. `n`: readings to
    take, 0 for as many as other rows have launches.
    """

    columns: Mapping[str, int | str]
    launcher: Callable[[Any], Callable[[], float] | None]
    useful_bytes: int = 0
    flops: int = 0
    warm: bool = False
    n: int = 0


def no_calls(size: int) -> list[Call | Reading]:
    """A sweep without library calls."""
    return []


@dataclass(frozen=True)
class Sweep:
    """A table to record: `points(size)` are its launches; `size`, in units of `what`, is the recorded one.

    At the size `small` the emulator runs the same launches in no time. From there to `size`, a factor r,
    counts grow as r to the power `growth[0]`, blocks as `growth[1]` and distinct bytes as `growth[2]`.
    """

    name: str
    what: str
    size: int
    points: Callable[[int], list[Point]]
    small: int
    growth: tuple[int, int, int]
    calls: Callable[[int], list[Call | Reading]] = no_calls  # after the points, as the table's last rows


def floats(cp: Any, count: int) -> Any:
    """`count` float32 values in [0, 1), scattered (multiplicative hashing) and the same on every machine."""
    scattered = cp.arange(count, dtype=cp.uint32) * np.uint32(2654435761)
    return (scattered >> np.uint32(8)).astype(cp.float32) * np.float32(2**-24)


def _per_element(
    kernel: k.Kernel,
    sizes: tuple[int, int],
    threads: int,
    scalars: tuple[int, ...],
    columns: Mapping[str, int | str],
    useful: int,
) -> Point:
    """A launch of `threads` threads; `sizes`: floats of output and input; `scalars` follow as int32."""

    def arguments(cp: Any) -> tuple:
        return (cp.zeros(sizes[0], cp.float32), floats(cp, sizes[1]), *map(np.int32, scalars))

    return Point(columns, kernel, (-(-threads // THREADS),), (THREADS,), arguments, useful)


def offset(n: int) -> list[Point]:
    """Copy of n floats shifted by 0 to 32 elements."""
    return [_per_element(k.COPY_OFFSET, (n + o, n + o), n, (n, o), {"offset": o}, 8 * n) for o in range(33)]


def stride(n: int) -> list[Point]:
    """n outputs, each from an input `stride` elements after the last."""
    return [_per_element(k.READ_STRIDED, (n, n * s), n, (n, s), {"stride": s}, 8 * n) for s in range(1, 33)]


def layout(n: int) -> list[Point]:
    """n points of 3 floats, as an array of structures or a structure of arrays; 3 fields are read, or 1."""
    cases = [
        ("aos", 3, k.SUM_AOS),
        ("soa", 3, k.SUM_SOA),
        ("aos", 1, k.SCALE_X_AOS),
        ("soa", 1, k.SCALE_X_SOA),
    ]
    return [
        _per_element(kernel, (n, 3 * n), n, (n,), {"layout": name, "fields": fields}, 4 * n * (fields + 1))
        for name, fields, kernel in cases
    ]


def vector(n: int) -> list[Point]:
    """Copy of n floats, 1, 2 or 4 by each thread in one access."""
    widths = {1: k.COPY_FLOAT, 2: k.COPY_FLOAT2, 4: k.COPY_FLOAT4}
    return [_per_element(kernel, (n, n), n // w, (n,), {"width": w}, 8 * n) for w, kernel in widths.items()]


def matmul(n: int) -> list[Point]:
    """Products of two square matrices of n/2 and of n: the bad mapping and the coalesced one."""
    return [
        Point(
            {"mapping": mapping, "size": size},
            kernel,
            (-(-size // 32), -(-size // 32)),
            (1024,),
            _square(size, 2),
            12 * size * size,
            2 * size**3,
        )
        for size in (n // 2, n)
        for mapping, kernel in (("naive", k.MATMUL_NAIVE), ("coalesced", k.MATMUL_COALESCED))
    ]


def banks(repeat: int) -> list[Point]:
    """1024 threads access word t * OFFSET of shared memory, `repeat` times; 2 blocks per SM of an H200."""

    def arguments(offset: int) -> Arguments:
        return lambda cp: (cp.zeros(264 * 1024, cp.int32), np.int32(offset), np.int32(repeat))

    return [
        Point({"access": access, "offset": o}, kernel, (264,), (1024,), arguments(o), warm=True)
        for access, kernel in (("load", k.BANK_LOAD), ("store", k.BANK_STORE))
        for o in range(65)
    ]


def padding(n: int) -> list[Point]:
    """Tiled transpose of n x n floats with 0 to 33 words of padding."""
    return [_transpose(k.TRANSPOSE_TILED.define(PAD=p), n, {"padding": p}) for p in range(34)]


def transpose(n: int) -> list[Point]:
    """Transpose of n/2 x n/2 and n x n floats, in four ways, and the copy they are compared with."""
    ways = {
        "copy": k.TRANSPOSE_COPY,
        "naive": k.TRANSPOSE_NAIVE,
        "tiled": k.TRANSPOSE_TILED,
        "padded": k.TRANSPOSE_TILED.define(PAD=1),
        "swizzled": k.TRANSPOSE_SWIZZLED,
    }
    return [
        _transpose(kernel, size, {"variant": way, "size": size})
        for size in (n // 2, n)
        for way, kernel in ways.items()
    ]


def sweep(name: str) -> Sweep:
    """The sweep of that name. Raises KeyError that lists them."""
    every = all_sweeps()
    for found in every:
        if found.name == name:
            return found
    raise KeyError(f"no sweep {name!r}; there are {', '.join(found.name for found in every)}")


@cache
def all_sweeps() -> tuple[Sweep, ...]:
    """The sweeps of this module, of `rates` and of every `chapters/*_sweeps.py`."""
    found = [*SWEEPS, *import_module(f"{__package__}.rates").SWEEPS]
    for module in iter_modules(chapters.__path__):
        if module.name.endswith("_sweeps"):
            found += import_module(f"{chapters.__name__}.{module.name}").SWEEPS
    return tuple(found)


SWEEPS: Sequence[Sweep] = (
    Sweep("coalescing_offset", "floats copied", 1 << 26, offset, 1 << 14, LINEAR),
    Sweep("coalescing_stride", "floats written", 1 << 25, stride, 1 << 14, LINEAR),
    Sweep("coalescing_layout", "points", 1 << 26, layout, 1 << 14, LINEAR),
    Sweep("coalescing_vector", "floats copied", 1 << 26, vector, 1 << 14, LINEAR),
    Sweep("coalescing_matmul", "rows of the larger matrix", 2048, matmul, 128, (3, 2, 2)),
    Sweep("bank_offset", "accesses per thread", 1024, banks, 16, LOOP),
    Sweep("bank_padding", "rows of the matrix", 8192, padding, 128, SQUARE),
    Sweep("bank_transpose", "rows of the larger matrix", 8192, transpose, 256, SQUARE),
)


def _transpose(kernel: k.Kernel, n: int, columns: Mapping[str, int | str]) -> Point:
    return Point(columns, kernel, (n // 32, n // 32), (32, 8), _square(n, 1), 8 * n * n)


def _square(n: int, inputs: int) -> Arguments:
    """An n x n output, `inputs` n x n inputs, and n."""

    def make(cp: Any) -> tuple:
        given = [floats(cp, n * n).reshape(n, n) for _ in range(inputs)]
        return (cp.zeros((n, n), cp.float32), *given, np.int32(n))

    return make
