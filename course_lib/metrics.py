"""Counts of a launch under Nsight Compute's names, and under `course__` names where it has none."""

from __future__ import annotations

from .emulator.asynchronous import COPY_SPACES, copy_metrics
from .emulator.isa.matrix_form import tensor_operations, tensor_work
from .emulator.lanes import WARP
from .emulator.program import Program
from .emulator.tally import Tally

_FLOAT_TYPES = {"f16", "f16x2", "bf16", "bf16x2", "f32", "f32x2", "f64"}
_FLOATS = {"add": "fadd", "sub": "fadd", "mul": "fmul", "fma": "ffma", "mad": "ffma"}


def metrics(program: Program, tally: Tally) -> dict[str, float]:
    """All metrics that follow from what was counted: name -> number."""
    copies = copy_metrics(tally.sites) | {"course__async_bytes_in_flight.max": tally.in_flight}
    return _memory(tally) | _for_model(program, tally) | copies | _executed(program, tally)


def _total(tally: Tally, name: str, spaces: tuple[str, ...], store: bool | None = None) -> int:
    """Sum of one count over the accesses to some spaces: loads, stores, or (None) both."""
    return sum(
        getattr(site, name)
        for site in tally.sites.values()
        if site.space in spaces and store in (None, site.store)
    )


def _memory(tally: Tally) -> dict[str, float]:
    found: dict[str, float] = {}
    for way, store in (("ld", False), ("st", True)):
        requests = {space: _total(tally, "requests", (space,), store) for space in ("global", "shared")}
        sectors = _total(tally, "sectors", ("global",), store)
        wavefronts, conflicts = (
            _total(tally, name, ("shared",), store) for name in ("wavefronts", "conflicts")
        )
        found |= {
            f"l1tex__t_requests_pipe_lsu_mem_global_op_{way}.sum": requests["global"],
            f"l1tex__t_sectors_pipe_lsu_mem_global_op_{way}.sum": sectors,
            f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{way}.sum": wavefronts,
            f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{way}.sum": conflicts,
            f"smsp__sass_inst_executed_op_global_{way}.sum": requests["global"],
            f"smsp__sass_inst_executed_op_shared_{way}.sum": requests["shared"],
            f"course__unique_dram_bytes_{way}": tally.touched_bytes(store),
        }
    every, shared = ("global", "atomic global", *COPY_SPACES), ("shared", *COPY_SPACES)
    return found | {
        "memory_l2_theoretical_sectors_global": _total(tally, "sectors", every),
        "memory_l2_theoretical_sectors_global_ideal": _total(tally, "sectors_ideal", every),
        "memory_l1_wavefronts_shared": _total(tally, "wavefronts", shared),
        "memory_l1_wavefronts_shared_ideal": _total(tally, "wavefronts_ideal", shared),
    }


def _read(tally: Tally, name: str) -> int:
    """Sum of one count over all that brings values from global memory: loads, copies, atomic operations."""
    return _total(tally, name, ("global", *COPY_SPACES), False) + _total(tally, name, ("atomic global",))


def _for_model(program: Program, tally: Tally) -> dict[str, float]:
    rounds = sum(each * warps for each, warps in zip(program.rounds, tally.warps, strict=True))
    return {
        "course__l1_tags_global.sum": _total(tally, "tags", ("global", "atomic global")),
        "course__sectors_ideal_global_op_ld.sum": _total(
            tally, "sectors_ideal", ("global", *COPY_SPACES), False
        ),
        "course__l1_wavefronts_global.sum": _total(tally, "l1_wavefronts", ("global",)),
        "course__l2_pairs_global.sum": tally.l2_pairs(program.opcode),
        "course__load_rounds.sum": rounds,
        "course__unique_pair_bytes_ld": tally.touched_pairs_bytes(),
        "course__atomics_global.sum": _total(tally, "requests", ("atomic global",)),
        "course__reads_global.sum": _read(tally, "requests"),
        "course__read_sectors_global.sum": _read(tally, "sectors"),
        "course__copied_sectors.sum": _total(tally, "sectors", COPY_SPACES),
        "course__shared_ways.max": max((site.ways for site in tally.sites.values()), default=0),
    }


def _is_block_barrier(opcode: str) -> bool:
    """Whether warps of a block meet here, or one says that it has arrived: `bar`, `barrier`."""
    kind, *modifiers = opcode.split(".")
    return kind in ("bar", "barrier") and "warp" not in modifiers


def _is_product(opcode: str) -> bool:
    """Whether threads multiply floating-point numbers, of whatever format."""
    kind, *modifiers = opcode.split(".")
    return kind in ("mul", "fma", "mad") and not _FLOAT_TYPES.isdisjoint(modifiers)


def _executed(program: Program, tally: Tally) -> dict[str, float]:
    warps = lanes = branches = tensor = work = barriers = 0
    floats, slots, products = {"fadd": 0, "fmul": 0, "ffma": 0}, 0, 0
    for block in program.blocks:
        counted = [i for i in block.instructions if not i.opcode.startswith("param.")]
        warps += tally.warps[block.number] * len(counted)
        lanes += tally.lanes[block.number] * len(counted)
        branches += tally.warps[block.number] * (block.branches or bool(block.table))
        for instruction in counted:
            tensor += tally.warps[block.number] * tensor_operations(instruction.opcode)
            work += tally.warps[block.number] * tensor_work(instruction.opcode)
            barriers += tally.warps[block.number] * _is_block_barrier(instruction.opcode)
            products += tally.lanes[block.number] * _is_product(instruction.opcode)
            kind = _FLOATS.get(instruction.opcode.split(".")[0])
            if kind is not None and instruction.opcode.endswith(".f32"):
                floats[kind] += tally.lanes[block.number]
                slots += WARP * tally.warps[block.number]
    found: dict[str, float] = {
        "smsp__inst_executed.sum": warps,
        "smsp__thread_inst_executed.sum": lanes,
        "smsp__thread_inst_executed_per_inst_executed.ratio": round(lanes / warps, 2) if warps else 0,
        "course__barriers.sum": barriers,
        "course__branches.sum": branches,
        "course__branches_divergent.sum": sum(tally.divergent),
        "course__tensor_flops.sum": tensor,
        "course__tensor_work.sum": work,  # in operations on 16-bit floats
        "course__products.sum": products,
        "course__fp32_lanes.sum": slots,  # of FP32 units, taken by idle lanes of a warp too
    }
    for kind, number in floats.items():
        found[f"smsp__sass_thread_inst_executed_op_{kind}_pred_on.sum"] = number
    return found
