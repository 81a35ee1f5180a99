"""The H200's rates and waiting times are those that its recorded tables show."""

import numpy as np
import pytest

from course_lib.gpus import gpu
from course_lib.rates import waiting
from course_lib.recorded import recorded

H200 = gpu("H200")
LAUNCH_MS = 1e-3 * H200.measured.launch_us


def test_the_rates_of_the_h200_are_those_of_its_table():
    table = recorded("H200", "rate_working_set")
    rate = table["useful_bytes"] / (table.ms - LAUNCH_MS) / 1e6  # GB/s
    megabytes = table["megabytes"]
    within = (megabytes >= 16) & (megabytes <= 48)
    assert rate[within] == pytest.approx(H200.measured.l2_gb_per_s, rel=0.02)
    assert rate[megabytes >= 128] == pytest.approx(H200.measured.dram_read_gb_per_s, rel=0.02)


def test_what_waiting_costs_is_what_the_tables_say():
    measured = H200.measured
    known = (measured.block_turnover_us, measured.dram_latency_idle_us, measured.dram_latency_us)
    assert known == pytest.approx(waiting(H200), rel=0.1)


def test_a_warp_alone_waits_the_idle_latency():
    """8 warps on an SM that add up 64 floats each, one at a time: DRAM is busy for a tenth of the time."""
    table = recorded("H200", "occupancy_loads").where(loads=1, warps=8)
    waves = table["useful_bytes"][0] / 4 / 64 / (32 * 8 * 132)
    assert 1e3 * table.ms[0] / waves / 64 == pytest.approx(H200.measured.dram_latency_idle_us, rel=0.2)


def test_loads_in_series_cost_the_busy_latency_each():
    """The slope of the line through the time a block stays, over its loads."""
    try:
        table = recorded("H200", "rate_in_flight").where(order="series")
    except FileNotFoundError:
        pytest.skip("not recorded yet: run `python -m course_lib.record rate_in_flight` on an H200")
    loads = table["loads"]
    stay = 1e3 * (table.ms - LAUNCH_MS) / (2**26 / loads / 256 / (132 * 8))
    assert np.polyfit(loads, stay, 1)[0] == pytest.approx(H200.measured.dram_latency_us, rel=0.1)


def test_l2_delivers_two_sectors_of_a_line_in_the_time_of_one():
    """A pair takes equally long whether a request wants it of one line or of 32, and so does a single sector.

    Here L2 is some 20 % faster than where each warp reads lines of its own: two warps share each line.
    """
    try:
        table = recorded("H200", "rate_l2_lines").where()
    except FileNotFoundError:
        pytest.skip("not recorded yet: run `python -m course_lib.record rate_l2_lines` on an H200")
    pairs = 1056 * 8 * 256 * table["lines"] * np.ceil(table["sectors"] / 2)
    limited = table["lines"] >= 4
    seconds = 1e-3 * (table.ms - LAUNCH_MS)[limited] / pairs[limited]
    assert seconds == pytest.approx(np.median(seconds), rel=0.15)
    assert 64 / np.median(seconds) == pytest.approx(H200.measured.l2_gb_per_s * 1e9, rel=0.25)
