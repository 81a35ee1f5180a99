"""Bad input, seeded: an error of ours or a defined result; never a crash, a hang or a silent wrong one."""

import random
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from course_lib.emulator import RawKernel, RawModule
from course_lib.emulator.errors import ArgumentError, CompileError, EmulatorError, LaunchError

from .cuda import kernel

SECONDS = 3.0  # for each of the random tests
LONGEST = 10.0  # a single case may take so long
SOURCE = """
template <class T> __device__ T twice(T x) { return x + x; }
extern "C" __global__ void k(int *out, const int *in, int n) {
  __shared__ int s[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x & 63;
  s[t] = i < n ? in[i] : 0;
  __syncthreads();
  for (int d = 1; d < 4; ++d) { if (t + d < 64 && i < n) out[i] += twice(s[t + d]); }
}
"""
TOKENS = [
    *"{}()[];,<>=+-*/%&|^!~?:.#\"'\\@", "int", "float", "if", "for", "while", "return", "template",
    "__shared__", "out", "in", "__syncthreads();", "/*", "//", "#if", "\n", "0", "1e999", "0x",
    "__global__", "asm(", "}}", "é", "\ud800", "\0",
]  # fmt: skip


def outcome(action: Callable[[], object]) -> str:
    """Name of the error of ours that stops it, or "ran". Fails at any other, or if it takes too long."""
    started = time.monotonic()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            action()
        return "ran"
    except EmulatorError as error:
        return type(error).__name__ if str(error) else "no message"
    finally:
        assert time.monotonic() - started < LONGEST


def until(seconds: float, most: int) -> Iterator[int]:
    """Numbers below `most`, until the time is over."""
    end = time.monotonic() + seconds
    for number in range(most):
        if time.monotonic() > end:
            return
        yield number


def damaged(text: str, rng: random.Random) -> str:
    """Cut off, delete, repeat or insert something at random."""
    a, b = sorted(rng.randrange(len(text)) for _ in range(2))
    b = min(b, a + 12)
    return rng.choice(
        [text[:a], text[:a] + text[b:], text[:b] + text[a:], text[:a] + rng.choice(TOKENS) + text[a:]]
    )


# -- source, options, names ----------------------------------------------------------


def test_broken_cuda() -> None:
    rng = random.Random(11)
    seen = set()
    for _ in until(SECONDS, 80):
        made = RawKernel(damaged(SOURCE, rng), "k")
        made.step_budget = 20_000
        seen.add(
            outcome(lambda made=made: made((2,), (64,), (np.zeros(128, np.int32),) * 2 + (np.int32(128),)))
        )
    assert "CompileError" in seen


@pytest.mark.parametrize("text", ["\0", "\ud800"])
def test_characters_the_compiler_cannot_take(text: str) -> None:
    with pytest.raises(CompileError, match="NUL or a lone surrogate"):
        RawKernel(f"{SOURCE}// {text} out", "k").compile()
    with pytest.raises(CompileError, match="NUL or a lone surrogate"):
        RawKernel(SOURCE, "k", (f"-DX={text}",)).compile()
    with pytest.raises(CompileError, match="NUL or a lone surrogate"):
        RawModule(code=SOURCE, name_expressions=[f"twice{text}"]).compile()


@pytest.mark.parametrize("option", [5, None, b"-G", ("-G",)])
def test_options_that_are_no_text(option: object) -> None:
    with pytest.raises(TypeError, match="options must be a tuple of str"):
        RawKernel(SOURCE, "k", (option,))
    with pytest.raises(TypeError, match="must be a str"):
        RawModule(code=SOURCE, name_expressions=[option]).compile()


# -- launches --------------------------------------------------------------------------

SIZES = [
    -1, 0, 1, 2, 31, 32, 33, 64, 65, 1024, 1025, 65535, 65536, 2**31, 2**63, 10**30, 1.0, 0.5, float("nan"),
    "1", None, True, np.int8(5), np.uint64(2**63), np.float32(2), np.array(3), np.array([3]), 1j, (1,),
]  # fmt: skip
COPY = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < 64) out[i] = i + 1;"


