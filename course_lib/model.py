"""A speed-of-light time of a kernel from its counts: the slowest resource, each at its peak rate.

It is mostly a bound, and always one with a name on it; never a measurement. What it assumes:

* **DRAM**: every distinct sector that is read comes from DRAM once (cold caches, perfect re-use); where a
  GPU fetches sectors in pairs, the pair. Stores reach DRAM only when the sectors touched exceed L2;
  smaller ones stay in L2 until later. Where reading and copying were measured, a written byte costs more than
  a read one, so that a copy takes as long as measured.
* **L2** delivers a number of pairs of sectors a second: two of a line, or one of it in the same time.
  L1 keeps what a block has loaded; every store goes to L2 and takes up its whole line.
* **L1**: a request takes a cycle for every four lines it touches, and one for every word of its busiest bank.
  Shared memory is the same memory: the wavefronts of both add up, under the name of the larger.
* **Memory latency**: blocks come in waves, as many at once as fit on the SMs. In each, a warp waits for DRAM
  as often as it has rounds of loads that depend on each other or must keep their order, as far as they miss.
  The more of DRAM's rate is in use, the longer a round takes: requests queue. A warp waits for nothing else:
  barriers and arithmetic are hidden by other warps.
* The resources work at the same time. On the GPU two that are almost equally slow hinder each other.
* Instruction counts follow the PTX, which the assembler changes (loops unrolled, addresses folded).
* **FP32**: an instruction takes the units of a whole warp, however many of its lanes are active.
* **Tensor cores**: at the peak of 16-bit floats, tf32 at half of it, 8-bit floats at no more (`tensor_work`).
* An SM runs whole blocks: terms of the SM are scaled by the blocks of the busiest SM over the average
  (quantization), terms of the whole chip by the share of SMs that have a block at all.

Rates and their sources are in `data/gpus.toml`; figures measured by this course come before those of a data
sheet. How far off the times are: `course_lib.agreement.overview()`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import sqrt
from types import MappingProxyType

from .gpus import DEFAULT, WARP, Gpu, measured_of
from .gpus import gpu as find_gpu
from .occupancy import occupancy
from .tables import html_table, text_table

SECTOR = 32  # bytes
_GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
_SHARED = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
_FLOAT = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"
_UNIQUE = "course__unique_dram_bytes_{}"
_IDEAL = "course__sectors_ideal_global_op_ld.sum"
_PAIRS = "course__unique_pair_bytes_ld"  # as _UNIQUE, in aligned pairs of sectors


@dataclass(frozen=True)
class ModelledTime:
    """A modelled time and where it comes from.

    `terms` are seconds per resource, quantization included, `seconds` is the launch plus the largest of them.
    `limiter` names that resource, or "launch" where the launch takes longer. `quantization` is the number of
    blocks of the busiest SM over the average of all `sms`; `blocks` is the grid. `notes` say what is missing.
    """

    seconds: float
    limiter: str
    terms: Mapping[str, float]
    launch_seconds: float
    quantization: float
    gpu: str
    blocks: int
    sms: int
    notes: tuple[str, ...] = field(default=(), repr=False)
    source: str = "modelled"

    @property
    def ms(self) -> float:
        """The time in milliseconds."""
        return self.seconds * 1e3

    def rows(self) -> list[tuple[str, str]]:
        """(resource, milliseconds): the launch, and the others with the slowest first."""
        slowest_first = sorted(self.terms.items(), key=lambda term: -term[1])
        every = [("launch", self.launch_seconds), *slowest_first]
        return [(name, f"{1e3 * seconds:.5f}") for name, seconds in every if seconds]

    def _sentence(self) -> str:
        parts = "the launch plus the slowest row below it"
        time = f"{self.ms:.4g} ms modelled for {self.gpu}, limited by {self.limiter}: {parts}"
        return f"{time}\n{self._busiest()}"

    def _busiest(self) -> str:
        """How many blocks the busiest SM has, and what that is over the average."""
        blocks = f"{self.blocks:,} block{'s' * (self.blocks != 1)} on {self.sms} SMs"
        busiest, average = -(-self.blocks // self.sms), self.blocks / self.sms
        factor = f"quantization x {self.quantization:.3g}"
        return f"{factor}: {blocks}, {busiest:,} on the busiest, {average:.3g} on average"

    def __str__(self) -> str:
        rows = self.rows()
        table = "\n" + text_table(rows, header=("resource", "ms")) if rows else ""
        return self._sentence() + table + "".join(f"\n{note}" for note in self.notes)

    def _repr_html_(self) -> str:
        said = self._sentence().replace("\n", "; ")
        notes = "".join(f"<p>{note}</p>" for note in self.notes)
        return html_table(self.rows(), ("resource", "ms (modelled)"), said) + notes


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
    grid = profile["launch__grid_size"]
    waves = -(-grid // (found.sms * _resident_blocks(profile, found)))
    busiest = -(-grid // found.sms)
    quantization = busiest * found.sms / grid
    terms = {name: seconds * quantization for name, seconds in _sm_terms(profile, found).items()}
    busy = min(1.0, grid / found.sms)
    terms |= {name: seconds / busy for name, seconds in _chip_terms(profile, found, cold).items()}
    terms["memory latency"] = _waiting_seconds(profile, found, cold, waves, terms["DRAM bytes"])
    slowest = max(terms, key=terms.__getitem__)
    launch = _launch_seconds(found)
    return ModelledTime(
        seconds=terms[slowest] + launch,
        limiter=slowest if terms[slowest] >= launch else "launch",
        terms=MappingProxyType(terms),
        launch_seconds=launch,
        quantization=quantization,
        gpu=found.name,
        blocks=int(grid),
        sms=found.sms,
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
    return sum(_dram_traffic(profile, find_gpu(gpu), cold))


def fp32_flops(profile: Mapping[str, float]) -> float:
    """FP32 operations executed, an FMA counting as two."""
    return sum(n * profile.get(_FLOAT.format(op), 0) for op, n in (("fadd", 1), ("fmul", 1), ("ffma", 2)))


def _dram_traffic(profile: Mapping[str, float], gpu: Gpu, cold: bool) -> tuple[float, float]:
    """Bytes read from DRAM, and bytes written to it."""
    touched, written = profile.get(_UNIQUE.format("ld"), 0), profile.get(_UNIQUE.format("st"), 0)
    read = profile.get(_PAIRS, touched) if gpu.memory.dram_fetch_bytes == 2 * SECTOR else touched
    if touched + written > gpu.l2.size_bytes:
        return read, written
    return (read if cold else 0), 0


def _sm_terms(profile: Mapping[str, float], gpu: Gpu) -> dict[str, float]:
    """Seconds of each resource that every SM has for itself, were the work spread evenly."""
    rates, per_second = gpu.architecture.rates, gpu.sms * gpu.clock_hz
    requests, sectors = _both(profile, "requests"), _both(profile, "sectors")
    tags = max(requests, profile.get("course__l1_tags_global.sum", 0) / rates.l1_tags)
    floats = sum(profile.get(_FLOAT.format(op), 0) for op in ("fadd", "fmul", "ffma"))
    cycles = {
        "L1 sectors": sectors / rates.l1_sectors,
        "L1 tags": tags,
        "issue slots": profile.get("smsp__inst_executed.sum", 0) / rates.issue,
        "FP32": profile.get("course__fp32_lanes.sum", floats) / rates.fp32,
    }
    cycles |= {name: count / rates.shared_wavefronts for name, count in _wavefronts(profile).items()}
    terms = {name: count / per_second for name, count in cycles.items()}
    tensor = gpu.compute.fp16_tensor_tflops
    if tensor:
        terms["tensor cores"] = profile.get("course__tensor_work.sum", 0) / (tensor * 1e12)
    return terms


def _wavefronts(profile: Mapping[str, float]) -> dict[str, float]:
    """Wavefronts of shared memory and of global loads: the larger of the two stands for their sum."""
    found = {
        "shared wavefronts": sum(profile.get(_SHARED.format(op), 0) for op in ("ld", "st", "ldgsts")),
        "L1 wavefronts": profile.get("course__l1_wavefronts_global.sum", 0),
    }
    found[max(found, key=found.__getitem__)] = sum(found.values())
    return found


def _chip_terms(profile: Mapping[str, float], gpu: Gpu, cold: bool) -> dict[str, float]:
    """Seconds of the resources that all SMs share."""
    peak = gpu.memory.dram_gb_per_s
    read_rate = (gpu.measured and gpu.measured.dram_read_gb_per_s) or peak
    copy_rate = (gpu.measured and gpu.measured.copy_gb_per_s) or peak
    read, written = _dram_traffic(profile, gpu, cold)
    terms = {"DRAM bytes": (read / read_rate + written * max(1 / peak, 2 / copy_rate - 1 / read_rate)) / 1e9}
    l2_rate = (gpu.measured and gpu.measured.l2_gb_per_s) or (
        gpu.l2.bytes_per_clock or 0
    ) * gpu.clock_hz / 1e9
    if l2_rate:
        pairs = profile.get("course__l2_pairs_global.sum", _both(profile, "sectors") / 2)
        terms["L2 sectors"] = pairs * 2 * SECTOR / (l2_rate * 1e9)
    return terms


def _waiting_seconds(
    profile: Mapping[str, float], gpu: Gpu, cold: bool, waves: int, dram_seconds: float
) -> float:
    """How long the SMs are taken because warps wait for DRAM, which moves the bytes in `dram_seconds`.

    A round takes from the idle to the busy latency, by the share u of the time in which DRAM is busy, and
    u is `dram_seconds` over the result: a quadratic equation.
    """
    measured = measured_of(gpu)
    busy = measured.dram_latency_us or 0
    idle = busy if measured.dram_latency_idle_us is None else measured.dram_latency_idle_us
    rounds = _missing_rounds(profile, gpu, cold)
    at_least = waves * ((measured.block_turnover_us or 0) + rounds * idle) * 1e-6
    more = waves * rounds * (busy - idle) * 1e-6
    if at_least + more <= dram_seconds:
        return at_least + more
    return (at_least + sqrt(at_least**2 + 4 * more * dram_seconds)) / 2


def _missing_rounds(profile: Mapping[str, float], gpu: Gpu, cold: bool) -> float:
    """Rounds of loads of a warp that DRAM answers.

    Their share: the distinct sectors over those that were asked for, where a misaligned request counts no
    more sectors than its bytes need.
    """
    if not _dram_traffic(profile, gpu, cold)[0]:
        return 0
    warps = profile["launch__grid_size"] * -(-profile["launch__block_size"] // WARP)
    asked = profile.get(_IDEAL, profile.get(_GLOBAL.format("sectors", "ld"), 0))
    missing = min(1.0, profile.get(_UNIQUE.format("ld"), 0) / SECTOR / asked) if asked else 0.0
    return profile.get("course__load_rounds.sum", 0) / warps * missing


def _both(profile: Mapping[str, float], what: str) -> float:
    return sum(profile.get(_GLOBAL.format(what, op), 0) for op in ("ld", "st"))


def _launch_seconds(gpu: Gpu) -> float:
    return (measured_of(gpu).launch_us or 0) * 1e-6


def _resident_blocks(profile: Mapping[str, float], gpu: Gpu) -> int:
    """Blocks on an SM at once. Raises ValueError if there are none."""
    registers = int(profile.get("launch__registers_per_thread", 0))
    shared = profile.get("launch__shared_mem_per_block_static", 0)
    shared += profile.get("launch__shared_mem_per_block_dynamic", 0)
    found = occupancy(int(profile["launch__block_size"]), registers, int(shared), gpu)
    if found.blocks == 0:
        raise ValueError(str(found).splitlines()[0])
    return found.blocks


def _notes(gpu: Gpu) -> tuple[str, ...]:
    if gpu.l2.bytes_per_clock:
        return ()
    return (f"No L2 bandwidth is public for {gpu.name}, so L2 is left out.",)
