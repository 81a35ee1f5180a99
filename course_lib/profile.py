"""`profile`: run a kernel on the emulator and report what Nsight Compute would count.

The evidence label is "counted": the numbers follow from the CUDA source, the launch and
the data alone, and are equal on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .emulator import RawKernel, errors
from .emulator.asynchronous import COPY_SPACES, copy_metrics
from .emulator.hazards import Hazard
from .emulator.isa.matrix_form import tensor_operations
from .emulator.merged import may_merge, sass_widths
from .emulator.program import Program
from .emulator.rounds import load_rounds
from .emulator.run import Launch, launch
from .emulator.tally import SiteTally

LD, ST = "op_ld.sum", "op_st.sum"


@dataclass
class Line:
    """What one CUDA source line cost. Sums over all warps of the launch.

    `executions`: warp instructions (PTX); `active_lanes`: their average number of active lanes;
    `requests`: memory instructions per warp; `sectors` and `wavefronts` with the fewest possible.
    """

    line: int
    text: str
    executions: int = 0
    active_lanes: float = 0.0
    requests: int = 0
    sectors: int = 0
    sectors_ideal: int = 0
    wavefronts: int = 0
    wavefronts_ideal: int = 0
    hazards: list[Hazard] = field(default_factory=list)


class Profile(Mapping[str, float]):
    """Nsight Compute's metric names -> numbers, with the findings and the cost of each source line.

    `hazards` lists findings, `lines` one `Line` per source line that did anything, `grid`, `block`,
    `registers`, `shared_bytes` (static + dynamic) and `kernel` describe the launch. `merged` says which
    accesses are counted as ptxas joined or dropped them instead of as the PTX has them.
    """

    source = "counted"

    def __init__(self, kernel: RawKernel, launched: Launch, block: tuple[int, int, int], shared_mem: int) -> None:
        program, tally = launched.program, launched.tally
        assert tally is not None and launched.hazards is not None
        self.kernel = program.kernel
        self.grid, self.block = launched.geometry.grid, block
        self.registers = kernel.num_regs
        self.shared_bytes = kernel.shared_size_bytes + shared_mem
        self.hazards = launched.hazards.findings
        self.merged = {program.line(site): width for site, width in tally.widths.items()}
        self.lines = _lines(program, launched, kernel.code)
        self._metrics = _metrics(program, launched)
        self._metrics |= {
            "launch__registers_per_thread": self.registers,
            "launch__shared_mem_per_block_static": kernel.shared_size_bytes,
            "launch__shared_mem_per_block_dynamic": shared_mem,
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


def profile(kernel: Any, grid: tuple, block: tuple, args: Sequence[Any], shared_mem: int = 0) -> Profile:
    """Count one launch of `kernel` (a RawKernel of the emulator or of CuPy); `args` are not changed.

    Raises what a launch raises: LaunchError, ArgumentError, MemoryAccessError, StepBudgetError, ...
    """
    emulated = as_emulated(kernel)
    copies = copied_arguments(args)
    grid3, block3, parameters, dynamic = emulated.prepare(grid, block, copies, shared_mem)
    program = emulated.program
    names, widths = emulated.parameter_names, _widths(emulated, program)
    launched = launch(program, grid3, block3, parameters, dynamic, observe=widths, names=names)
    return Profile(emulated, launched, block3, dynamic)


def as_emulated(kernel: Any) -> RawKernel:
    """The emulator's kernel of the same source, name and options."""
    if isinstance(kernel, RawKernel):
        return kernel
    try:
        emulated = RawKernel(kernel.code, kernel.name, tuple(kernel.options))
    except AttributeError as error:
        raise TypeError(f"profile needs a RawKernel with its source, not {type(kernel).__name__}") from error
    if kernel.max_dynamic_shared_size_bytes > emulated.max_dynamic_shared_size_bytes:
        emulated.max_dynamic_shared_size_bytes = kernel.max_dynamic_shared_size_bytes
    return emulated


