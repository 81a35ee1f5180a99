"""What CuPy says about the GPU of this machine, as a `Gpu` of the table's kind."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .gpus import L2, Architecture, Compute, Gpu, Memory, architecture, gpu

ASKED = "query: the CUDA runtime on this machine"


def this_machine(cp: Any) -> Gpu:
    """The current GPU: what the runtime reports, and from `data/gpus.toml` what it cannot know.

    Args:
        cp: the `cupy` module (or one that answers the same three calls).

    A GPU that is not in the table gets peaks computed from its clocks, and says so in `note`.
    """
    number = cp.cuda.runtime.getDevice()
    device = cp.cuda.Device(number)
    attributes = device.attributes
    full_name = cp.cuda.runtime.getDeviceProperties(number)["name"].decode()
    clock = attributes.get("ClockRate", 0) / 1e3  # reported in kHz; 0 where the runtime no longer tells
    facts = {
        "full_name": full_name,
        "sms": attributes["MultiProcessorCount"],
        "architecture": _architecture(device.compute_capability, attributes),
        "origin": "this machine",
    }
    try:
        known = gpu(full_name)
    except KeyError:
        return _unknown(attributes, facts, clock)
    l2 = L2(attributes["L2CacheSize"], ASKED, known.l2.bytes_per_clock)
    compute = replace(known.compute, clock_mhz=clock or known.compute.clock_mhz)
    return replace(known, compute=compute, l2=l2, **facts)


def _unknown(attributes: Mapping[str, int], facts: dict[str, Any], clock_mhz: float) -> Gpu:
    lanes = facts["architecture"].rates.fp32
    peak = 2 * lanes * facts["sms"] * clock_mhz * 1e6 / 1e12
    return Gpu(
        name=facts["full_name"],
        compute=Compute(clock_mhz, round(peak, 1), "computed: 2 x FP32 lanes x SMs x clock"),
        memory=Memory(0, _dram(attributes), "computed: 2 x memory clock x bus width (double data rate)"),
        l2=L2(attributes["L2CacheSize"], ASKED),
        note="not in data/gpus.toml: peaks computed from clocks, no data sheet consulted",
        **facts,
    )


def _dram(attributes: Mapping[str, int]) -> float:
    """Bandwidth in 10^9 bytes a second; the memory clock is reported in kHz, the bus width in bits."""
    clock_hz = attributes.get("MemoryClockRate", 0) * 1e3
    return round(2 * clock_hz * attributes["GlobalMemoryBusWidth"] / 8 / 1e9)


def _architecture(digits: str, attributes: Mapping[str, int]) -> Architecture:
    """CuPy gives the compute capability as digits without a point ("90", "120"), and not as an attribute."""
    capability = f"{digits[:-1]}.{digits[-1]}"
    try:
        return architecture(capability)
    except KeyError:
        return _asked(attributes, capability)


def _asked(attributes: Mapping[str, int], capability: str) -> Architecture:
    """Limits of a compute capability that the table lacks, as far as the runtime reports them."""
    threads = attributes["MaxThreadsPerMultiProcessor"]
    shared = attributes["MaxSharedMemoryPerMultiprocessor"]
    return Architecture(
        capability=capability,
        name="not in the table",
        max_warps=threads // attributes["WarpSize"],
        max_blocks=attributes["MaxBlocksPerMultiprocessor"],
        max_threads=threads,
        registers=attributes["MaxRegistersPerMultiprocessor"],
        shared_per_sm_bytes=shared,
        shared_per_block_bytes=attributes["MaxSharedMemoryPerBlockOptin"],
        shared_reserved_bytes=attributes["ReservedSharedMemoryPerBlock"],
        shared_unit_bytes=128,
        carveouts_kb=(shared >> 10,),
        rates=architecture("12.0").rates,
        source=ASKED,
    )
