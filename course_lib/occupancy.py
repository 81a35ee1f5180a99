"""How many blocks of a kernel an SM holds at once, and what stops it from holding more.

The rules are those of `cuda_occupancy.h` in the CUDA toolkit: registers are handed to a warp in units of 256
and lie in one of four sub-partitions of the SM, each with a quarter of the register file; since compute
capability 8.0 every block costs 1 KB of shared memory more, and shared memory comes in units of 128 bytes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from .gpus import REGISTER_UNIT, SUB_PARTITIONS, WARP, Gpu
from .gpus import gpu as find_gpu
from .tables import html_table, text_table

MAX_THREADS = 1024  # of a block, on every GPU of the table
MAX_REGISTERS = 255  # of a thread
# Of equal limits the first is named the limiter.
_ORDER = ("threads per block", "warps", "registers", "blocks", "shared memory")


@dataclass(frozen=True)
class Occupancy:
    """Resident blocks and warps per SM.

    `fraction` is resident warps over possible warps, `limits` the blocks each resource would allow, `limiter`
    the resource with the smallest limit, and `reasons` says in words where each limit comes from.
    """

    blocks: int
    warps: int
    fraction: float
    limiter: str
    limits: Mapping[str, int]
    gpu: str
    reasons: Mapping[str, str] = field(repr=False)

    @property
    def limiters(self) -> tuple[str, ...]:
        """Every resource that allows no more blocks than the limiter does."""
        least = self.limits[self.limiter]
        return tuple(name for name in self.limits if self.limits[name] == least)

    def rows(self) -> list[tuple[str, str, str]]:
        """(resource, blocks it allows, why) for each resource."""
        return [(name, f"{self.limits[name]}", self.reasons[name]) for name in self.limits]

    def _sentence(self) -> str:
        if self.blocks == 0:
            return f"no block fits on an SM of {self.gpu}: {self.limiter}: {self.reasons[self.limiter]}"
        return (
            f"{self.blocks} blocks = {self.warps} warps per SM of {self.gpu}: {self.fraction:.2%} occupancy, "
            f"limited by {' and '.join(self.limiters)}"
        )

    def __str__(self) -> str:
        return self._sentence() + "\n" + text_table(self.rows(), header=("limit", "blocks", "why"))

    def _repr_html_(self) -> str:
        return html_table(self.rows(), header=("limit", "blocks", "why"), caption=self._sentence())


def occupancy(
    threads: int,
    registers: int,
    shared_bytes: int = 0,
    gpu: str | Gpu = "H200",
    *,
    carveout_kb: int | None = None,
) -> Occupancy:
    """Resident blocks of a kernel per SM.

    Args:
        threads: threads of a block, all dimensions multiplied.
        registers: registers per thread, as the compiler reports them (`kernel.num_regs`).
        shared_bytes: shared memory of a block, static and dynamic together, in bytes.
        gpu: a name of `data/gpus.toml`, or a `Gpu`.
        carveout_kb: shared memory per SM that the driver set for the launch, one of the architecture's
            `carveouts_kb`. Left out, the largest: then "shared memory" is what the hardware could hold.
            Where it costs no occupancy the driver picks a smaller one and gives the rest to L1; Nsight
            Compute reports the limit for the driver's choice.

    Raises:
        ValueError: a number that no block can have, or a carve-out the GPU does not know.
        KeyError: no such GPU.
    """
    found = find_gpu(gpu)
    if threads < 1 or registers < 0 or shared_bytes < 0:
        given = f"{threads=} {registers=} {shared_bytes=}"
        raise ValueError(f"a block has at least 1 thread and no negative size: {given}")
    arch, warps = found.architecture, -(-threads // WARP)
    found_limits = {
        "registers": _by_registers(warps, registers, found),
        "shared memory": _by_shared(shared_bytes, found, carveout_kb),
        "warps": (arch.max_warps // warps, f"{arch.max_warps} warps per SM, {warps} per block"),
        "blocks": (arch.max_blocks, f"{arch.max_blocks} blocks per SM"),
    }
    if threads > MAX_THREADS:
        found_limits["threads per block"] = (0, f"{threads} threads; a block has at most {MAX_THREADS}")
    limits = {name: limit for name, (limit, _) in found_limits.items()}
    blocks = min(limits.values())
    return Occupancy(
        blocks=blocks,
        warps=blocks * warps,
        fraction=blocks * warps / arch.max_warps,
        limiter=min(limits, key=lambda name: (limits[name], _ORDER.index(name))),
        limits=MappingProxyType(limits),
        gpu=found.name,
        reasons=MappingProxyType({name: why for name, (_, why) in found_limits.items()}),
    )


def _by_registers(warps: int, registers: int, gpu: Gpu) -> tuple[int, str]:
    per_warp = _round_up(registers * WARP, REGISTER_UNIT)
    if registers > MAX_REGISTERS:
        return 0, f"{registers} per thread; a thread has at most {MAX_REGISTERS}"
    if per_warp == 0:
        return gpu.architecture.max_blocks, "the kernel uses none"
    whole = gpu.architecture.registers
    held = whole // SUB_PARTITIONS // per_warp * SUB_PARTITIONS
    why = f"{registers} x {WARP} -> {per_warp:,} per warp, {held} warps in {whole:,}, {warps} per block"
    # A block is checked as if its warps filled all sub-partitions evenly ("hardware check" there).
    if per_warp * _round_up(warps, SUB_PARTITIONS) > whole:
        return 0, why
    return held // warps, why


def _by_shared(shared_bytes: int, gpu: Gpu, carveout_kb: int | None) -> tuple[int, str]:
    arch = gpu.architecture
    if carveout_kb is not None and carveout_kb not in arch.carveouts_kb:
        raise ValueError(f"{gpu.name} has no carve-out of {carveout_kb} KB; there are {arch.carveouts_kb}")
    if shared_bytes > arch.shared_per_block_bytes:
        return 0, f"{shared_bytes:,} bytes; a block has at most {arch.shared_per_block_bytes:,}"
    per_block = _round_up(shared_bytes + arch.shared_reserved_bytes, arch.shared_unit_bytes)
    if per_block == 0:
        return arch.max_blocks, "the kernel uses none"
    whole = arch.shared_per_sm_bytes if carveout_kb is None else carveout_kb << 10
    reserved = f" + {arch.shared_reserved_bytes:,} reserved" if arch.shared_reserved_bytes else ""
    why = f"{shared_bytes:,}{reserved} -> {per_block:,} bytes per block of {whole:,} per SM"
    return whole // per_block, why


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
