"""Outputs and counters of every hardware case against the emulator."""

import warnings

import numpy as np
import pytest

from course_lib.emulator.errors import ArgumentWarning
from course_lib.profile import profile

from . import h200

ULP = 2.0**-23

# Outputs decided by which warp is faster: several warps write the same word and read it back without a
# barrier. No order reproduces another run; the emulator reports the race, and every value is a possible one.
RACES = ("bank_vol_4", "bank_vol_8", "bank_vol_16", "bank_vol_32")

# Cases with approximate instructions: (relative, absolute) bound and where it comes from. Bounds of the PTX
# ISA: ex2.approx 2^-22.5 relative, rcp/rsqrt 1 ulp / 2^-22.9, lg2 2^-22, sin.approx 2^-20.5 absolute.
# A `mul` and an `add` without rounding modifier may be contracted by ptxas (ISA, "add"): one more ulp there.
BOUNDS = {
    "div_warp": (80 * ULP, 2 * ULP, "exp(-v*v), v*v up to 35: an ulp of v is 70 of the result; contraction"),
    "div_nested": (80 * ULP, 16 * ULP, "the same, and sin(v) near its zeros: contraction moves v by an ulp"),
    "softmax": (8 * ULP, 0, "exp and a sum of 512 terms divided"),
    "gelu": (0, 4 * ULP, "(e - 1)/(e + 1) cancels near 0: the bound of ex2 becomes absolute"),
    "ew_tanh": (4 * ULP, 0, "ex2 and rcp"),
    "ew_erf": (4 * ULP, 0, "ex2"),
    "ew_pow": (4 * ULP, 0, "ex2"),
    "ew_rsqrt": (2 * ULP, 0, "rsqrt.approx"),
    "ew_fmod": (0, 0, "exact here"),
    "ew_cbrt": (2 * ULP, 0, "lg2 and ex2 start a Newton step"),
    "ew_sig": (4 * ULP, 0, "ex2 and rcp"),
    "ew_fast": (8 * ULP, 2.0**-20.5, "sin.approx has an absolute bound"),
    "ew_dlog": (2.0**-52, 0, "double precision"),
    "threadfence_last": (4 * ULP, 0, "atomic additions in another order"),
    "online_softmax": (16 * ULP, 0, "a chain of ex2.approx"),
}

# Float operations follow the PTX; ptxas contracts, unrolls, predicates and expands division, square root and
# slow paths. Cases where that changes their number (README of the data: "differ wherever ptxas ...").
FLOPS_DIFFER = {
    "div_warp", "div_nested", "div_select", "div_early", "softmax", "gelu", "ew_log", "ew_tanh", "ew_erf",
    "ew_pow", "ew_fmod", "ew_cbrt", "ew_atan2", "ew_hypot", "ew_sig", "ew_fast", "ew_ddiv", "half_sum",
    "scan_warp", "switch", "online_softmax", "nan_max",
}  # fmt: skip

EXACT_METRICS = [
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "memory_l2_theoretical_sectors_global", "memory_l2_theoretical_sectors_global_ideal",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal",
    "launch__shared_mem_per_block_static",
]  # fmt: skip
FLOPS = [f"smsp__sass_thread_inst_executed_op_{name}_pred_on.sum" for name in ("fadd", "fmul", "ffma")]

every_case = pytest.mark.parametrize("case", h200.CASES.values(), ids=h200.CASES)


def test_all_cases_are_there() -> None:
    assert len(h200.CASES) == 114
    assert set(RACES) | set(BOUNDS) | FLOPS_DIFFER <= set(h200.CASES)


@every_case
def test_output(case: dict) -> None:
    got, wanted = h200.run(case), h200.outputs()[case["case"]]
    if case["case"] in RACES:
        assert_possible(case, got)
        assert_possible(case, wanted)
    elif case["bit_exact"]:
        np.testing.assert_array_equal(got.view(np.uint8), wanted.view(np.uint8))
    else:
        relative, absolute, _ = BOUNDS[case["case"]]
        np.testing.assert_allclose(got, wanted, rtol=relative, atol=absolute)


def assert_possible(case: dict, output: np.ndarray) -> None:
    """Each thread got a value that some thread of its block wrote to its word."""
    offset = case["arguments"][2][1]
    blocks = output.reshape(-1, 1024)
    before = np.arange(output.size).reshape(-1, 1024)
    words = np.arange(1024) * offset % 1024
    for row, old in zip(blocks, before, strict=True):
        writer = row - 1 - old[0]
        assert ((writer >= 0) & (writer < 1024)).all()
        assert (words[writer] == words).all()


@every_case
def test_counters(case: dict) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ArgumentWarning)
        counted = profile(h200.kernel(case), tuple(case["grid"]), tuple(case["block"]),
                          tuple(h200.arguments(case)), case["shared_mem"])  # fmt: skip
    hardware = case["counters"]
    exact = EXACT_METRICS + ([] if case["case"] in FLOPS_DIFFER else FLOPS)
    assert {name: counted[name] for name in exact} == {name: hardware[name] for name in exact}
    # Nsight Compute never shows fewer than 16 registers
    registers = max(16, counted["launch__registers_per_thread"])
    assert abs(registers - hardware["launch__registers_per_thread"]) <= 2
    raced = {h.kind for h in counted.hazards}
    assert raced == ({"shared race"} if races(case) else set()), counted.hazards


def races(case: dict) -> bool:
    """The bank demo with an even OFFSET: different threads write one word without a barrier."""
    return case["case"].startswith(("bank_seed", "bank_vol")) and case["arguments"][2][1] % 2 == 0


@every_case
def test_source_lines_add_up(case: dict) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ArgumentWarning)
        counted = profile(h200.kernel(case), tuple(case["grid"]), tuple(case["block"]),
                          tuple(h200.arguments(case)), case["shared_mem"])  # fmt: skip
    assert sum(line.executions for line in counted.lines) == counted["smsp__inst_executed.sum"]
    assert sum(line.wavefronts for line in counted.lines) == counted["memory_l1_wavefronts_shared"]
    assert sum(line.sectors for line in counted.lines) == counted["memory_l2_theoretical_sectors_global"]


@pytest.mark.parametrize("name", ["mm_tiled_32", "red_strided", "persistent_queue", "hist_global", "switch"])
def test_block_order_does_not_matter(name: str) -> None:
    case = h200.CASES[name]
    np.testing.assert_array_equal(h200.run(case, seed=7), h200.run(case))