def test_grids_blocks_and_shared_memory() -> None:
    """What is launched gives the right answer."""
    rng, made = random.Random(5), kernel(COPY)
    seen = set()
    for _ in until(SECONDS, 400):
        grid, block = (
            tuple(rng.choice(SIZES) for _ in range(rng.choice((0, 1, 1, 1, 2, 3, 4)))) for _ in range(2)
        )
        grid, block = (rng.choice([size, size, size, size, list(size), None, 3]) for size in (grid, block))
        shared = rng.choice([0, 0, 0, 1, 48 << 10, -1, 1.5, None, 10**12])
        out = np.zeros(64, np.int32)
        plain = [isinstance(size, tuple) and len(size) == 1 for size in (grid, block)]
        if (
            isinstance(grid, tuple)
            and len(grid) > 1
            and np.prod([float(s) for s in grid if type(s) is int]) > 1e5
        ):
            continue  # a GPU would take it, and so does the emulator, for minutes
        what = outcome(lambda g=grid, b=block, o=out, s=shared: made(g, b, (o,), shared_mem=s))
        seen.add(what)
        assert what in ("ran", "LaunchError"), (grid, block, shared)
        if what == "ran" and all(plain):
            threads = max(1, int(grid[0])) * max(1, int(block[0]))
            np.testing.assert_array_equal(out, np.where(np.arange(64) < threads, np.arange(1, 65), 0))
    assert seen == {"ran", "LaunchError"}


def test_local_memory_beyond_the_gpu() -> None:
    made = kernel("int a[200000]; for (int i = 0; i < 9; ++i) a[i * out[0]] = i; out[1] = a[out[2]];")
    with pytest.raises(LaunchError, match=r"800000 bytes of local memory per thread.*512 KB"):
        made((1,), (1024,), (np.zeros(4, np.int32),))


def test_a_variable_larger_than_memory() -> None:
    made = kernel("big[threadIdx.x] = out[0];", before="__device__ double big[1LL << 40];")
    with pytest.raises(EmulatorError):
        made((1,), (32,), (np.zeros(4, np.int32),))


def test_a_large_variable_costs_only_what_is_used() -> None:
    made = kernel("big[1 << 26] = 3; out[0] = big[1 << 26] + big[5];", before="__device__ int big[1 << 27];")
    out, started = np.zeros(1, np.int32), time.monotonic()
    made((1,), (1,), (out,))
    assert out[0] == 3
    assert time.monotonic() - started < 5


# -- arguments -------------------------------------------------------------------------


def holes() -> np.ndarray:
    return np.ndarray((8,), np.int32, bytearray(1024), 0, (36,))


def frozen() -> np.ndarray:
    return np.frombuffer(bytes(256), np.int32)


ARGUMENTS: list[Callable[[], object]] = [
    lambda: np.zeros(64, np.int32), lambda: np.zeros(0, np.int32), lambda: np.array(5, np.int32),
    lambda: np.zeros(64, ">i4"), lambda: np.zeros(64, [("a", ">i4")]), lambda: np.zeros(64, [("a", "O")]),
    lambda: np.array([None] * 64), holes, frozen, lambda: np.zeros(128, np.int32)[::2],
    lambda: np.zeros((8, 8), np.int32).T, lambda: np.zeros(64, np.int32)[::-1],
    lambda: np.broadcast_to(np.int32(1), (2**40,)), lambda: np.zeros(257, np.uint8)[1:].view(np.int32),
    lambda: np.zeros(2**30, np.uint8), lambda: np.array(["abc"] * 64), lambda: np.zeros(64, "M8[s]"),
    lambda: np.zeros(32, "g"), lambda: np.array((None,), [("a", "O")])[()],
    lambda: np.array((3,), [("a", ">i4")])[()], lambda: np.void(b"abcd"), lambda: 7, lambda: -1,
    lambda: 2**64, lambda: 10**400, lambda: -(2**70), lambda: 2.5, lambda: float("nan"), lambda: 1j,
    lambda: True, lambda: None, lambda: "7", lambda: b"7", lambda: [1], lambda: object(), lambda: np.int32,
    lambda: ..., lambda: memoryview(bytes(8)), lambda: np.float16(3), lambda: np.datetime64("nat"),
    lambda: np.zeros(1, np.int32),
]  # fmt: skip