def _widths(kernel: RawKernel, program: Program) -> dict[int, int]:
    if not may_merge(program):
        return {}
    from .emulator.sass import sass_lines

    try:
        return sass_widths(program, sass_lines(kernel.compiled.cubin, kernel.name))
    except errors.UnsupportedError:  # no nvdisasm for this platform: the PTX is counted as it stands
        return {}


def copied_arguments(args: Sequence[Any]) -> tuple:
    """Arguments with every array's memory copied once, so that views still overlap as before."""
    if not isinstance(args, list | tuple):
        return args
    owners: dict[int, np.ndarray] = {}
    return tuple(_copied(arg, owners) for arg in args)


def _copied(value: Any, owners: dict[int, np.ndarray]) -> Any:
    if hasattr(value, "get") and hasattr(value, "__cuda_array_interface__"):
        return _from_gpu(value, owners)
    if not isinstance(value, np.ndarray) or value.ndim == 0:
        return value
    owner = value
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    if not owner.flags.forc or not owner.size:
        return value.copy()
    low = owner.__array_interface__["data"][0]
    if low not in owners:
        owners[low] = owner.view(np.ndarray).ravel(order="K").view(np.uint8).copy()
    offset = value.__array_interface__["data"][0] - low
    copy = np.ndarray(value.shape, value.dtype, owners[low], offset, value.strides)
    copy.flags.writeable = value.flags.writeable
    return copy


def _from_gpu(value: Any, owners: dict[int, np.ndarray]) -> np.ndarray:
    """A CuPy array's copy on the host, as far into its owner's memory and in the same order as on the GPU."""
    owner = value if value.base is None else value.base
    if not owner.flags.forc or not value.size:
        return value.get()
    low, here = (a.__cuda_array_interface__["data"][0] for a in (owner, value))
    if low not in owners:
        owners[low] = owner.get(order="A").ravel(order="K").view(np.uint8)
    return np.ndarray(value.shape, value.dtype, owners[low], here - low, value.strides)


# -- metrics ---------------------------------------------------------------------


def _total(sites: dict[int, SiteTally], name: str, space: str, store: bool | None = None) -> int:
    return sum(
        getattr(site, name) for site in sites.values()
        if site.space == space and (store is None or site.store == store)
    )  # fmt: skip


