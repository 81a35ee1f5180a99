"""Races and undefined reads in shared memory, warps and integer division: what is found and what is not."""

import numpy as np
import pytest

from course_lib.emulator import RawKernel
from course_lib.profile import profile

from .cuda import run
from .hazards import findings, kinds

RACE, UNWRITTEN = {"shared race"}, {"uninitialised read"}
S = "__shared__ int s[64];"
FILLED = f"{S} s[t] = t; __syncthreads();"


# -- where and who -----------------------------------------------------------------


def test_a_race_names_lines_threads_and_the_word() -> None:
    (hazard,) = findings(f"{S}\ns[t] = t;\nout[t] = s[63 - t];", block=64)
    assert (hazard.kind, hazard.kernel, hazard.line) == ("shared race", "k", 5)
    assert (hazard.block, hazard.thread, hazard.address) == ((0, 0, 0), (0, 0, 0), 252)
    assert hazard.occurrences == 64
    assert (
        "thread 0 reads s + 252 bytes (shared byte 252), which thread 63 writes in line 4" in hazard.message
    )
    assert "__syncthreads()" in hazard.message
    assert "k, line 5, block 0, thread 0" in str(hazard)


def test_threads_of_two_dimensional_blocks_are_named_by_their_index() -> None:
    source = r"""
extern "C" __global__ void k(int *out) {
    __shared__ int s[64];
    int t = threadIdx.y * 8 + threadIdx.x;
    s[t] = t;
    out[t] = s[63 - t];
}"""
    (hazard,) = profile(RawKernel(source, "k"), (1, 2), (8, 8), (np.zeros(64, np.int32),)).hazards[:1]
    assert hazard.thread == (0, 0, 0)
    assert "thread (7, 7, 0) writes" in hazard.message


def test_only_the_blocks_that_race_are_told() -> None:
    body = f"{S} s[t] = t; if (blockIdx.x != 2) __syncthreads(); out[blockIdx.x * 64 + t] = s[63 - t];"
    (hazard,) = findings(body, grid=4)
    assert hazard.block == (2, 0, 0)


# -- barriers of a block -----------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (f"{FILLED} out[t] = s[63 - t];", set()),
        (f"{S} s[t] = t; out[t] = s[63 - t];", RACE),
        (f"{FILLED} int v = s[63 - t]; s[t] = v;", RACE),  # write after read
        (f"{FILLED} int v = s[63 - t]; __syncthreads(); s[t] = v;", set()),
        (f"{FILLED} for (int d = 32; d; d /= 2) {{ if (t < d) s[t] += s[t + d]; __syncthreads(); }}", set()),
        (f"{FILLED} for (int d = 32; d; d /= 2) if (t < d) s[t] += s[t + d];", RACE),
        (f"{FILLED} if (t < 32) s[t + 32] = s[t] + 1; __syncthreads(); out[t] = s[t];", set()),
        (f"{S} s[t] = t; out[t] = s[t];", set()),  # each thread its own word
    ],
)  # fmt: skip
def test_block_barriers_order(body: str, wanted: set[str]) -> None:
    assert kinds(body) == wanted


def test_a_right_answer_does_not_hide_a_race() -> None:
    # the in-place scan with one barrier a step: all threads are in step here, so the sums are right
    body = """
    __shared__ int s[64];
    s[t] = 1;
    __syncthreads();
    for (int d = 1; d < 64; d *= 2) {
        if (t >= d) s[t] += s[t - d];
        __syncthreads();
    }
    out[t] = s[t];"""
    assert run(f"int t = threadIdx.x; {body}", np.zeros(64, np.int32), block=64).tolist() == [*range(1, 65)]
    (hazard,) = findings(body)
    assert (hazard.kind, hazard.line) == ("shared race", 8)


def test_volatile_is_no_synchronisation() -> None:
    assert kinds("__shared__ volatile int s[64]; s[t] = t; out[t] = s[t ^ 1];") == RACE


def test_a_fence_without_a_flag_is_no_barrier() -> None:
    assert kinds(f"{S} s[t] = t; __threadfence_block(); out[t] = s[63 - t];") == RACE


def test_a_lock_with_a_fence_orders() -> None:
    body = """
    __shared__ int lock, sum;
    if (t == 0) lock = sum = 0;
    __syncthreads();
    if (t % 32 == 0) {
        while (atomicCAS(&lock, 0, 1)) { }
        sum += t;
        FENCE
        atomicExch(&lock, 0);
    }
    __syncthreads();
    out[t] = sum;"""
    assert kinds(body.replace("FENCE", "__threadfence_block();"), block=128) == set()
    assert kinds(body.replace("FENCE", ""), block=128) == RACE


