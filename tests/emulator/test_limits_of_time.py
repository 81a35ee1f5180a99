"""Kernels that never end are stopped; kernels that wait for other threads make progress."""

import _thread
import signal
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

from course_lib.emulator import RawKernel
from course_lib.emulator.errors import DeadlockError, LaunchError, StepBudgetError

from .cuda import kernel, launched, run

ENDLESS = "\n volatile int *v = out;\n while (v[0] == 0) { }\n out[1] = 5;"


def ints(count: int = 64) -> np.ndarray:
    return np.zeros(count, np.int32)


# -- stopping ----------------------------------------------------------------------


def test_the_step_budget_stops_an_endless_loop() -> None:
    made = kernel(ENDLESS)
    with pytest.raises(StepBudgetError, match=r"k: stopped after 20,000 steps near line [34]; .*never ends"):
        launched(made, 1, 32, (ints(),), step_budget=20_000)


def test_a_loop_that_only_some_threads_never_leave() -> None:
    made = kernel(
        "volatile int *v = out; if (threadIdx.x == 3) while (v[1] == 0) { } out[threadIdx.x + 2] = 1;"
    )
    with pytest.raises(StepBudgetError):
        launched(made, 2, 32, (ints(),), step_budget=20_000)


def test_after_a_stop_the_kernel_works() -> None:
    made = kernel(ENDLESS)
    with pytest.raises(StepBudgetError):
        launched(made, 1, 32, (ints(),), step_budget=5_000)
    out = ints()
    out[0] = 1
    launched(made, 1, 32, (out,), step_budget=5_000)
    assert out[1] == 5


def interrupted_after(seconds: float, action: Callable[[], None]) -> float:
    """Interrupt the main thread, as the notebook's stop button does; returns how long it took to stop."""
    started = time.perf_counter()
    timer = threading.Timer(seconds, _thread.interrupt_main)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            action()
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)
    return time.perf_counter() - started - seconds


def test_an_interrupt_stops_a_kernel_at_once_and_leaves_everything_usable() -> None:
    made = kernel(ENDLESS)
    out = ints()
    assert interrupted_after(0.3, lambda: made((1,), (32,), (out,))) < 2
    out[0] = 1
    made((1,), (32,), (out,))
    assert out[1] == 5
    assert run("out[threadIdx.x] = threadIdx.x;", ints(32)).sum() == 496


def test_an_interrupt_between_lanes_that_print(capsys: pytest.CaptureFixture) -> None:
    made = kernel('volatile int *v = out; while (v[0] == 0) if (v[1] == 1) printf("never"); printf("done");')
    out = ints()
    interrupted_after(0.2, lambda: made((1,), (1,), (out,)))
    out[0] = 1
    made((1,), (1,), (out,))
    assert capsys.readouterr().out == "done"


def test_a_long_but_finite_loop_is_not_stopped() -> None:
    out = run("int v = 0; for (int i = 0; i < n; ++i) v = v * 3 + (v >> 7); out[threadIdx.x] = v + 1;",
              ints(32), np.int32(20_000), parameters="int *out, int n")  # fmt: skip
    assert (out == 1).all()


# -- waiting for others ------------------------------------------------------------

LOCK = """
  while (atomicCAS(lock, 0, 1) != 0) { }
  __threadfence();
  volatile int *p = out; int old = p[0]; p[0] = old + 1;
  __threadfence();
  atomicExch(lock, 0);"""


@pytest.mark.parametrize(("grid", "block"), [(1, 32), (1, 96), (40, 1), (6, 33)])
def test_a_spin_lock_within_a_warp_a_block_and_a_grid(grid: int, block: int) -> None:
    out = run(LOCK, ints(1), ints(1), parameters="int *out, int *lock", grid=grid, block=block)
    assert out[0] == grid * block


def test_a_lock_taken_in_the_loop_body() -> None:
    """The form of textbooks: leave the loop through a flag after the critical section."""
    body = """
      bool done = false;
      while (!done) { if (atomicExch(lock, 1) == 0) { volatile int *p = out; p[0] = p[0] + 1; __threadfence();
        atomicExch(lock, 0); done = true; } }"""
    assert run(body, ints(1), ints(1), parameters="int *out, int *lock", block=32)[0] == 32


def test_a_producer_and_a_consumer_in_one_warp() -> None:
    body = """
      volatile int *v = out;
      if (threadIdx.x == 0) { while (v[0] == 0) { } v[1] = v[0] + 1; }
      else if (threadIdx.x == 31) { v[0] = 41; }"""
    assert run(body, ints())[1] == 42


def test_blocks_that_wait_for_later_blocks_of_other_chunks() -> None:
    """Block 0 waits for the last of 200 blocks of 512 threads: more lanes than run together."""
    body = """
      volatile int *v = out;
      if (blockIdx.x == 0 && threadIdx.x == 0) { while (v[1] == 0) { } v[2] = 7; }
      if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0) v[1] = 1;"""
    assert run(body, ints(), grid=200, block=512)[2] == 7


def test_a_chain_through_all_blocks() -> None:
    """Decoupled look-back: block i waits for block i - 1, in any order of blocks."""
    made = kernel("""
      volatile int *v = out; int b = blockIdx.x;
      if (threadIdx.x == 0) {
        int before = 0;
        if (b > 0) while ((before = v[b - 1]) == 0) __nanosleep(100);
        v[b] = before + b + 1; }""")
    for seed in (None, 1, 2):
        out = ints(100)
        launched(made, 100, 512, (out,), seed=seed)
        np.testing.assert_array_equal(out, np.cumsum(np.arange(1, 101)))