def test_arguments_of_every_kind() -> None:
    """What passes does what a bare pointer and raw bytes do."""
    body = "int i = threadIdx.x; if (i < 4) out[i] = (in ? in[i] : 0) + n;"
    rng, made = random.Random(9), kernel(body, "int *out, const int *in, int n")
    seen = set()
    for _ in until(SECONDS, 600):
        values = [rng.choice(ARGUMENTS)() for _ in range(rng.choice((3, 3, 3, 3, 3, 2, 4)))]
        if rng.random() < 0.7:
            values[0] = np.zeros(64, np.int32)
        what = outcome(lambda values=values: made((1,), (32,), tuple(values)))
        seen.add(what)
        assert what in ("ran", "ArgumentError", "MemoryAccessError"), values
        if what == "ran" and type(values[2]) is int and values[1] is None and type(values[0]) is np.ndarray:
            got = np.frombuffer(values[0].tobytes()[:16], np.int32) if values[0].flags.c_contiguous else None
            assert got is None or (got == np.int64(values[2] % 2**32).astype(np.int32)).all()
    assert seen == {"ran", "ArgumentError", "MemoryAccessError"}


@pytest.mark.parametrize(("value", "words"), [
    (holes, "memory has holes"), (lambda: np.zeros(4, [("a", ">i4")]), r"astype\(\[\('a', '<i4'\)\]\)"),
])  # fmt: skip
def test_arrays_that_no_pointer_can_stand_for(value: Callable, words: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ArgumentError, match=words):
            kernel(COPY)((1,), (4,), (value(),))


def test_addresses_of_python_objects_do_not_leak() -> None:
    with pytest.raises(ArgumentError, match="cannot take"):
        kernel("out[0] = (int)p;", "int *out, long long p")(
            (1,), (1,), (np.zeros(1, np.int32), np.array((None,), [("a", "O")])[()])
        )


# -- after an error ---------------------------------------------------------------------


def test_a_cell_run_again_after_each_kind_of_error() -> None:
    """The same kernel object works after every failure, and a failure does not depend on what went before."""
    rng, made = random.Random(2), kernel(COPY + " if (i == 0 && n) out[n] = 5;", "int *out, int n")
    bad = [
        ((1,), (2000,), (np.zeros(64, np.int32), np.int32(0))), ((1,), (64,), (np.zeros(64, np.int32),)),
        ((1,), (64,), (np.zeros(64, np.int32), np.int32(10**6))), ((1,), (64,), ("x", np.int32(1))),
    ]  # fmt: skip
    expected = ["LaunchError", "ArgumentError", "MemoryAccessError", "ArgumentError"]
    for _ in range(20):
        choice = rng.randrange(4)
        assert outcome(lambda call=bad[choice]: made(*call)) == expected[choice]
        out = np.zeros(64, np.int32)
        made((2,), (32,), (out, np.int32(0)))
        np.testing.assert_array_equal(out, np.arange(1, 65))


# -- sizes beyond an emulator's reach ----------------------------------------------------


@pytest.mark.parametrize("grid", [(2**31 - 1,), (2**31 - 1, 65535, 65535)])
@pytest.mark.parametrize("block", [1, 1024])
def test_the_largest_grids_are_stopped_in_little_time_and_memory(grid: tuple, block: int) -> None:
    made = kernel(COPY)
    tracemalloc.start()
    try:
        assert outcome(lambda: made(grid, (block,), (np.zeros(64, np.int32),))) == "LaunchError"
        assert tracemalloc.get_traced_memory()[1] < 100 << 20
    finally:
        tracemalloc.stop()
