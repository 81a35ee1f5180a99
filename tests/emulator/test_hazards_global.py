"""Races and undefined reads in global memory: what is found and what is not."""

import numpy as np
import pytest

from course_lib import standin as cp
from course_lib.emulator import global_races
from course_lib.emulator.facts import facts_of
from course_lib.emulator.undefined import make_undefined
from course_lib.profile import profile

from .cuda import kernel
from .hazards import findings, kinds

RACE = {"global race"}
GRID, BLOCK = 4, 64
N = GRID * BLOCK
I = "int i = blockIdx.x * 64 + t;"  # noqa: E741


def numbers(dtype: str = "i4") -> np.ndarray:
    return np.arange(N).astype(dtype)


def found(body: str, *arguments: object, parameters: str = "int *x, int *y", **settings: object) -> set[str]:
    arguments = arguments or (numbers(), np.zeros(N, np.int32))
    return kinds(I + body, *arguments, parameters=parameters, grid=GRID, block=BLOCK, **settings)


# -- where and who -----------------------------------------------------------------


def test_a_race_names_the_array_and_both_threads() -> None:
    body = f"{I}\ny[i] = x[i];\nx[255 - i] = 7;"
    arguments = (numbers(), np.zeros(N, np.int32))
    (hazard,) = findings(body, *arguments, parameters="int *x, int *y", grid=GRID)
    assert (hazard.kind, hazard.line, hazard.block, hazard.thread) == ("global race", 5, (0, 0, 0), (0, 0, 0))
    assert "block 0 thread 0 writes array 'x' at byte 1020, " in hazard.message
    assert "which block 3 thread 63 reads in line 4" in hazard.message
    assert "two launches" in hazard.message
    assert hazard.occurrences == N


# -- within and across blocks ------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("if (i < 255) x[i] = x[i + 1];", RACE),  # neighbours in place
        ("if (i < 255) y[i] = x[i + 1];", set()),
        ("x[i] = 2 * x[i]; x[i] += 1;", set()),  # each thread its own element
        ("y[0] = i;", RACE),
        ("y[0] = 7;", set()),  # equal values do no harm
        ("y[blockIdx.x] = blockIdx.x;", set()),
        ("y[t] = blockIdx.x;", RACE),  # one element, four blocks
        ("x[x[i] % 8]++;", RACE),  # a histogram without atomics
        ("atomicAdd(y + x[i] % 8, 1);", set()),
        ("atomicAdd(y + x[i] % 8, 1); if (t == 0) x[i] = y[0];", RACE),
        ("atomicAdd(y + x[i] % 8, 1); if (i < 8) y[i] = 0;", RACE),
        ("x[i ^ 1] = i;", set()),
        ("int v = x[i ^ 1]; x[i] = v;", RACE),
        ("int v = x[i ^ 1]; __syncwarp(); x[i] = v;", set()),
        ("int v = x[i ^ 32]; __syncwarp(); x[i] = v;", RACE),
        ("int v = x[i ^ 32]; __syncthreads(); x[i] = v;", set()),
        ("int v = x[i ^ 64]; __syncthreads(); x[i] = v;", RACE),
        ("int v = x[i ^ 64]; __threadfence(); x[i] = v;", RACE),  # a fence signals nothing by itself
        ("y[i] = i; __syncthreads(); x[i] = y[i ^ 33];", set()),
        ("for (int k = i; k < 256; k += 128) y[k] = k;", set()),  # too short a stride, but equal values
        ("for (int k = i; k < 256; k += 128) y[k] += k;", RACE),
        ("for (int k = i; k < 256; k += 256) y[k] = k;", set()),
        ("y[(i % 16) * 16 + i / 16] = x[i];", set()),  # transposed
        ("if (t == 0) y[blockIdx.x] = 1; __syncthreads(); if (i == 0) y[0] += y[1] + y[2] + y[3];", RACE),
    ],
)  # fmt: skip
def test_threads_of_one_launch(body: str, wanted: set[str]) -> None:
    assert found(body) == wanted


def test_views_of_one_array_are_one_array() -> None:
    x = np.arange(N + 1, dtype=np.int32)
    assert found("y[i] = x[i];", x[1:], x[:-1]) == RACE
    assert found("y[i] = x[i];", x[:-1], x[:-1]) == set()
    assert found("if (i < 128) y[i] = x[i];", x[:128], x[128:]) == set()


def test_bytes_beside_each_other() -> None:
    byte, parameters = np.zeros(N, np.uint8), "unsigned char *x, unsigned char *y"
    assert found("x[i] = i;", byte, byte, parameters=parameters) == set()
    assert found("x[i] = ((int *)y)[i / 4];", byte, byte, parameters=parameters) == RACE