def test_a_chain_of_warps_each_of_which_waits_for_the_next() -> None:
    """Three fragments of a block spin; only the fourth can end that."""
    body = """
      volatile int *v = out; int w = threadIdx.x / 32;
      if (threadIdx.x % 32) return;
      if (w == 0) { while (v[0] == 0) { } v[4] = 1; }
      if (w == 1) { while (v[1] == 0) { } v[5] = 1; v[0] = 1; }
      if (w == 2) { while (v[2] == 0) { } v[6] = 1; v[1] = 1; }
      if (w == 3) { v[7] = 1; v[2] = 1; }"""
    assert run(body, ints(8), block=128).tolist() == [1, 1, 1, 0, 1, 1, 1, 1]


def test_two_loops_in_each_block_wait_for_a_block_of_another_chunk() -> None:
    body = """
      volatile int *v = out; int last = gridDim.x - 1, b = blockIdx.x;
      if (b == last) { if (threadIdx.x == 0) { v[0] = 1; v[1] = 1; } return; }
      if (threadIdx.x == 0) { while (v[0] == 0) { } v[2 + 2 * b] = 1; }
      else if (threadIdx.x == 32) { while (v[1] == 0) { __threadfence(); } v[3 + 2 * b] = 1; }"""
    assert run(body, ints(2 * 600), grid=600, block=64).all()


def test_spinning_threads_let_the_rest_of_their_block_reach_a_barrier() -> None:
    body = """
      volatile int *v = out;
      if (threadIdx.x < 32) { while (v[0] == 0) { } }
      else if (threadIdx.x == 40) { v[0] = 1; }
      __syncthreads();
      out[1 + threadIdx.x] = 1;"""
    assert run(body, ints(65), block=64).all()


def test_last_block_done() -> None:
    """threadFenceReduction: the last block to arrive adds up what the others wrote."""
    body = """
      __shared__ bool last; int i = threadIdx.x;
      if (i == 0) {
        part[blockIdx.x] = blockIdx.x + 1; __threadfence();
        last = atomicInc((unsigned *)count, gridDim.x - 1) == gridDim.x - 1; }
      __syncthreads();
      if (last && i == 0) {
        int s = 0; for (int b = 0; b < gridDim.x; ++b) s += ((volatile int *)part)[b];
        out[0] = s; }"""
    arrays = ints(1), ints(150), ints(1)
    assert (
        run(body, *arrays, parameters="int *out, int *part, int *count", grid=150, block=256)[0]
        == 150 * 151 // 2
    )
    assert arrays[2][0] == 0


def test_deadlock_is_told() -> None:
    with pytest.raises(DeadlockError, match="stuck"):
        run('if (threadIdx.x < 32) asm volatile("bar.sync 1, 64;"); else asm volatile("bar.sync 2, 64;");',
            ints(), block=64)  # fmt: skip


def test_a_clock_that_moves_on() -> None:
    """`clock64` counts executed steps: deterministic, increasing, and enough for a delay loop."""
    body = """
      long long t0 = clock64(); int n = 0; while (clock64() - t0 < 10000) ++n;
      unsigned a = clock(), b = clock(), smid; unsigned long long g;
      asm volatile("mov.u64 %0, %globaltimer;" : "=l"(g));
      asm("mov.u32 %0, %smid;" : "=r"(smid));
      out[0] = n > 0; out[1] = b > a; out[2] = g > t0; out[3] = smid; out[4] = n;"""
    first, again = run(body, ints()), run(body, ints())
    assert first[:4].tolist() == [1, 1, 1, 0]
    assert set(kernel(body).program.stand_ins) == {"%clock64", "%globaltimer", "%smid"}
    np.testing.assert_array_equal(first, again)


def test_a_wide_loop_is_charged_for_its_threads() -> None:
    """A step is an instruction for up to 2,048 threads; more steps can be asked for."""
    made = kernel(
        "for (int k = 0; k < n; ++k) out[blockIdx.x * 1024 + threadIdx.x] += k;", "volatile int *out, int n"
    )
    made.step_budget = 5_000
    made((1,), (1024,), (ints(1024), 200))
    with pytest.raises(StepBudgetError, match=r"5,000 steps .*raise kernel\.step_budget"):
        made((32,), (1024,), (ints(32 * 1024), 200))
    made.step_budget = 500_000
    made((32,), (1024,), (ints(32 * 1024), 200))


def test_many_blocks_and_long_honest_loops_are_no_endless_kernel() -> None:
    """One pass over 25.6 M elements, and a naive 512^3 product: right, and not stopped."""
    add = RawKernel(r"""extern "C" __global__ void add(float* y, const float* x, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += x[i]; }""", "add")
    x = np.ones(25_600_000, np.float32)
    y = x.copy()
    add((100_000,), (256,), (y, x, np.int32(x.size)))
    assert (y == 2).all()
    product = RawKernel(r"""extern "C" __global__ void product(float* c, const float* a,
            const float* b, int n) {
        int r = blockIdx.y * 16 + threadIdx.y, q = blockIdx.x * 16 + threadIdx.x; float s = 0;
        for (int k = 0; k < n; ++k) s += a[r * n + k] * b[k * n + q]; c[r * n + q] = s; }""", "product")
    a = np.arange(512 * 512, dtype=np.float32).reshape(512, 512) % 7
    c = np.zeros_like(a)
    product((32, 32), (16, 16), (c, a, a, np.int32(512)))
    np.testing.assert_array_equal(c, a.astype(np.float64) @ a)


def test_more_threads_than_the_emulator_takes_on() -> None:
    kernel = RawKernel('extern "C" __global__ void none() {}', "none")
    with pytest.raises(LaunchError, match="smaller size"):
        kernel((2**31 - 1,), (32,), ())
