"""The kernels of tests/gpu/sanitizer_kernels.cu: what the emulator finds, what compute-sanitizer found."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from course_lib.emulator import RawKernel
from course_lib.emulator.errors import EmulatorError
from course_lib.emulator.undefined import make_undefined
from course_lib.profile import profile

TESTS = Path(__file__).parents[1]
sys.path.append(str(TESTS / "gpu"))

import compare_sanitizer  # noqa: E402
from sanitizer_kernels import KERNELS, Kernel  # noqa: E402

RECORDS = sorted((TESTS / "data" / "sanitizer").glob("*.json"))

_NEIGHBOUR = "cudaMalloc put another array there, so the address is a valid one; the emulator leaves gaps"
# (kernel, tool): where a tool is silent though the CUDA and PTX documents call the kernel wrong, and why.
DIFFERENT = {
    ("store_behind_end", "memcheck"): _NEIGHBOUR,
    ("load_one_too_far", "memcheck"): _NEIGHBOUR,
    ("store_before_start", "memcheck"): _NEIGHBOUR,
    ("wrong_half_by_named_barriers", "racecheck"): "it takes a barrier of 64 threads for one of all",
    ("read_beside_atomic", "racecheck"): "it leaves atomic operations out",
    ("syncwarp_without_oneself", "synccheck"): "it does not ask whether the mask names the caller",
}


def found(kernel: Kernel) -> tuple[str, ...]:
    """Kinds of findings, or the error."""
    numbers = np.arange(kernel.n, dtype=np.float32)
    zeros, counts, fresh = np.zeros_like(numbers), np.zeros(kernel.n, np.int32), np.empty_like(numbers)
    make_undefined(fresh)
    arguments = (numbers, zeros, counts, fresh, np.int32(kernel.n))
    try:
        profiled = profile(
            RawKernel(kernel.source, kernel.name), (kernel.grid,), (kernel.block,), arguments
        )
    except EmulatorError as error:
        return (type(error).__name__,)
    return tuple(sorted({hazard.kind for hazard in profiled.hazards}))


def test_there_are_right_and_wrong_kernels_of_every_kind() -> None:
    assert len(KERNELS) >= 30
    assert {kernel.tool for kernel in KERNELS.values()} == {*compare_sanitizer.TOOLS, ""}
    assert sum(not kernel.found for kernel in KERNELS.values()) >= 20


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_the_emulator_finds_what_is_wrong_and_nothing_else(kernel: Kernel) -> None:
    assert found(kernel) == kernel.found


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_what_a_tool_should_report_the_emulator_reports(kernel: Kernel) -> None:
    if kernel.tool:
        assert kernel.found


@pytest.mark.skipif(not RECORDS, reason="nothing recorded: tests/gpu/compare_sanitizer.py")
def test_the_tools_said_the_same_on_a_gpu() -> None:
    for path in RECORDS:
        recorded = json.loads(path.read_text())["kernels"]
        assert set(recorded) == set(KERNELS)
        reported = {(name, tool) for name in recorded for tool, lines in recorded[name].items() if lines}
        expected = {(kernel.name, kernel.tool) for kernel in KERNELS.values() if kernel.tool}
        assert reported ^ expected == set(DIFFERENT), path


SAMPLE = """\
========= COMPUTE-SANITIZER

RUN store_behind_end
========= Invalid __global__ write of size 4 bytes
=========     at store_behind_end(float *, float *, int *, float *, int)+0x90 in kernels.cu:20
=========     by thread (0,0,0) in block (0,0,0)
=========     Address 0x7f1234 is out of bounds
=========
========= Error: Race reported between Write access at reverse_no_barrier+0x110 in kernels.cu:30
=========     and Read access at reverse_no_barrier+0x120 in kernels.cu:31 [256 hazards]
=========
END reverse_no_barrier 0
========= ERROR SUMMARY: 2 errors
"""


def test_reports_are_told_apart_by_kernel() -> None:
    verdicts = compare_sanitizer.verdicts(SAMPLE)
    assert set(verdicts) == {"store_behind_end", "reverse_no_barrier"}
    assert verdicts["store_behind_end"] == ["Invalid __global__ write of size 4 bytes"]
    assert verdicts["reverse_no_barrier"][0].startswith("Error: Race reported between Write access")