def _metrics(program: Program, launched: Launch) -> dict[str, float]:
    tally = launched.tally
    assert tally is not None
    sites = tally.sites
    metrics: dict[str, float] = {}
    for suffix, store in ((LD, False), (ST, True)):
        metrics[f"l1tex__t_requests_pipe_lsu_mem_global_{suffix}"] = _total(sites, "requests", "global", store)
        metrics[f"l1tex__t_sectors_pipe_lsu_mem_global_{suffix}"] = _total(sites, "sectors", "global", store)
        wavefronts = _total(sites, "wavefronts", "shared", store)
        metrics[f"l1tex__data_pipe_lsu_wavefronts_mem_shared_{suffix}"] = wavefronts
        conflicts = _total(sites, "conflicts", "shared", store)
        metrics[f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_{suffix}"] = conflicts
        space, name = suffix[3:5], "course__unique_dram_bytes_"
        metrics[name + space] = tally.touched_bytes(store)
        metrics[f"smsp__sass_inst_executed_op_global_{space}.sum"] = _total(sites, "requests", "global", store)
        metrics[f"smsp__sass_inst_executed_op_shared_{space}.sum"] = _total(sites, "requests", "shared", store)
    for name, field_name in (("", "sectors"), ("_ideal", "sectors_ideal")):
        both = sum(_total(sites, field_name, space) for space in ("global", "atomic global", *COPY_SPACES))
        metrics[f"memory_l2_theoretical_sectors_global{name}"] = both
    for name, field_name in (("", "wavefronts"), ("_ideal", "wavefronts_ideal")):
        both = sum(_total(sites, field_name, space) for space in ("shared", *COPY_SPACES))
        metrics[f"memory_l1_wavefronts_shared{name}"] = both
    metrics["course__l1_tags_global.sum"] = _total(sites, "tags", "global") + _total(sites, "tags", "atomic global")
    metrics["course__sectors_ideal_global_op_ld.sum"] = _total(sites, "sectors_ideal", "global", False)
    metrics["course__l1_wavefronts_global.sum"] = _total(sites, "l1_wavefronts", "global")
    metrics["course__l2_lines_global.sum"] = tally.l2_lines(program.opcode)
    metrics["course__load_rounds.sum"] = sum(
        load_rounds(block.instructions) * tally.warps[block.number] for block in program.blocks
    )
    metrics["course__unique_pair_bytes_ld"] = tally.touched_pairs_bytes()
    metrics["course__atomics_global.sum"] = _total(sites, "requests", "atomic global")
    metrics["course__shared_ways.max"] = max((s.ways for s in sites.values()), default=0)
    return metrics | copy_metrics(sites) | _executed(program, launched)


def _executed(program: Program, launched: Launch) -> dict[str, float]:
    tally = launched.tally
    assert tally is not None
    warps = lanes = branches = tensor = 0
    floats = {"fadd": 0, "fmul": 0, "ffma": 0}
    for block in program.blocks:
        counted = [i for i in block.instructions if not i.opcode.startswith("param.")]
        warps += tally.warps[block.number] * len(counted)
        lanes += tally.lanes[block.number] * len(counted)
        branches += tally.warps[block.number] * (block.branches or bool(block.table))
        for instruction in counted:
            tensor += tally.warps[block.number] * tensor_operations(instruction.opcode)
            kind = _float_kind(instruction.opcode)
            if kind:
                floats[kind] += tally.lanes[block.number]
    metrics: dict[str, float] = {
        "smsp__inst_executed.sum": warps,
        "smsp__thread_inst_executed.sum": lanes,
        "smsp__thread_inst_executed_per_inst_executed.ratio": round(lanes / warps, 2) if warps else 0,
        "course__branches.sum": branches,
        "course__branches_divergent.sum": sum(tally.divergent),
        "course__tensor_flops.sum": tensor,
    }
    for kind, number in floats.items():
        metrics[f"smsp__sass_thread_inst_executed_op_{kind}_pred_on.sum"] = number
    return metrics


def _float_kind(opcode: str) -> str | None:
    if not opcode.endswith(".f32"):
        return None
    name = opcode.split(".")[0]
    return {"add": "fadd", "sub": "fadd", "mul": "fmul", "fma": "ffma", "mad": "ffma"}.get(name)


# -- source lines ----------------------------------------------------------------


def _lines(program: Program, launched: Launch, source: str) -> list[Line]:
    text = dict(enumerate(source.split("\n"), 1))
    tally, hazards = launched.tally, launched.hazards
    assert tally is not None and hazards is not None
    rows: dict[int, Line] = {}
    lanes: dict[int, int] = {}

    def row(line: int) -> Line:
        if line not in rows:
            rows[line] = Line(line, text.get(line, "").strip() if line else "(no source line)")
        return rows[line]

    for block in program.blocks:
        for instruction in block.instructions:
            if tally.warps[block.number] and not instruction.opcode.startswith("param."):
                row(instruction.line).executions += tally.warps[block.number]
                lanes[instruction.line] = lanes.get(instruction.line, 0) + tally.lanes[block.number]
    for site, counted in tally.sites.items():
        target = row(program.line(site))
        for name in ("requests", "sectors", "sectors_ideal", "wavefronts", "wavefronts_ideal"):
            setattr(target, name, getattr(target, name) + getattr(counted, name))
    for hazard in hazards.findings:
        row(hazard.line).hazards.append(hazard)
    for line, found in rows.items():
        found.active_lanes = round(lanes.get(line, 0) / found.executions, 2) if found.executions else 0.0
    return [rows[line] for line in sorted(rows)]
