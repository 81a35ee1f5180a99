"""Modelled times against hand calculations, and against what an H200's counters say must be slower."""

import json
from pathlib import Path

import pytest

from course_lib.gpus import gpu
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
    assert term("L2 sectors", load.format("sectors")) == pytest.approx(32e9 / 8.68e12)
    assert term("L2 sectors", load.format("sectors"), gpu="A100") == pytest.approx(32e9 / (5120 * 1.41e9))
    assert term("L2 sectors", "course__l2_pairs_global.sum") == pytest.approx(64e9 / 8.68e12)
    assert term("L1 wavefronts", "course__l1_wavefronts_global.sum") == pytest.approx(1e9 / PER_SECOND)
    assert term("L1 tags", load.format("requests")) == pytest.approx(1e9 / PER_SECOND)
    assert term("L1 tags", "course__l1_tags_global.sum") == pytest.approx(1e9 / 4 / PER_SECOND)
    assert term("shared wavefronts", shared) == pytest.approx(1e9 / PER_SECOND)
    assert term("issue slots", "smsp__inst_executed.sum") == pytest.approx(1e9 / 4 / PER_SECOND)
    ffma = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"
    assert term("FP32", ffma) == pytest.approx(2e9 / 66.9e12, rel=1e-3)
    assert term("FP32", "course__fp32_lanes.sum") == pytest.approx(2e9 / 66.9e12, rel=1e-3)
    assert term("tensor cores", "course__tensor_work.sum") == pytest.approx(1e9 / 989.5e12)


def test_a_copy_far_above_l2_is_limited_by_dram():
    size = 4 * 2**26  # bytes read, and as many written
    sectors = {f"l1tex__t_sectors_pipe_lsu_mem_global_op_{op}.sum": size / 32 for op in ("ld", "st")}
    unique = {f"course__unique_dram_bytes_{op}": size for op in ("ld", "st")}
    launch = {"launch__grid_size": 2**18, "launch__block_size": 256}
    found = modelled_time(launch | sectors | unique, "H200")
    assert found.limiter == "DRAM bytes"
    assert found.ms == pytest.approx(1e3 * 2 * size / 4.24e12 + 0.0045)  # the rate measured for a copy
    assert modelled_time(launch | sectors | unique, "L4").ms == pytest.approx(
        1e3 * 2 * size / 300e9, rel=0.01
    )
    assert "modelled for H200" in str(found)
    assert "DRAM bytes" in found._repr_html_()


def test_reading_alone_is_as_fast_as_measured():
    profile = only(course__unique_dram_bytes_ld=4.52e9)
    assert modelled_time(profile).terms["DRAM bytes"] == pytest.approx(1e-3)


def test_sectors_come_in_pairs_where_that_was_measured():
    """As on the H200: stride_16 wants 65,536 sectors, every second one, and reads 4,197,120 bytes."""
    profile = {"course__unique_dram_bytes_ld": 65536 * 32, "course__unique_pair_bytes_ld": 65536 * 64}
    read = COUNTERS["stride_16"]["counters"]["dram__bytes_read.sum"]
    assert dram_bytes(profile, "H200") == pytest.approx(read, rel=0.02)
    assert dram_bytes(profile, "T4") == 65536 * 32


def test_shared_memory_and_l1_are_one_memory():
    shared = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"
    both = LAUNCH | {shared: 3e9, "course__l1_wavefronts_global.sum": 1e9}
    terms = modelled_time(both).terms
    assert terms["shared wavefronts"] == pytest.approx(4e9 / PER_SECOND)
    assert terms["L1 wavefronts"] == pytest.approx(1e9 / PER_SECOND)


def waiting(blocks: int = 1056, **counts: float) -> float:
    """Seconds of memory latency of full SMs (8 blocks each): every warp loads 4 sectors, all from DRAM."""
    warps = 8 * blocks
    profile = {
        "launch__grid_size": blocks,
        "launch__block_size": 256,
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 4 * warps,
        "course__unique_dram_bytes_ld": 128 * warps,
        "course__load_rounds.sum": warps,
    }
    return modelled_time(profile | counts).terms["memory latency"]


