"""No recorded time beats the GPU's data sheet: a clock that stopped too early would."""

import pytest

from course_lib import gpus
from course_lib.recorded import FOLDER, recorded

TABLES = sorted(path.stem for path in (FOLDER / "h200").glob("*.csv"))
H200 = gpus.gpu("H200")
PEAKS = {
    "fp32": H200.compute.fp32_tflops,
    "tf32": H200.compute.tf32_tensor_tflops,
    "e4m3": H200.compute.fp8_tensor_tflops,
    "e5m2": H200.compute.fp8_tensor_tflops,
}
# The rows that are faster than the roof, each for the reason it is there to teach.
ABOVE = {
    "rate_working_set": "up to 56 MiB stay in L2, whose bandwidth it measures",
    "start_repeat": "the same 36 MiB over and over: L2 keeps part of it",
    "start_clock": "the host's clock, read before the kernel has ended, is the mistake that it shows",
}


@pytest.mark.parametrize("name", TABLES)
def test_no_row_is_faster_than_the_peaks(name):
    above = [row for row in recorded("h200", name).rows() if _beats_the_peaks(row)]
    assert bool(above) == (name in ABOVE), above


def _beats_the_peaks(row: dict) -> bool:
    seconds = row["median_ms"] / 1e3
    tflops, gb_per_s = row.get("flops", 0) / seconds / 1e12, row.get("useful_bytes", 0) / seconds / 1e9
    peak = PEAKS.get(row.get("format"), H200.compute.fp16_tensor_tflops)
    return tflops > peak or gb_per_s > H200.memory.dram_gb_per_s
