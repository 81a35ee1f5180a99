"""The GPU table agrees with itself, with the CUDA headers and with what an H200 reported."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from course_lib.gpu_query import this_machine
from course_lib.gpus import architecture, device, gpu, names

# Half-precision tensor FLOP per SM and clock, dense, FP32 accumulate (architecture white papers).
TENSOR = {"T4": 1024, "A100": 2048, "A100-80GB": 2048, "RTX 3090": 512, "RTX 4090": 512, "L4": 1024}
TENSOR |= {"H100": 4096, "H200": 4096, "B200": 8192}
FIRST = {8.0: "tf32", 8.9: "fp8", 10.0: "fp4"}  # compute capability -> format that came with it


@pytest.mark.parametrize("name", names())
def test_the_fp32_peak_follows_from_lanes_and_clock(name):
    found = gpu(name)
    computed = 2 * found.architecture.rates.fp32 * found.sms * found.clock_hz / 1e12
    assert found.compute.fp32_tflops == pytest.approx(computed, rel=0.01)


@pytest.mark.parametrize("name", names())
def test_the_tensor_peak_follows_from_its_clock(name):
    compute = gpu(name).compute
    clock = compute.tensor_clock_mhz or compute.clock_mhz
    assert compute.fp16_tensor_tflops == pytest.approx(TENSOR[name] * gpu(name).sms * clock / 1e6, rel=0.005)


@pytest.mark.parametrize("name", names())
def test_each_halving_of_the_bits_doubles_the_tensor_peak(name):
    compute = gpu(name).compute
    for peak, bits in (("tf32", 32), ("fp8", 8), ("fp4", 4)):
        found = getattr(compute, f"{peak}_tensor_tflops")
        assert found is None or found == pytest.approx(compute.fp16_tensor_tflops * 16 / bits, rel=0.03)


@pytest.mark.parametrize("name", names())
def test_formats_came_with_their_architectures(name):
    """TF32 and BF16 with Ampere, FP8 with Ada, FP4 with Blackwell: target notes of `mma` in the PTX ISA."""
    found = gpu(name)
    capability = float(found.architecture.capability)
    peaks = {first: getattr(found.compute, f"{peak}_tensor_tflops") for first, peak in FIRST.items()}
    assert all((value is not None) == (capability >= first) for first, value in peaks.items())


@pytest.mark.parametrize("name", names())
def test_every_group_names_its_source(name):
    found = gpu(name)
    assert all((found.compute.source, found.memory.source, found.l2.source, found.architecture.source))


@pytest.mark.parametrize(
    ("capability", "warps", "blocks", "shared_kb", "block_kb"),
    [  # cuda/__device/arch_traits.h of the CUDA toolkit 13.0
        ("7.5", 32, 16, 64, 64),
        ("8.0", 64, 32, 164, 163),
        ("8.6", 48, 16, 100, 99),
        ("8.9", 48, 24, 100, 99),
        ("9.0", 64, 32, 228, 227),
        ("10.0", 64, 32, 228, 227),
        ("12.0", 48, 24, 100, 99),
    ],
)
def test_limits_as_in_the_cuda_headers(capability, warps, blocks, shared_kb, block_kb):
    arch = architecture(capability)
    assert (arch.max_warps, arch.max_blocks, arch.max_threads) == (warps, blocks, warps * 32)
    assert (arch.shared_per_sm_bytes, arch.shared_per_block_bytes) == (shared_kb << 10, block_kb << 10)
    assert arch.carveouts_kb[-1] == shared_kb
    assert arch.registers == 65536


@pytest.mark.parametrize("name", ["H200", "nvidia h200", "NVIDIA H200", "H200 SXM"])
def test_names_and_aliases(name):
    assert gpu(name).name == "H200"


def test_an_unknown_gpu_lists_the_known_ones():
    with pytest.raises(KeyError, match="RTX 3090"):
        gpu("Voodoo 2")
    with pytest.raises(KeyError, match=r"9\.0"):
        architecture("1.0")


def test_without_a_gpu_the_device_is_the_emulated_h200(monkeypatch):
    monkeypatch.setattr("course_lib.backend.BACKEND", SimpleNamespace(name="emulator"))
    found = device()
    assert (found.name, found.origin) == ("H200", "specification")
    assert "emulator plays" in str(found)
    assert device("T4").sms == 40


def test_the_h200_of_the_table_is_the_h200_that_was_asked():
    path = Path(__file__).parents[1] / "data" / "recorded" / "h200" / "device.json"
    asked, found = json.loads(path.read_text(encoding="utf-8"))["attributes"], gpu("H200")
    arch = found.architecture
    assert (found.sms, found.l2.size_bytes) == (asked["MultiProcessorCount"], asked["L2CacheSize"])
    assert found.clock_hz == asked["ClockRate"] * 1e3
    assert arch.max_threads == asked["MaxThreadsPerMultiProcessor"]
    assert arch.max_blocks == asked["MaxBlocksPerMultiprocessor"]
    assert arch.registers == asked["MaxRegistersPerMultiprocessor"]
    assert arch.shared_per_sm_bytes == asked["MaxSharedMemoryPerMultiprocessor"]
    assert arch.shared_per_block_bytes == asked["MaxSharedMemoryPerBlockOptin"]
    assert arch.shared_reserved_bytes == asked["ReservedSharedMemoryPerBlock"]


def fake_cupy(name: str, capability: str = "90", **changes: int) -> SimpleNamespace:
    attributes = {
        "ClockRate": 1_980_000,
        "MemoryClockRate": 3_201_000,
        "GlobalMemoryBusWidth": 6016,
        "MultiProcessorCount": 132,
        "L2CacheSize": 62914560,
    } | changes
    runtime = SimpleNamespace(getDevice=lambda: 0, getDeviceProperties=lambda number: {"name": name.encode()})
    device = SimpleNamespace(attributes=attributes, compute_capability=capability)
    return SimpleNamespace(cuda=SimpleNamespace(runtime=runtime, Device=lambda number: device))


def test_a_known_gpu_of_this_machine_keeps_the_peaks_of_the_table():
    found = this_machine(fake_cupy("NVIDIA H200", MultiProcessorCount=120))
    assert (found.name, found.origin, found.sms) == ("H200", "this machine", 120)
    assert found.memory.dram_gb_per_s == 4800


def test_an_unknown_gpu_of_this_machine_gets_computed_peaks_and_says_so():
    found = this_machine(fake_cupy("NVIDIA H800"))
    assert found.compute.fp32_tflops == pytest.approx(66.9, abs=0.05)
    assert found.memory.dram_gb_per_s == 4814
    assert "computed" in found.note


def test_an_unknown_capability_is_asked_of_the_runtime():
    limits = {
        "WarpSize": 32,
        "MaxThreadsPerMultiProcessor": 2048,
        "MaxBlocksPerMultiprocessor": 32,
        "MaxRegistersPerMultiprocessor": 65536,
        "MaxSharedMemoryPerMultiprocessor": 98304,
        "MaxSharedMemoryPerBlockOptin": 98304,
        "ReservedSharedMemoryPerBlock": 0,
    }
    found = this_machine(fake_cupy("Tesla V100-SXM2-16GB", "70", **limits))
    assert (found.architecture.capability, found.architecture.max_warps) == ("7.0", 64)


def test_shown_as_text_and_as_html():
    assert "4,800 GB/s" in str(gpu("H200"))
    assert "<table>" in gpu("H200")._repr_html_()