TURNOVER, IDLE, BUSY = 0.3e-6, 0.31e-6, 0.64e-6


def stay(blocks: int, seconds: float) -> float:
    """Of one wave of `blocks` in all that take so long: 128 bytes a warp keep DRAM busy at 4520 GB/s."""
    used = 8 * blocks * 128 / 4.52e12 / seconds
    assert 0.03 < used < 0.5
    return TURNOVER + (1 - used) * IDLE + used * BUSY


def test_a_warp_waits_once_for_each_round_of_loads():
    """One block moves too little to keep DRAM busy."""
    assert waiting(1) == pytest.approx(TURNOVER + IDLE, rel=0.05)
    assert waiting(1, **{"course__load_rounds.sum": 4 * 8}) == pytest.approx(TURNOVER + 4 * IDLE, rel=0.05)
    half = {"course__unique_dram_bytes_ld": 64 * 8}
    assert waiting(1, **half) == pytest.approx(TURNOVER + IDLE / 2, rel=0.05)


@pytest.mark.parametrize(("blocks", "waves"), [(1056, 1), (1057, 2), (2**18, 249)])
def test_rounds_take_longer_the_more_of_dram_is_in_use(blocks, waves):
    seconds = waiting(blocks)
    assert seconds == pytest.approx(waves * stay(blocks, seconds))


def test_at_dram_s_full_rate_a_round_takes_the_busy_latency():
    """DRAM needs 10 µs for the bytes of warps that wait 0.94 µs."""
    many = {"course__unique_dram_bytes_ld": 4.52e7, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 1412500}
    assert waiting(**many) == pytest.approx(TURNOVER + BUSY)


def test_fewer_resident_warps_wait_longer():
    """64 KB of shared memory a block leave 3 blocks of 8 on an SM: 1056 blocks take 3 waves."""
    crowded = waiting(launch__shared_mem_per_block_static=65536)
    assert crowded == pytest.approx(3 * stay(1056, crowded))


def test_a_copy_of_a_float_a_thread_waits_as_recorded():
    """Little's law by hand: 64 warps x 132 SMs x 128 bytes in flight, each for 0.80 µs."""
    bytes_read, in_flight = 4 * 2**26, 64 * 132 * 128
    seconds = bytes_read / in_flight * 0.80e-6
    stored = {"course__unique_dram_bytes_st": bytes_read}
    assert waiting(2**26 // 256, **stored) == pytest.approx(seconds, rel=0.05)


def test_a_gpu_without_measured_rates_uses_its_data_sheet():
    assert gpu("A100").measured is None
    assert modelled_time(only(course__unique_dram_bytes_ld=1.555e9), "A100").terms["DRAM bytes"] == 1e-3


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
    profile = {"launch__grid_size": 1, "launch__block_size": 256, "course__unique_dram_bytes_ld": 4.52e6}
    assert modelled_time(profile, "H200").terms["DRAM bytes"] == pytest.approx(132e-6)


def test_a_tiny_kernel_is_limited_by_its_launch():
    found = modelled_time(only(smsp__inst_executed__SUM=1000))
    assert (found.limiter, found.launch_seconds) == ("launch", pytest.approx(4.5e-6))
    assert found.rows()[0] == ("launch", "0.00450")
    shown = sum(float(ms) for _, ms in found.rows()[:2])  # the launch and the slowest of the rest
    assert found.ms == pytest.approx(shown, abs=1e-5)


def test_the_text_says_where_quantization_comes_from():
    """32 blocks on 132 SMs: 1 on the busiest, 32 / 132 = 0.242 on average, 1 / 0.242 = 4.12."""
    text = str(modelled_time({"launch__grid_size": 32, "launch__block_size": 256}))
    assert "quantization x 4.12: 32 blocks on 132 SMs, 1 on the busiest, 0.242 on average" in text


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