# -- warps -------------------------------------------------------------------------

LAST_WARP = """
    __shared__ volatile float s[64];
    s[t] = t;
    __syncthreads();
    if (t < 32) { s[t] = s[t] + s[t + 32]; SYNC s[t] = s[t] + s[t + 16]; SYNC s[t] = s[t] + s[t + 8]; }
"""
MASKS = "__syncwarp(t & 16 ? 0xffff0000u : 0xffffu);"


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (LAST_WARP.replace("SYNC", ""), RACE),  # a last-warp reduction of old
        (f"{S} s[t] = t; __syncwarp(); out[t] = s[t ^ 1];", set()),
        (f"{S} s[t] = t; out[t] = s[t ^ 1];", RACE),
        (f"{S} s[t] = t; __syncwarp(); out[t] = s[t ^ 32];", RACE),  # another warp
        (f"{S} s[t] = t; {MASKS} out[t] = s[t ^ 1];", set()),
        (f"{S} s[t] = t; {MASKS} out[t] = s[t ^ 16];", RACE),  # the half that the mask does not name
        (f"{S} s[t] = t; {MASKS} __syncwarp(); out[t] = s[t ^ 16];", set()),
        (f"{S} if (t < 16) {{ s[t] = t; __syncwarp(0xffff); out[t] = s[t ^ 1]; }}", set()),
        (f"{S} s[t] = t; out[t] = __shfl_xor_sync(~0u, t, 1) + s[t ^ 1];", RACE),  # shuffles do not
        ("int v = t; for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d); out[t] = v;", set()),
    ],
)  # fmt: skip
def test_syncwarp_orders_the_lanes_it_names(body: str, wanted: set[str]) -> None:
    assert kinds(body) == wanted


def test_syncwarp_in_two_branches_is_one() -> None:
    body = "if (t & 1) { s[t] = t; __syncwarp(); } else { s[t] = -t; __syncwarp(); } out[t] = s[t ^ 1];"
    assert kinds(S + body) == set()


def test_cooperative_tiles() -> None:
    before = "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;"
    body = f"{S} auto tile = cg::tiled_partition<16>(cg::this_thread_block()); s[t] = t; tile.sync();"
    assert kinds(f"{body} out[t] = s[t ^ 1];", before=before) == set()
    assert kinds(f"{body} out[t] = s[t ^ 16];", before=before) == RACE


# -- one word, several threads -----------------------------------------------------

COUNTERS = "__shared__ int s[4]; if (t < 4) s[t] = 0; __syncthreads();"
FLAG = "__shared__ int s; if (!t) s = 0; __syncthreads(); if (t % 3) s = 1;"


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("__shared__ int s; s = 5; __syncthreads(); out[t] = s;", set()),  # equal values do no harm
        ("__shared__ int s; s = t; __syncthreads(); out[t] = s;", RACE),
        (f"{FLAG} __syncthreads(); out[t] = s;", set()),
        (f"{FLAG} out[t] = s;", RACE),
        (f"{COUNTERS} atomicAdd(s + t % 4, 1); __syncthreads(); out[t] = s[t % 4];", set()),
        (f"{COUNTERS} atomicAdd(s + t % 4, 1); atomicMax(s + t % 4, 3);", set()),
        (f"{COUNTERS} atomicAdd(s + t % 4, 1); out[t] = s[t % 4];", RACE),
        (f"{COUNTERS} if (t < 32) s[t % 4] = 3; atomicAdd(s + t % 4, 1);", RACE),
        (f"{COUNTERS} s[t % 4]++; __syncthreads(); out[t] = s[t % 4];", RACE),
    ],
)  # fmt: skip
def test_words_that_several_threads_touch(body: str, wanted: set[str]) -> None:
    assert kinds(body) == wanted


def test_equal_values_are_compared_block_by_block() -> None:
    body = "__shared__ int s; s = {}; __syncthreads(); out[blockIdx.x * 64 + t] = s;"
    assert kinds(body.format("blockIdx.x"), grid=3) == set()
    assert kinds(body.format("blockIdx.x == 1 ? t : 0"), grid=3) == RACE


QUADS = "__shared__ int4 s[16]; ((int *)s)[t] = t;"
PAIRS = "__shared__ int s[64]; ((int2 *)s)[t % 32] = make_int2(t, t);"


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("__shared__ char s[64]; s[t] = t; s[t] += 1; __syncthreads(); out[t] = s[63 - t];", set()),
        ("__shared__ short s[64]; s[t] = t; out[t] = s[t];", set()),
        ("__shared__ int s[16]; ((char *)s)[t] = t; out[t] = s[t / 4];", RACE),
        (f"{QUADS} __syncthreads(); int4 v = s[t / 4]; out[t] = v.x + v.y + v.z + v.w;", set()),
        (f"{QUADS} int4 v = s[t / 4]; out[t] = v.x + v.y + v.z + v.w;", RACE),
        (f"{PAIRS} __syncthreads(); out[t] = s[t];", RACE),
    ],
)  # fmt: skip
def test_accesses_meet_where_they_share_a_byte(body: str, wanted: set[str]) -> None:
    assert kinds(body) == wanted


