"""No recorded time beats the GPU's data sheet: a clock that stopped too early would."""

import pytest

from course_lib import gpus
from course_lib.recorded import FOLDER, recorded

TABLES = sorted(path.stem for path in (FOLDER / "h200").glob("*.csv"))
H200 = gpus.gpu("H200")
PEAKS = {
    "fp32": H200.compute.fp32_tflops,
    "fp16": H200.compute.fp16_tensor_tflops,
    "bf16": H200.compute.fp16_tensor_tflops,
    "tf32": H200.compute.tf32_tensor_tflops,
    "e4m3": H200.compute.fp8_tensor_tflops,
    "e5m2": H200.compute.fp8_tensor_tflops,
}
# What a table multiplies that has no column `format`, if not fp32.
FORMATS = {"start_zeros": "fp16", "waves_gemm": "fp16"}
# The rows that are faster than the roof, each for the reason it is there to teach.
ABOVE = {
    "rate_working_set": "up to 56 MiB stay in L2, whose bandwidth it measures",
    "start_repeat": "the same 36 MiB over and over: L2 keeps part of it",
    "start_clock": "the host's clock, read before the kernel has ended, is the mistake that it shows",
}


@pytest.mark.parametrize("name", TABLES)
def test_no_row_is_faster_than_the_peaks(name):
    other = FORMATS.get(name, "fp32")
    above = [row for row in recorded("h200", name).rows() if _beats_the_peaks(row, other)]
    assert bool(above) == (name in ABOVE), above


def test_a_time_that_is_three_times_too_short_is_found():
    """The ladder's cuBLAS reaches 50 of 67 TFLOP/s; at a third of its time it would be above them."""
    row = max(
        recorded("h200", "register_tiling_4096").rows(), key=lambda row: row["flops"] / row["median_ms"]
    )
    assert _beats_the_peaks(row | {"median_ms": row["median_ms"] / 3}, "fp32")


def test_only_fp32_cannot_explain_the_tables_of_other_formats():
    for name, given in FORMATS.items():
        rows = list(recorded("h200", name).rows())
        assert "format" not in rows[0]
        assert any(_beats_the_peaks(row, "fp32") for row in rows), f"{name} need not be listed as {given}"


def _beats_the_peaks(row: dict, other: str) -> bool:
    seconds = row["median_ms"] / 1e3
    tflops, gb_per_s = row.get("flops", 0) / seconds / 1e12, row.get("useful_bytes", 0) / seconds / 1e9
    peak = PEAKS[row.get("format", other)]
    return tflops > peak or gb_per_s > H200.memory.dram_gb_per_s
