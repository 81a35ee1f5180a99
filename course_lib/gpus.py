"""What the course knows about each GPU: limits, peaks and measured figures, from `data/gpus.toml`.

Every figure carries the clock it holds for and its source. Bandwidths are in 10^9 bytes a second.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from .tables import html_table, text_table

FILE = Path(__file__).resolve().parents[1] / "data" / "gpus.toml"
DEFAULT = "H200"  # the GPU the emulator plays where there is none
WARP = 32
SUB_PARTITIONS = 4  # of an SM, since Volta; registers are handed out in each (cuda_occupancy.h)
REGISTER_UNIT = 256  # registers are handed to a warp in units of this size (cuda_occupancy.h)


@dataclass(frozen=True)
class Rates:
    """What one SM does in a clock: FP32 lanes, warp instructions, L1 sectors and tags, shared wavefronts."""

    fp32: float
    issue: float
    l1_sectors: float
    l1_tags: float
    shared_wavefronts: float
    source: str


@dataclass(frozen=True)
class Architecture:
    """Limits of one compute capability, in bytes; shared memory can be set to each of `carveouts_kb`."""

    capability: str
    name: str
    max_warps: int
    max_blocks: int
    max_threads: int
    registers: int
    shared_per_sm_bytes: int
    shared_per_block_bytes: int
    shared_reserved_bytes: int
    shared_unit_bytes: int
    carveouts_kb: tuple[int, ...]
    rates: Rates
    source: str


@dataclass(frozen=True)
class Compute:
    """Peak arithmetic at `clock_mhz` (tensor cores at `tensor_clock_mhz`, where that is another).

    Tensor peaks are dense, with sums in float32; None where the tensor cores do not have the format. bf16 has
    the peak of fp16 wherever it exists.
    """

    clock_mhz: float
    fp32_tflops: float
    source: str
    fp16_tensor_tflops: float | None = None
    tensor_clock_mhz: float | None = None
    tf32_tensor_tflops: float | None = None
    fp8_tensor_tflops: float | None = None
    fp4_tensor_tflops: float | None = None


@dataclass(frozen=True)
class Memory:
    """Device memory: size in 10^9 bytes and peak bandwidth in 10^9 bytes a second.

    `dram_fetch_bytes` come from DRAM when a sector of them is wanted; 32 (one sector) where it is not known.
    """

    size_gb: float
    dram_gb_per_s: float
    source: str
    dram_fetch_bytes: int = 32
    dram_fetch_source: str = ""


@dataclass(frozen=True)
class L2:
    """The L2 cache; `bytes_per_clock` is None where no figure is public."""

    size_bytes: int
    source: str
    bytes_per_clock: float | None = None


@dataclass(frozen=True)
class Measured:
    """Figures this course measured on the GPU; see `source` for when and how.

    `dram_latency_us` and `dram_latency_idle_us`: what a load from DRAM takes while that is busy, and idle.
    `block_turnover_us`: what a block's place on an SM costs besides, from its start to that of the next one.
    """

    source: str
    copy_gb_per_s: float | None = None
    fp32_tflops: float | None = None
    fp16_tensor_tflops: float | None = None
    launch_us: float | None = None
    graph_node_us: float | None = None
    l2_gb_per_s: float | None = None
    dram_read_gb_per_s: float | None = None
    dram_latency_us: float | None = None
    dram_latency_idle_us: float | None = None
    block_turnover_us: float | None = None


@dataclass(frozen=True)
class Gpu:
    """One GPU. `origin` says how we know: "specification" (the table) or "this machine" (asked just now)."""

    name: str
    full_name: str
    architecture: Architecture
    sms: int
    compute: Compute
    memory: Memory
    l2: L2
    measured: Measured | None = None
    aliases: tuple[str, ...] = ()
    origin: str = "specification"
    note: str = ""

    @property
    def clock_hz(self) -> float:
        """The boost clock in hertz, at which every peak per clock is taken."""
        return self.compute.clock_mhz * 1e6

    def rows(self) -> list[tuple[str, str, str]]:
        """(what, value, source) of each figure, for tables."""
        arch, tensor = self.architecture, self.compute.fp16_tensor_tflops
        clock = f"at {self.compute.clock_mhz:,.0f} MHz"
        shared = (
            f"{arch.shared_per_sm_bytes >> 10} KB per SM, {arch.shared_per_block_bytes >> 10} KB per block"
        )
        found = [
            ("compute capability", f"{arch.capability} ({arch.name})", arch.source),
            ("SMs", f"{self.sms}", self.compute.source),
            ("FP32 peak", f"{self.compute.fp32_tflops:g} TFLOP/s {clock}", self.compute.source),
            ("DRAM peak", f"{self.memory.dram_gb_per_s:,.0f} GB/s", self.memory.source),
            ("L2", f"{self.l2.size_bytes / 2**20:g} MB", self.l2.source),
            ("registers per SM", f"{arch.registers:,} of 4 bytes", arch.source),
            ("resident per SM", f"{arch.max_warps} warps, {arch.max_blocks} blocks", arch.source),
            ("shared memory", shared, arch.source),
        ]
        if tensor:
            mhz = self.compute.tensor_clock_mhz or self.compute.clock_mhz
            peak = f"{tensor:g} TFLOP/s at {mhz:,.0f} MHz, dense"
            found.insert(3, ("FP16 tensor peak", peak, self.compute.source))
        return found + self._measured_rows()

    def _measured_rows(self) -> list[tuple[str, str, str]]:
        measured = self.measured
        if measured is None:
            return []
        rates = (
            ("DRAM copy", measured.copy_gb_per_s),
            ("DRAM read", measured.dram_read_gb_per_s),
            ("L2 read", measured.l2_gb_per_s),
        )
        return [(f"{what}, measured", f"{rate:,.0f} GB/s", measured.source) for what, rate in rates if rate]

    def _title(self) -> str:
        return f"{self.full_name} ({self.origin}){': ' + self.note if self.note else ''}"

    def __str__(self) -> str:
        return self._title() + "\n" + text_table([row[:2] for row in self.rows()])

    def _repr_html_(self) -> str:
        return html_table(self.rows(), header=("", self.full_name, "source"), caption=self._title())


def names() -> list[str]:
    """The names of the GPUs in the table."""
    return list(_table())


def gpu(name: "str | Gpu" = DEFAULT) -> Gpu:
    """The GPU of that name, alias or full name, whatever its case; a `Gpu` is returned as it is.

    Raises:
        KeyError: no such GPU; the message lists those there are.
    """
    if isinstance(name, Gpu):
        return name
    wanted = _plain(name)
    for found in _table().values():
        if wanted in map(_plain, (found.name, found.full_name, *found.aliases)):
            return found
    raise KeyError(f"no GPU {name!r} in {FILE.name}; there are {', '.join(names())}")


def measured_of(gpu_name: "str | Gpu") -> Measured:
    """What was measured on a GPU; where nothing was, the figures of the default GPU stand for it."""
    return gpu(gpu_name).measured or gpu(DEFAULT).measured or Measured("")


def architecture(capability: str) -> Architecture:
    """The limits of a compute capability such as "9.0". Raises KeyError that lists the known ones."""
    known = _architectures()
    if capability not in known:
        raise KeyError(f"no compute capability {capability!r} in {FILE.name}; there are {', '.join(known)}")
    return known[capability]


def device(gpu_name: "str | Gpu | None" = None) -> Gpu:
    """The GPU of this machine, asked through CuPy; without one, the H200 that the emulator plays.

    Args:
        gpu_name: look at this GPU of the table instead.
    """
    if gpu_name is not None:
        return gpu(gpu_name)
    from . import backend
    from .gpu_query import this_machine

    if backend.on_gpu():
        return this_machine(backend.cp)
    return replace(gpu(DEFAULT), note="no GPU here, so the emulator plays this one")


def _plain(name: str) -> str:
    """Letters and digits only, lower case: "NVIDIA H200" and "nvidia h200" are one name."""
    return "".join(c for c in name.lower().removeprefix("nvidia").removeprefix(" geforce") if c.isalnum())


@cache
def _architectures() -> dict[str, Architecture]:
    entries = _read()["architecture"]
    return {key: _architecture(key, entry) for key, entry in entries.items()}


def _architecture(capability: str, entry: Mapping[str, Any]) -> Architecture:
    rest = {key: value for key, value in entry.items() if key not in ("rates", "carveouts_kb")}
    return Architecture(
        capability=capability,
        rates=Rates(**entry["rates"]),
        carveouts_kb=tuple(entry["carveouts_kb"]),
        **rest,
    )


@cache
def _table() -> dict[str, Gpu]:
    return {name: _gpu(name, entry) for name, entry in _read()["gpu"].items()}


def _gpu(name: str, entry: Mapping[str, Any]) -> Gpu:
    return Gpu(
        name=name,
        full_name=entry["full_name"],
        architecture=architecture(entry["architecture"]),
        sms=entry["sms"],
        compute=Compute(**entry["compute"]),
        memory=Memory(**entry["memory"]),
        l2=L2(**entry["l2"]),
        measured=Measured(**entry["measured"]) if "measured" in entry else None,
        aliases=tuple(entry["aliases"]),
    )


@cache
def _read() -> dict[str, Any]:
    return tomllib.loads(FILE.read_text(encoding="utf-8"))
