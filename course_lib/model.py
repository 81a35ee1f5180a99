"""A speed-of-light time of a kernel from its counts: the slowest resource, each at its peak rate.

It is a bound with a name on it, never a measurement. What it assumes:

* **DRAM**: every distinct 32-byte sector that is read comes from DRAM once (cold caches, perfect re-use).
  Stores reach DRAM only when the sectors touched exceed the L2 cache; smaller ones stay in L2 until later.
* **L2**: every sector of every request goes to L2, as if the L1 cache never hit. Re-use in L1 makes a kernel
  faster than this term says.
* **L1 tags**: a request takes a cycle for every four 128-byte lines it touches, and at least one.
* **Latency** is hidden: enough warps are resident, nothing waits for a barrier or for a dependent result.
* Instruction counts follow the PTX, which the assembler changes (loops unrolled, addresses folded).
* An SM runs whole blocks: terms of the SM are scaled by the blocks of the busiest SM over the average
  (quantization), terms of the whole chip by the share of SMs that have a block at all.

Rates per clock and their sources are in `data/gpus.toml`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from .gpus import DEFAULT, Gpu
from .gpus import gpu as find_gpu
from .occupancy import occupancy
from .tables import html_table, text_table

SECTOR = 32  # bytes
_GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
_SHARED = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
_FLOAT = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"
_UNIQUE = "course__unique_dram_bytes_{}"


@dataclass(frozen=True)
class ModelledTime:
    """A modelled time and where it comes from.

    `terms` are seconds per resource, quantization included, `seconds` is the largest of them plus the launch.
    `limiter` names that resource, or "launch" where the launch takes longer. `notes` say what is missing.
    """

    seconds: float
    limiter: str
    terms: Mapping[str, float]
    launch_seconds: float
    quantization: float
    gpu: str
    notes: tuple[str, ...] = field(default=(), repr=False)
    source: str = "modelled"

    @property
    def ms(self) -> float:
        """The time in milliseconds."""
        return self.seconds * 1e3

    def rows(self) -> list[tuple[str, str]]:
        """(resource, milliseconds), the slowest first."""
        slowest_first = sorted(self.terms.items(), key=lambda term: -term[1])
        return [(name, f"{1e3 * seconds:.5f}") for name, seconds in slowest_first if seconds]

    def _sentence(self) -> str:
        return (
            f"{self.ms:.4g} ms modelled for {self.gpu}, limited by {self.limiter} "
            f"(launch {1e6 * self.launch_seconds:.2g} µs included, quantization x {self.quantization:.3g})"
        )

    def __str__(self) -> str:
        rows = self.rows()
        table = "\n" + text_table(rows, header=("resource", "ms")) if rows else ""
        return self._sentence() + table + "".join(f"\n{note}" for note in self.notes)

    def _repr_html_(self) -> str:
        return html_table(self.rows(), ("resource", "ms (modelled)"), self._sentence()) + "".join(
            f"<p>{note}</p>" for note in self.notes
        )


def modelled_time(
    profile: Mapping[str, float], gpu: str | Gpu = DEFAULT, *, cold: bool = True
) -> ModelledTime:
    """The modelled time of one launch.

    Args:
        profile: counts under Nsight Compute's metric names, as `course_lib.profile` returns them; needs
            `launch__grid_size` and `launch__block_size`; a metric that is missing counts as 0.
        gpu: a name of `data/gpus.toml`, or a `Gpu`.
        cold: caches start empty. False: what fits into L2 is there already and costs no DRAM traffic.

    Raises:
        KeyError: no grid or block size, or no such GPU.
        ValueError: not one block fits on an SM of this GPU.
    """
    found = find_gpu(gpu)
    grid, block = profile["launch__grid_size"], profile["launch__block_size"]
    _check_fits(profile, int(block), found)
    busiest = -(-grid // found.sms)
    quantization = busiest * found.sms / grid
    terms = {name: seconds * quantization for name, seconds in _sm_terms(profile, found).items()}
    busy = min(1.0, grid / found.sms)
    terms |= {name: seconds / busy for name, seconds in _chip_terms(profile, found, cold).items()}
    slowest = max(terms, key=terms.__getitem__)
    launch = _launch_seconds(found)
    return ModelledTime(
        seconds=terms[slowest] + launch,
        limiter=slowest if terms[slowest] >= launch else "launch",
        terms=MappingProxyType(terms),
        launch_seconds=launch,
        quantization=quantization,
        gpu=found.name,
        notes=_notes(found),
    )


def scaled(
    profile: Mapping[str, float], counts: float, blocks: float | None = None, footprint: float | None = None
) -> dict[str, float]:
    """The profile of a larger launch of the same shape, for sizes the emulator need not run.

    Args:
        counts: factor for everything that is counted (sectors, wavefronts, instructions).
        blocks: factor for the grid; as `counts` if left out.
        footprint: factor for the distinct bytes touched; as `counts` if left out.
    """
    blocks, footprint = counts if blocks is None else blocks, counts if footprint is None else footprint
    grown = {}
    for name, value in profile.items():
        if name == "launch__grid_size":
            grown[name] = round(value * blocks)
        elif name.startswith("course__unique"):
            grown[name] = value * footprint
        else:
            grown[name] = value * counts if name.endswith(".sum") or name.startswith("memory_") else value
    return grown


def dram_bytes(profile: Mapping[str, float], gpu: str | Gpu = DEFAULT, *, cold: bool = True) -> float:
    """Bytes that cross to and from DRAM while the kernel runs, under the assumptions of this module."""
    read, written = profile.get(_UNIQUE.format("ld"), 0), profile.get(_UNIQUE.format("st"), 0)
    if read + written > find_gpu(gpu).l2.size_bytes:
        return read + written
    return read if cold else 0


def fp32_flops(profile: Mapping[str, float]) -> float:
    """FP32 operations executed, an FMA counting as two."""
    return sum(n * profile.get(_FLOAT.format(op), 0) for op, n in (("fadd", 1), ("fmul", 1), ("ffma", 2)))


def _sm_terms(profile: Mapping[str, float], gpu: Gpu) -> dict[str, float]:
    """Seconds of each resource that every SM has for itself, were the work spread evenly."""
    rates, per_second = gpu.architecture.rates, gpu.sms * gpu.clock_hz
    requests, sectors = _both(profile, "requests"), _both(profile, "sectors")
    tags = max(requests, profile.get("course__l1_tags_global.sum", 0) / rates.l1_tags)
    wavefronts = sum(profile.get(_SHARED.format(op), 0) for op in ("ld", "st"))
    floats = sum(profile.get(_FLOAT.format(op), 0) for op in ("fadd", "fmul", "ffma"))
    cycles = {
        "L1 sectors": sectors / rates.l1_sectors,
        "L1 tags": tags,
        "shared wavefronts": wavefronts / rates.shared_wavefronts,
        "issue slots": profile.get("smsp__inst_executed.sum", 0) / rates.issue,
        "FP32": floats / rates.fp32,
    }
    terms = {name: count / per_second for name, count in cycles.items()}
    tensor = gpu.compute.fp16_tensor_tflops
    if tensor:
        terms["tensor cores"] = profile.get("course__tensor_flops.sum", 0) / (tensor * 1e12)
    return terms


def _chip_terms(profile: Mapping[str, float], gpu: Gpu, cold: bool) -> dict[str, float]:
    """Seconds of the resources that all SMs share."""
    terms = {"DRAM bytes": dram_bytes(profile, gpu, cold=cold) / (gpu.memory.dram_gb_per_s * 1e9)}
    if gpu.l2.bytes_per_clock:
        per_second = gpu.l2.bytes_per_clock * gpu.clock_hz
        terms["L2 sectors"] = _both(profile, "sectors") * SECTOR / per_second
    return terms


def _both(profile: Mapping[str, float], what: str) -> float:
    return sum(profile.get(_GLOBAL.format(what, op), 0) for op in ("ld", "st"))


def _launch_seconds(gpu: Gpu) -> float:
    """The launch as measured on the GPU; on the others as on the H200, where it was."""
    measured = gpu.measured or find_gpu(DEFAULT).measured
    return (measured.launch_us or 0) * 1e-6 if measured else 0.0


def _check_fits(profile: Mapping[str, float], block: int, gpu: Gpu) -> None:
    registers = int(profile.get("launch__registers_per_thread", 0))
    shared = profile.get("launch__shared_mem_per_block_static", 0)
    shared += profile.get("launch__shared_mem_per_block_dynamic", 0)
    found = occupancy(block, registers, int(shared), gpu)
    if found.blocks == 0:
        raise ValueError(str(found).splitlines()[0])


def _notes(gpu: Gpu) -> tuple[str, ...]:
    if gpu.l2.bytes_per_clock:
        return ()
    return (f"No L2 bandwidth is public for {gpu.name}, so L2 is left out.",)
