"""What a recorded table is made of: launches (or calls, or readings of a clock) that vary in some columns.

Chapters describe theirs with these; `sweeps` knows them all.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .kernels import Kernel

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
    kernel: Kernel
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
class Built(Point):
    """A launch whose table says what the compiler made of it: the columns `registers` and `local_bytes`."""

    def launcher(self, cp: Any) -> Callable[[], object]:
        """As for a `Point`, and fills in the two columns."""
        kernel = self.compiled(cp)
        self.columns["registers"] = int(kernel.num_regs)  # type: ignore[index]
        self.columns["local_bytes"] = int(kernel.local_size_bytes)  # type: ignore[index]
        return super().launcher(cp)


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


def no_points(size: int) -> list[Point]:
    """A sweep of calls and readings alone."""
    return []


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


def square(n: int, inputs: int) -> Arguments:
    """Arguments of a launch: an n x n output, `inputs` n x n inputs, and n."""

    def make(cp: Any) -> tuple:
        given = [floats(cp, n * n).reshape(n, n) for _ in range(inputs)]
        return (cp.zeros((n, n), cp.float32), *given, np.int32(n))

    return make
