"""Barriers that reduce, that only some threads join, and that threads join without waiting."""

import numpy as np
import pytest

from course_lib.emulator.errors import DeadlockError

from .cuda import run

BLOCK = 96
THREADS = np.arange(BLOCK)


def ints(count: int = BLOCK) -> np.ndarray:
    return np.zeros(count, np.int32)


@pytest.mark.parametrize(
    ("call", "reduce"),
    [("__syncthreads_count", np.sum), ("__syncthreads_and", np.all), ("__syncthreads_or", np.any)],
)
@pytest.mark.parametrize("predicate", ["t % 5 == 0", "t < 200", "t == 77", "t > 500"])
def test_reductions(call: str, reduce: object, predicate: str) -> None:
    body = (
        f"int t = threadIdx.x + blockIdx.x; out[blockIdx.x * blockDim.x + threadIdx.x] = {call}({predicate});"
    )
    out = run(body, ints(3 * BLOCK), grid=3, block=BLOCK).reshape(3, BLOCK)
    for block, row in enumerate(out):
        assert set(row.tolist()) == {int(reduce(eval(predicate, {"t": THREADS + block})))}


def test_reductions_one_after_the_other() -> None:
    """A fast warp votes for the next reduction while others have not read the last."""
    body = """
      int t = threadIdx.x, sum = 0;
      for (int k = 1; k < 9; ++k) {
        if ((t >> 5) == k % 3) sum += t & 1;
        sum += k * __syncthreads_count(t % k == 0); }
      out[t] = sum;"""
    counted = sum(k * int((THREADS % k == 0).sum()) for k in range(1, 9))
    rounds = np.array([sum(k % 3 == warp for k in range(1, 9)) for warp in range(3)])
    np.testing.assert_array_equal(
        run(body, ints(), block=BLOCK), counted + rounds[THREADS // 32] * (THREADS & 1)
    )


def test_threads_that_exited_do_not_vote() -> None:
    body = """
      int t = threadIdx.x; if (t >= 64) return;
      out[t] = __syncthreads_and(t < 64) + 10 * __syncthreads_count(1);"""
    assert run(body, ints(64), block=BLOCK).tolist() == [641] * 64


def test_named_barriers_order_pairs_of_warps() -> None:
    body = """
      __shared__ int s[128]; int t = threadIdx.x, half = t / 64, i = t % 64;
      for (int k = 0; k < 5; ++k) {
        s[t] = 1000 * k + t;
        asm volatile("bar.sync %0, 64;" :: "r"(half + 1) : "memory");
        int v = s[half * 64 + (i + 32) % 64];
        asm volatile("bar.sync %0, 64;" :: "r"(half + 1) : "memory");
        out[t] += v;
      }"""
    t = np.arange(128)
    wanted = 10_000 + 5 * (t // 64 * 64 + (t % 64 + 32) % 64)
    np.testing.assert_array_equal(run(body, ints(128), block=128), wanted)


def test_producers_arrive_and_consumers_wait() -> None:
    """Warp 0 fills a buffer, warps 1 and 2 use it; barrier 1 is "full", barrier 2 "empty"."""
    body = """
      __shared__ int s[32]; int t = threadIdx.x;
      if (t < 32) {
        for (int k = 0; k < 6; ++k) {
          if (k > 0) asm volatile("bar.sync 2, 96;" ::: "memory");
          s[t] = 100 * k + t;
          asm volatile("bar.arrive 1, 96;" ::: "memory");
        }
      } else {
        int sum = 0;
        for (int k = 0; k < 6; ++k) {
          asm volatile("bar.sync 1, 96;" ::: "memory");
          sum += s[(t + k) % 32];
          if (k < 5) asm volatile("bar.arrive 2, 96;" ::: "memory");
        }
        out[t] = sum;
      }"""
    wanted = [0 if t < 32 else sum(100 * k + (t + k) % 32 for k in range(6)) for t in range(96)]
    assert run(body, ints(), block=96).tolist() == wanted


@pytest.mark.parametrize(
    "form",
    ["bar.sync 0;", "barrier.sync 0;", "barrier.sync.aligned 0;", "bar.cta.sync 0;", "barrier.cta.sync 0;",
     "bar.sync 0, 96;", "bar.sync 15;"],
)  # fmt: skip
def test_spellings(form: str) -> None:
    body = f"""
      __shared__ int s[96]; int t = threadIdx.x;
      s[t] = t; asm volatile("{form}" ::: "memory"); out[t] = s[95 - t];"""
    np.testing.assert_array_equal(run(body, ints(), block=BLOCK), 95 - THREADS)


@pytest.mark.parametrize(
    "form",
    ["bar.red.popc.u32 %0, 3, p;", "barrier.red.popc.u32 %0, 3, p;",
     "barrier.cta.red.popc.aligned.u32 %0, 3, 96, p;"],
)  # fmt: skip
def test_spellings_of_reductions(form: str) -> None:
    body = f"""
      int r, t = threadIdx.x;
      asm volatile("{{ .reg .pred p; setp.lt.s32 p, %1, 10; {form} }}" : "=r"(r) : "r"(t));
      out[t] = r;"""
    assert run(body, ints(), block=BLOCK).tolist() == [10] * BLOCK


def test_a_negated_predicate_and_a_predicated_barrier() -> None:
    body = """
      int r, t = threadIdx.x;
      asm volatile("{ .reg .pred p, q; setp.lt.s32 p, %1, 10; bar.red.popc.u32 %0, 0, !p; "
                   "setp.ge.s32 q, %1, 0; @q bar.sync 0; @!q bar.sync 1; }" : "=r"(r) : "r"(t));
      out[t] = r;"""
    assert run(body, ints(), block=BLOCK).tolist() == [86] * BLOCK


def test_a_barrier_number_for_each_warp() -> None:
    body = """
      __shared__ int s[96]; int t = threadIdx.x, w = t / 32;
      s[t] = t * t;
      asm volatile("barrier.sync %0, %1;" :: "r"(w + 4), "r"(32) : "memory");
      out[t] = s[w * 32 + 31 - t % 32];"""
    partner = THREADS // 32 * 32 + 31 - THREADS % 32
    np.testing.assert_array_equal(run(body, ints(), block=BLOCK), partner * partner)


def test_too_few_threads_for_a_named_barrier() -> None:
    with pytest.raises(DeadlockError, match="Barrier 1 needs 96 threads"):
        run('if (threadIdx.x < 64) asm volatile("bar.sync 1, 96;"); else asm volatile("bar.sync 2, 64;");',
            ints(), block=BLOCK)  # fmt: skip


def test_half_a_warp_at_syncwarp() -> None:
    body = """
      __shared__ int s[32]; int t = threadIdx.x;
      if (t < 16) { s[t] = t; __syncwarp(0xffff); out[t] = s[15 - t]; }
      else { s[t] = -t; __syncwarp(0xffff0000); out[t] = s[47 - t]; }"""
    t = np.arange(32)
    np.testing.assert_array_equal(run(body, ints(32)), np.where(t < 16, 15 - t, -(47 - t)))