# -- undefined values --------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (f"{S} if (t > 64) s[t] = 0; out[t] = s[t];", UNWRITTEN),
        (f"{S} if (t < 60) s[t] = t; __syncthreads(); out[t] = s[t];", UNWRITTEN),
        (f"{S} atomicAdd(s + t, 1); out[t] = s[t];", UNWRITTEN),
        (f"{FILLED} out[t] = s[t];", set()),
    ],
)
def test_reading_shared_memory_before_writing_it(body: str, wanted: set[str]) -> None:
    assert kinds(body) == wanted


def test_an_undefined_read_names_its_first_thread() -> None:
    body = f"{S}\nif (t < 60) s[t] = t;\n__syncthreads();\nout[t] = s[t];"
    (hazard,) = findings(body)
    assert (hazard.line, hazard.thread, hazard.address, hazard.occurrences) == (6, (60, 0, 0), 240, 4)


@pytest.mark.parametrize("kind", ["float", "double", "int", "short"])
def test_undefined_values_cannot_look_right(kind: str) -> None:
    out = np.zeros(32, {"float": "f4", "double": "f8", "int": "i4", "short": "i2"}[kind])
    body = f"__shared__ {kind} s[32]; out[threadIdx.x] = s[threadIdx.x];"
    run(body, out, parameters=f"{kind} *out")
    if out.dtype.kind == "f":
        assert np.isnan(out).all()
    else:
        assert set(out.tolist()) <= {0x7FFF7FFF, 0x7FFF}


# -- warps that do not take part, division -----------------------------------------


def test_a_shuffle_from_lanes_that_are_not_there() -> None:
    out = np.zeros(20, np.float32)
    body = "float v = t; v += __shfl_down_sync(~0u, v, 16); out[t] = v;"
    (hazard,) = findings(body, out, parameters="float *out", block=20)
    assert (hazard.kind, hazard.thread, hazard.occurrences) == ("inactive lane", (4, 0, 0), 12)
    assert "poisoned" in hazard.message


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("if (t < 16) out[t] = __shfl_xor_sync(~0u, t, 16);", {"inactive lane"}),
        ("out[t] = __ballot_sync(0xffffu, t & 1);", {"inactive lane"}),  # not in their own mask
        ("if (t % 32 < 16) out[t] = __ballot_sync(0xffffu, t & 1);", set()),
        ("if (t % 32 < 16) out[t] = __shfl_down_sync(0xffffu, t, 4, 16);", set()),
        ("if (t & 16) out[t] = __ballot_sync(~0u, 1); __syncthreads(); out[t] += 1;", {"inactive lane"}),
        ("if (t % 32 < 16) __syncwarp(); __syncthreads(); out[t] = t;", {"inactive lane"}),
    ],
)  # fmt: skip
def test_lanes_that_a_mask_names_must_come(body: str, wanted: set[str]) -> None:
    assert kinds(body) == wanted


@pytest.mark.parametrize("operation", ["/", "%"])
@pytest.mark.parametrize("kind", ["int", "unsigned", "long long"])
def test_division_by_zero(kind: str, operation: str) -> None:
    body = f"\nout[t] = ({kind})100 {operation} ({kind})t;"
    (hazard,) = findings(body, block=32)
    assert (hazard.kind, hazard.line, hazard.thread) == ("division by zero", 4, (0, 0, 0))
    assert hazard.occurrences == 1


def test_division_of_other_numbers_is_no_finding() -> None:
    assert kinds("out[t] = t ? 100 / t : t / 7 + t % 3;") == set()
    assert kinds("out[t] = 1.0f / t;") == set()  # IEEE 754: infinity


@pytest.mark.parametrize(("other", "advice"), [("t ^ 1", True), ("t < 2 ? t ^ 1 : (t + 40) % 64", False)])
def test_syncwarp_is_offered_only_where_no_pair_crosses_warps(other: str, advice: bool) -> None:
    (hazard,) = findings(f"{S} s[t] = t; out[t] = s[{other}];", block=64)
    assert ("__syncwarp" in hazard.message) == advice
    assert "thread 0 reads s + 4 bytes (shared byte 4), which thread 1 writes" in hazard.message