def test_wide_and_narrow_accesses_meet() -> None:
    x = np.zeros(4 * N, np.int32)
    assert found("((int4 *)x)[i] = make_int4(i, i, i, i);", x, x) == set()
    assert found("((int4 *)x)[i] = make_int4(i, i, i, i); y[4 * i + 3] = 0;", x, x) == set()
    assert found("((int4 *)x)[i] = make_int4(i, i, i, i); y[i] = 0;", x, x) == RACE


def test_module_variables_are_watched() -> None:
    assert found("sum += i;", before="__device__ int sum;") == RACE
    assert found("atomicAdd(&sum, i);", before="__device__ int sum;") == set()
    assert found("x[i] = table[i % 4];", before="__constant__ int table[4];") == set()


def test_chunks_of_blocks_see_each_other() -> None:
    # 2,048 blocks do not run together; block 0 has ended when the last one writes what it read
    x = np.zeros(2048 * 64, np.int32)
    body = f"{I} x[2048 * 64 - 1 - i] = x[i];"
    assert kinds(body, x, parameters="int *x", grid=2048) == RACE
    body = f"{I} x[i] = x[i] + 1;"
    assert kinds(body, x, parameters="int *x", grid=2048) == set()


def test_the_order_of_blocks_makes_no_difference() -> None:
    for body, wanted in (("if (i < 255) x[i] = x[i + 1];", RACE), ("y[i] = x[i];", set())):
        assert {frozenset(found(body, seed=seed)) for seed in range(4)} == {frozenset(wanted)}


# -- blocks that wait for each other -----------------------------------------------

LAST_BLOCK = """
    __shared__ bool last;
    if (t == 0) {
        x[blockIdx.x] = blockIdx.x;
        FENCE
        last = atomicAdd(y, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) for (int b = 0; b < gridDim.x; ++b) y[1] += x[b];"""
LOCK = "if (t == 0) { while (atomicCAS(y, 0, 1)) { } x[0]++; FENCE atomicExch(y, 0); }"
FLAG = """
    volatile int *flag = y, *data = x;
    if (blockIdx.x == 0) { if (t == 0) { data[0] = 5; FENCE flag[0] = 1; } }
    else { while (flag[0] == 0) { } y[i] = data[0]; }"""


@pytest.mark.parametrize("body", [LAST_BLOCK, LOCK, FLAG], ids=["last block", "lock", "flag"])
def test_a_fence_before_a_flag_orders_blocks(body: str) -> None:
    fresh = (np.zeros(N, np.int32), np.zeros(N, np.int32))
    assert found(body.replace("FENCE", "__threadfence();"), *fresh) == set()
    assert found(body.replace("FENCE", ""), *fresh) == RACE


def test_what_follows_the_fence_is_not_ordered() -> None:
    body = LAST_BLOCK.replace("FENCE", "__threadfence();").replace(
        "__syncthreads();", "if (t == 1) x[blockIdx.x] = 3; __syncthreads();"
    )
    assert found(body, np.zeros(N, np.int32), np.zeros(N, np.int32)) == RACE


def test_ordered_atomic_references() -> None:
    body = """
    cuda::atomic_ref<int, cuda::thread_scope_device> flag(y[0]);
    if (blockIdx.x == 0) { if (t == 0) { x[0] = 5; flag.store(1, cuda::memory_order_RELEASE); } }
    else { while (flag.load(cuda::memory_order_ACQUIRE) == 0) { } x[i] = x[0]; }"""
    before = "#include <cuda/atomic>"
    for release, acquire, wanted in (("release", "acquire", set()), ("relaxed", "relaxed", RACE)):
        ordered = body.replace("RELEASE", release).replace("ACQUIRE", acquire)
        fresh = (np.zeros(N, np.int32), np.zeros(N, np.int32))
        assert found(ordered, *fresh, before=before) == wanted


def test_a_barrier_of_the_grid() -> None:
    before = "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;"
    body = "auto grid = cg::this_grid(); x[i] = i; grid.sync(); int v = x[255 - i]; LAST x[i] = v;"
    settings = {"before": before, "enable_cooperative_groups": True}
    assert found(body.replace("LAST", "grid.sync();"), **settings) == set()
    assert found(body.replace("LAST", ""), **settings) == RACE


# -- what is watched, and how much -------------------------------------------------


@pytest.mark.parametrize(
    ("body", "stored"),
    [
        ("y[t] = x[t];", {1}),
        ("int *p = t & 1 ? x : y; p[t] = 1;", {0, 1}),
        ("atomicAdd(x + y[t], 1);", {0}),
        ("__shared__ int s[64]; s[t] = x[t]; __syncthreads(); y[t] = s[t];", {1}),
    ],
)
def test_arrays_the_kernel_may_store_to(body: str, stored: set[int]) -> None:
    program = kernel(f"int t = threadIdx.x; {body}", "int *x, int *y").program
    names = [parameter.name for parameter in program.parameters]
    assert facts_of(program.instructions).stored == {names[k] for k in stored}


