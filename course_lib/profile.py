"""`profile`: run a kernel on the emulator and report what Nsight Compute would count.

The evidence label is "counted": the numbers follow from the CUDA source, the launch and
the data alone, and are equal on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .emulator import RawKernel, errors
from .emulator.merged import may_merge, sass_widths
from .emulator.program import Program
from .emulator.run import Launch, launch
from .metrics import metrics
from .source_lines import Line, source_lines

__all__ = ["Line", "Profile", "as_emulated", "on_host", "profile"]


class Profile(Mapping[str, float]):
    """Nsight Compute's metric names -> numbers, with the findings and the cost of each source line.

    `hazards` lists findings, `lines` one `Line` per source line that did anything, `grid`, `block`,
    `registers`, `shared_bytes` (static + dynamic) and `kernel` describe the launch. `merged` says which
    accesses are counted as ptxas joined or dropped them instead of as the PTX has them.

    Findings are of the run that was made, with its data. Races are found whether or not they did harm.
    Threads of different blocks are not ordered within a launch; but where a kernel uses fences together
    with atomic operations or volatile flags, what lies before a fence counts as ordered, and the flags
    themselves are not checked. Several threads that store one and the same value are no finding.
    `unchecked` names arrays too large to be checked for races. `stand_ins` are the special registers the
    kernel reads that the emulator makes up, such as `%clock64`, and what they hold: counts that depend on
    them are not those of a GPU.
    """

    source = "counted"

    def __init__(
        self, kernel: RawKernel, launched: Launch, block: tuple[int, int, int], shared_mem: int
    ) -> None:
        program, tally = launched.program, launched.tally
        assert tally is not None
        assert launched.hazards is not None
        self.kernel = program.kernel
        self.grid, self.block = launched.geometry.grid, block
        self.registers = kernel.num_regs
        self.shared_bytes = kernel.shared_size_bytes + shared_mem
        self.hazards = launched.hazards.findings
        self.merged = {program.line(site): width for site, width in tally.widths.items()}
        self.stand_ins = program.stand_ins
        self.unchecked = list(launched.hazards.unchecked)
        self.lines = source_lines(program, tally, self.hazards, kernel.code)
        self._metrics = metrics(program, tally)
        self._metrics |= {
            "launch__registers_per_thread": self.registers,
            "launch__shared_mem_per_block_static": kernel.shared_size_bytes,
            "launch__shared_mem_per_block_dynamic": shared_mem,
            "course__local_bytes_per_thread": kernel.local_size_bytes,
            "launch__grid_size": launched.geometry.blocks,
            "launch__block_size": launched.geometry.threads,
        }

    def __getitem__(self, name: str) -> float:
        if name not in self._metrics:
            close = [known for known in self._metrics if name.split(".")[0][:12] in known]
            raise KeyError(f"{name!r} is not counted; there is: {', '.join(close or self._metrics)}")
        return self._metrics[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._metrics)

    def __len__(self) -> int:
        return len(self._metrics)

    def __repr__(self) -> str:
        return _table(self).__repr__()

    def _repr_html_(self) -> str:
        return _table(self)._repr_html_()


def _table(profiled: Profile) -> Any:
    from .report import CounterTable  # a view of this module's result: imported when shown

    return CounterTable({profiled.kernel: profiled})


def profile(
    kernel: Any,
    grid: tuple,
    block: tuple,
    args: Sequence[Any],
    shared_mem: int = 0,
    *,
    seed: int | None = None,
) -> Profile:
    """Count one launch of `kernel` (a RawKernel of the emulator or of CuPy).

    The launch works on copies: neither `args` nor the `__device__` variables of the module are changed.

    `seed` shuffles the order in which blocks run; counts and findings of a correct kernel do not change.
    Raises what a launch raises: LaunchError, ArgumentError, MemoryAccessError, StepBudgetError, ...
    """
    emulated = as_emulated(kernel)
    prepared = emulated.prepare(grid, block, on_host(args), shared_mem)
    widths = _widths(emulated, prepared.program)
    launched = launch(prepared, observe=widths, seed=seed, scratch=True)
    return Profile(emulated, launched, prepared.block, prepared.shared_mem)


def as_emulated(kernel: Any) -> RawKernel:
    """The emulator's kernel of the same source, name and options."""
    if isinstance(kernel, RawKernel):
        return kernel
    try:
        together = bool(getattr(kernel, "enable_cooperative_groups", False))
        emulated = RawKernel(
            kernel.code, kernel.name, tuple(kernel.options), enable_cooperative_groups=together
        )
    except AttributeError as error:
        raise TypeError(f"profile needs a RawKernel with its source, not {type(kernel).__name__}") from error
    if kernel.max_dynamic_shared_size_bytes > emulated.max_dynamic_shared_size_bytes:
        emulated.max_dynamic_shared_size_bytes = kernel.max_dynamic_shared_size_bytes
    return emulated


def _widths(kernel: RawKernel, program: Program) -> dict[int, int]:
    if not may_merge(program):
        return {}
    try:
        return sass_widths(program, kernel.compiled.sass_lines(kernel.name))
    except errors.UnsupportedError:  # no nvdisasm for this platform: the PTX is counted as it stands
        return {}


def on_host(args: Sequence[Any]) -> Sequence[Any]:
    """Arguments with the memory of every CuPy array copied to the host once: views overlap as before."""
    if not isinstance(args, list | tuple):
        return args
    owners: dict[int, np.ndarray] = {}
    return tuple(_from_gpu(arg, owners) if is_cupy_array(arg) else arg for arg in args)


def is_cupy_array(value: Any) -> bool:
    """Whether it is an array in the memory of a GPU, as CuPy has them."""
    return hasattr(value, "get") and hasattr(value, "__cuda_array_interface__")


def _from_gpu(value: Any, owners: dict[int, np.ndarray]) -> np.ndarray:
    """A CuPy array's copy on the host, as far into its owner's memory and in the same order as on the GPU."""
    owner = value if value.base is None else value.base
    if not owner.flags.forc or not value.size:
        return value.get()
    low, here = (a.__cuda_array_interface__["data"][0] for a in (owner, value))
    if low not in owners:
        owners[low] = owner.get(order="A").ravel(order="K").view(np.uint8)
    return np.ndarray(value.shape, value.dtype, owners[low], here - low, value.strides)
