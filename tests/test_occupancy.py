"""Occupancy against CUDA's own calculator, against Nsight Compute on an H200, and against worked examples."""

import csv
import json
import math
from pathlib import Path

import pytest

from course_lib.gpus import gpu
from course_lib.occupancy import occupancy

DATA = Path(__file__).parent / "data"
CASES = json.loads((DATA / "h200" / "cases.json").read_text(encoding="utf-8"))


def calculator_rows() -> list[dict[str, str]]:
    with (DATA / "cuda_occupancy.csv").open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def test_every_row_of_cudas_calculator():
    for row in calculator_rows():
        found = occupancy(int(row["threads"]), int(row["registers"]), int(row["shared_bytes"]), row["gpu"])
        assert found.blocks == int(row["blocks"]), row
        assert found.limits["registers"] == int(row["by_registers"]), row
        assert found.limits["warps"] == int(row["by_warps"]), row
        if row["by_shared"] != "-1":
            assert found.limits["shared memory"] == int(row["by_shared"]), row


def case_arguments(case: dict) -> tuple[int, int, int]:
    counters = case["counters"]
    shared = counters["launch__shared_mem_per_block_static"] + case["shared_mem"]
    return math.prod(case["block"]), counters["launch__registers_per_thread"], shared


@pytest.mark.parametrize("case", CASES, ids=[case["case"] for case in CASES])
def test_what_nsight_compute_said_on_an_h200(case):
    counters, found = case["counters"], occupancy(*case_arguments(case), gpu="H200")
    assert found.limits["blocks"] == counters["launch__occupancy_limit_blocks"]
    assert found.limits["registers"] == counters["launch__occupancy_limit_registers"]
    assert found.limits["warps"] == counters["launch__occupancy_limit_warps"]
    assert round(100 * found.fraction, 2) == counters["sm__maximum_warps_per_active_cycle_pct"]


@pytest.mark.parametrize("case", CASES, ids=[case["case"] for case in CASES])
def test_the_shared_memory_limit_is_exact_for_a_carve_out_that_costs_no_occupancy(case):
    """ncu's limit is for the carve-out the driver chose, not in these data: one of the list must fit."""
    arguments, reported = case_arguments(case), case["counters"]["launch__occupancy_limit_shared_mem"]
    chosen = [
        found
        for carveout in gpu("H200").architecture.carveouts_kb
        if (found := occupancy(*arguments, gpu="H200", carveout_kb=carveout)).limits["shared memory"]
        == reported
    ]
    assert chosen
    assert any(found.blocks == occupancy(*arguments, gpu="H200").blocks for found in chosen)


@pytest.mark.parametrize(
    ("threads", "registers", "shared", "name", "blocks", "limiter"),
    [
        (224, 92, 0, "H200", 2, "registers"),  # 65536 / (7 x 3072) > 3, but 5 warps fit per quarter
        (256, 32, 32 << 10, "A100", 4, "shared memory"),  # 164 KB / 33 KB, not 164 / 32
        (128, 160, 0, "H200", 3, "registers"),
        (512, 162, 0, "H200", 0, "registers"),
        (1024, 32, 0, "RTX 3090", 1, "warps"),
        (32, 16, 0, "T4", 16, "blocks"),
        (256, 256, 0, "H200", 0, "registers"),
        (128, 32, 228 << 10, "H200", 0, "shared memory"),
        (2048, 16, 0, "H200", 0, "threads per block"),
    ],
)
def test_worked_examples(threads, registers, shared, name, blocks, limiter):
    found = occupancy(threads, registers, shared, name)
    assert (found.blocks, found.limiter) == (blocks, limiter)


def test_the_notes_example_is_18_75_percent():
    found = occupancy(128, 160, 0, "H200")
    assert (found.warps, found.fraction) == (12, 0.1875)


def test_equal_limits_are_all_named():
    found = occupancy(256, 32, 0, "H200")
    assert (found.limiter, set(found.limiters)) == ("warps", {"warps", "registers"})


def test_no_block_fits_and_the_text_says_which_limit():
    assert "no block fits" in str(occupancy(512, 162, 0, "H200"))
    assert "registers" in occupancy(512, 162, 0, "H200")._repr_html_()


@pytest.mark.parametrize("arguments", [(0, 32, 0), (32, -1, 0), (32, 32, -4)])
def test_impossible_sizes_are_refused(arguments):
    with pytest.raises(ValueError, match="at least 1 thread"):
        occupancy(*arguments)


def test_an_unknown_carve_out_is_refused():
    with pytest.raises(ValueError, match="carve-out of 99 KB"):
        occupancy(32, 32, 0, "H200", carveout_kb=99)
