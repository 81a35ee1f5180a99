"""Modelled times against hand calculations, and against what an H200's counters say must be slower."""

import json
from pathlib import Path

import pytest

from course_lib.model import dram_bytes, fp32_flops, modelled_time

CASES = json.loads((Path(__file__).parent / "data" / "h200" / "cases.json").read_text(encoding="utf-8"))
COUNTERS = {case["case"]: case for case in CASES}
LAUNCH = {"launch__grid_size": 1320, "launch__block_size": 256}
PER_SECOND = 132 * 1.98e9  # SM clocks of an H200 in a second


def only(**counts: float) -> dict[str, float]:
    return LAUNCH | {name.replace("__SUM", ".sum"): value for name, value in counts.items()}


def term(name: str, metric: str, count: float = 1e9, gpu: str = "H200") -> float:
    return modelled_time(LAUNCH | {metric: count}, gpu).terms[name]


def test_each_term_by_hand():
    load = "l1tex__t_{}_pipe_lsu_mem_global_op_ld.sum"
    shared = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"
    assert term("L1 sectors", load.format("sectors")) == pytest.approx(1e9 / 4 / PER_SECOND)
    assert term("L2 sectors", load.format("sectors")) == pytest.approx(32e9 / (5120 * 1.98e9))
    assert term("L1 tags", load.format("requests")) == pytest.approx(1e9 / PER_SECOND)
    assert term("L1 tags", "course__l1_tags_global.sum") == pytest.approx(1e9 / 4 / PER_SECOND)
    assert term("shared wavefronts", shared) == pytest.approx(1e9 / PER_SECOND)
    assert term("issue slots", "smsp__inst_executed.sum") == pytest.approx(1e9 / 4 / PER_SECOND)
    ffma = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"
    assert term("FP32", ffma) == pytest.approx(2e9 / 66.9e12, rel=1e-3)
    assert term("tensor cores", "course__tensor_flops.sum") == pytest.approx(1e9 / 989.5e12)


def test_a_copy_far_above_l2_is_limited_by_dram():
    size = 4 * 2**26  # bytes read, and as many written
    sectors = {f"l1tex__t_sectors_pipe_lsu_mem_global_op_{op}.sum": size / 32 for op in ("ld", "st")}
    unique = {f"course__unique_dram_bytes_{op}": size for op in ("ld", "st")}
    launch = {"launch__grid_size": 2**18, "launch__block_size": 256}
    found = modelled_time(launch | sectors | unique, "H200")
    assert found.limiter == "DRAM bytes"
    assert found.ms == pytest.approx(1e3 * 2 * size / 4.8e12 + 0.0045)
    assert "modelled for H200" in str(found)
    assert "DRAM bytes" in found._repr_html_()


def test_stores_that_fit_into_l2_do_not_reach_dram():
    """As on the H200: offset_1 reads 265,216 bytes from DRAM and writes 0."""
    profile = {"course__unique_dram_bytes_ld": 262148, "course__unique_dram_bytes_st": 262148}
    measured = COUNTERS["offset_1"]["counters"]
    assert dram_bytes(profile) == pytest.approx(measured["dram__bytes_read.sum"], rel=0.02)
    assert measured["dram__bytes_write.sum"] == 0
    assert dram_bytes(profile, cold=False) == 0


def test_more_than_l2_is_read_and_written():
    profile = {"course__unique_dram_bytes_ld": 40e6, "course__unique_dram_bytes_st": 40e6}
    assert dram_bytes(profile, "H200") == 80e6
    assert dram_bytes(profile, "B200") == 40e6  # 126 MB of L2


def test_one_block_too_many_doubles_the_terms_of_an_sm():
    counts = {"smsp__inst_executed.sum": 1e9, "launch__block_size": 256}
    even = modelled_time(counts | {"launch__grid_size": 132})
    odd = modelled_time(counts | {"launch__grid_size": 133})
    assert even.quantization == 1
    assert odd.quantization == pytest.approx(2 * 132 / 133)
    assert odd.terms["issue slots"] == pytest.approx(even.terms["issue slots"] * 2 * 132 / 133)


def test_one_block_gets_one_sms_share_of_dram():
    profile = {"launch__grid_size": 1, "launch__block_size": 256, "course__unique_dram_bytes_ld": 4.8e6}
    assert modelled_time(profile, "H200").terms["DRAM bytes"] == pytest.approx(132e-6)


def test_a_tiny_kernel_is_limited_by_its_launch():
    found = modelled_time(only(smsp__inst_executed__SUM=1000))
    assert (found.limiter, found.launch_seconds) == ("launch", pytest.approx(4.5e-6))


def test_without_a_known_l2_bandwidth_the_term_is_missing_and_said_so():
    found = modelled_time(LAUNCH, "L4")
    assert "L2 sectors" not in found.terms
    assert "No L2 bandwidth" in str(found)


def test_a_block_that_fits_nowhere_has_no_time():
    profile = {"launch__grid_size": 1, "launch__block_size": 512, "launch__registers_per_thread": 162}
    with pytest.raises(ValueError, match="no block fits"):
        modelled_time(profile)


def test_flops_count_an_fma_twice():
    profile = {f"smsp__sass_thread_inst_executed_op_{op}_pred_on.sum": 10 for op in ("fadd", "fmul", "ffma")}
    assert fp32_flops(profile) == 40


def h200(case: str) -> dict[str, float]:
    entry = COUNTERS[case]
    grid, block = 1, 1
    for size in entry["grid"]:
        grid *= size
    for size in entry["block"]:
        block *= size
    return entry["counters"] | {"launch__grid_size": grid, "launch__block_size": block}


@pytest.mark.parametrize(
    ("fast", "slow", "resource"),
    [
        ("bank_seed_1", "bank_seed_4", "shared wavefronts"),
        ("bank_seed_4", "bank_seed_32", "shared wavefronts"),
        ("bank_seed_33", "bank_seed_32", "shared wavefronts"),
        ("tr_pad4", "tr_pad0", "shared wavefronts"),
        ("offset_32", "offset_1", "L2 sectors"),
        ("stride_1", "stride_32", "L1 sectors"),
        ("tr_pad0", "tr_naive", "L2 sectors"),
        ("soa3_sum", "aos3_sum", "L1 sectors"),
    ],
)
def test_the_h200s_own_counts_order_the_variants(fast, slow, resource):
    assert modelled_time(h200(fast)).terms[resource] < modelled_time(h200(slow)).terms[resource]