def test_a_pointer_from_memory_may_point_anywhere() -> None:
    program = kernel("t[0][threadIdx.x] = 1;", "int **t").program
    assert facts_of(program.instructions).stored is None


def test_stores_of_device_functions_are_watched() -> None:
    before = "__device__ __noinline__ void put(int *p, int v) { *p = v; }"
    assert found("put(x + i / 2, i);", before=before) == RACE
    assert found("put(x + i, i);", before=before) == set()
    assert found('if (i == 300) printf("%d", i); if (i < 255) x[i] = x[i + 1];') == RACE


def test_a_large_array_is_said_to_be_unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(global_races, "MOST_WORDS", 100)
    made = kernel("int i = threadIdx.x; x[i] = x[i + 1];", "int *x")
    p = profile(made, (1,), (64,), (np.zeros(128, np.int32),))
    assert not p.hazards
    assert p.unchecked == ["array 'x' is too large to be checked for races (512 bytes)"]
    assert not profile(made, (1,), (1,), (np.zeros(8, np.int32),)).unchecked


def test_nothing_is_lost_when_accesses_are_no_longer_held_back(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = "for (int k = 0; k < 8; ++k) y[k * 32 + t % 32] = x[t] + k; __syncthreads(); x[t] = y[t + 64];"
    right = "for (int k = 0; k < 4; ++k) y[k * 64 + t] = x[t] + k; __syncthreads(); x[t] = y[t + 64];"
    arguments = (np.arange(64, dtype=np.int32), np.zeros(256, np.int32))
    for most in (1, 4, 1000):
        monkeypatch.setattr(global_races, "MOST_HELD", most)
        assert kinds(wrong, *arguments, parameters="int *x, int *y", block=64) == RACE
        assert kinds(right, *arguments, parameters="int *x, int *y", block=64) == set()


# -- memory nobody has written -----------------------------------------------------

COPY = kernel("y[threadIdx.x] = x[threadIdx.x];", "float *y, const float *x")


def test_reading_an_array_made_by_empty() -> None:
    x, y = cp.empty(64, cp.float32), cp.empty(64, cp.float32)
    (hazard,) = profile(COPY, (1,), (64,), (y, x)).hazards
    assert (hazard.kind, hazard.thread, hazard.occurrences) == ("uninitialised read", (0, 0, 0), 64)
    assert "array 'x' is read at byte 0" in hazard.message
    x[:40] = 1
    (hazard,) = profile(COPY, (1,), (64,), (y, x)).hazards
    assert (hazard.thread, hazard.occurrences) == ((40, 0, 0), 24)
    x[40:] = 1
    assert not profile(COPY, (1,), (64,), (y, x)).hazards


@pytest.mark.parametrize(
    "made",
    [
        lambda: cp.empty_like(cp.zeros(64, cp.float32)),
        lambda: cp.empty((8, 8), cp.float32)[1:],
        lambda: cp.empty((8, 8), cp.float32, order="F").T,
        lambda: cp.ndarray(64, cp.float32),
    ],
)
def test_every_way_to_make_it(made) -> None:
    y = cp.zeros(64, cp.float32)
    assert [h.kind for h in profile(COPY, (1,), (56,), (y, made())).hazards] == ["uninitialised read"]


def test_a_kernel_may_write_it_first() -> None:
    fill = cp.RawKernel('extern "C" __global__ void fill(float *x) { x[threadIdx.x] = 1; }', "fill")
    x, y = cp.empty(64, cp.float32), cp.zeros(64, cp.float32)
    fill((1,), (64,), (x,))
    assert not profile(COPY, (1,), (64,), (y, x)).hazards


def test_narrow_and_wide_reads_of_unwritten_words() -> None:
    fresh = np.empty(256, np.uint8)
    make_undefined(fresh)
    byte = kernel("out[threadIdx.x] = x[threadIdx.x];", "int *out, const unsigned char *x")
    wide = kernel("out[threadIdx.x] = x[threadIdx.x].w;", "int *out, const int4 *x")
    out = np.zeros(16, np.int32)
    assert [h.occurrences for h in profile(byte, (1,), (16,), (out, fresh)).hazards] == [16]
    fresh.view(np.int32)[:32] = 0
    assert not profile(byte, (1,), (16,), (out, fresh)).hazards
    (hazard,) = profile(wide, (1,), (16,), (out, fresh.view(np.int32))).hazards
    assert (hazard.thread, hazard.occurrences) == ((8, 0, 0), 8)


def test_the_pattern_in_other_memory_is_a_number_like_any_other() -> None:
    x, y = np.full(64, 0x7FFF7FFF, np.int32).view(np.float32), np.zeros(64, np.float32)
    assert not profile(COPY, (1,), (64,), (y, x)).hazards
