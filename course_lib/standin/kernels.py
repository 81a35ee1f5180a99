"""`cp.RawKernel` and `cp.RawModule` on the emulator: the emulator's own classes, for stand-in arrays only."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import emulator
from ..emulator.memory import GlobalMemory, owner_of
from ..emulator.run import launch
from .arrays import UNSUPPORTED, host, ndarray
from .ledger import Operation
from .order import Clock, Named
from .streams import Stream
from .work import Touched, submit


class RawKernel(emulator.RawKernel):
    """A kernel from CUDA C++ source, called as CuPy's."""

    def __call__(
        self, grid: tuple, block: tuple, args: Sequence[Any], *, shared_mem=0, stream: Stream | None = None
    ) -> None:
        """Give a launch to a stream, by default the current one; `shared_mem` in bytes.

        Raises:
            TypeError: an argument is a NumPy array of several elements, which CuPy refuses too.
        """
        given = _arguments(args)
        self.prepare(grid, block, given, shared_mem)  # what cannot run is refused now, captured or not
        reads, writes = self._may_touch(given)

        def run(_: Clock) -> Touched:
            ended = launch(self.prepare(grid, block, given, shared_mem))
            return _spans(ended.memory, reads, stores=False), _spans(ended.memory, writes, stores=True)

        submit(Operation("kernel", self.name), f"kernel {self.name!r}", run, reads, writes, stream)

    def _may_touch(self, args: Sequence[Any]) -> Touched:
        """The arrays it may read, and those it may write, by the names of its parameters."""
        stored, declared = self.program.facts.stored, self.program.parameters
        arrays = [
            (value, f"`{name}`", parameter.name)
            for value, name, parameter in zip(args, self.parameter_names, declared, strict=True)
            if isinstance(value, np.ndarray)
        ]
        written = [(value, name) for value, name, own in arrays if stored is None or own in stored]
        return [(value, name) for value, name, _ in arrays], written


class RawModule(emulator.RawModule):
    """Several kernels from one source, as CuPy's."""

    def get_function(self, name: str) -> RawKernel:
        """The kernel called `name`: a plain `extern "C"` name or one of the name expressions."""
        kernel = super().get_function(name)
        kernel.__class__ = RawKernel
        return kernel


def _spans(memory: GlobalMemory, arrays: Sequence[Named], stores: bool) -> list[Named]:
    """The memory behind each array from the first byte touched to the last, or from the first stored to."""
    found = []
    for owner, name in {id(owner_of(array)): (owner_of(array), name) for array, name in arrays}.values():
        region = memory.region_of(owner)
        if region is not None and (stores or region.touched != region.stored):
            low, high = region.stored if stores else region.touched
            found.append((region.buffer[max(0, low - region.start) : max(0, high - region.start)], name))
    return [(span, name) for span, name in found if span.size]


def _arguments(args: Sequence[Any]) -> Sequence[Any]:
    """The arguments with stand-in arrays as the NumPy arrays behind them; what is no sequence, unchanged."""
    return [_argument(a) for a in args] if isinstance(args, tuple | list) else args


def _argument(value: Any) -> Any:
    """One argument. As in CuPy, a NumPy array of one element is passed by value."""
    if not isinstance(value, np.ndarray) or isinstance(value, ndarray):
        return host(value)
    if value.size != 1:
        raise TypeError(f"{UNSUPPORTED} (a kernel takes NumPy arrays of one element only, by value)")
    return value.reshape(())[()]
