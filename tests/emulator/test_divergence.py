"""Lanes that part and meet again keep their values."""

import numpy as np
import pytest

from course_lib.emulator.address import Address, AddressBase, lanes
from course_lib.emulator.divergence import join, split
from course_lib.emulator.fragment import Fragment
from course_lib.emulator.lanes import Geometry, LaneSet

from .cuda import kernel, launched, run

N = 256


def ints(count: int = N) -> np.ndarray:
    return np.zeros(count, np.int32)


def every_thread(function: object, count: int = N) -> list[int]:
    return [function(i) for i in range(count)]


# -- split and join on their own ---------------------------------------------------


def fragment(blocks: int, threads: int) -> Fragment:
    geometry = Geometry((blocks, 1, 1), (threads, 1, 1))
    lane_set = LaneSet(geometry, np.arange(blocks), np.arange(threads), True)
    scalar, column, row = np.uint32(7), np.arange(blocks)[:, None], np.arange(threads)[None]
    address = Address(
        AddressBase(np.arange(blocks * threads, dtype=np.uint64).reshape(blocks, threads)), 1000
    )
    return Fragment(None, lane_set, [scalar, column, row, column * row, address], 0)


def values_of(one: Fragment) -> list[np.ndarray]:
    return [np.broadcast_to(lanes(value), one.lanes.shape).ravel() for value in one.registers]


MASKS = {
    "threads": np.arange(40)[None] % 3 == 0,
    "blocks": np.arange(6)[:, None] > 2,
    "lanes": np.add.outer(np.arange(6), np.arange(40)) % 3 == 0,
}


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_split_and_join_restore_every_register(mask: np.ndarray) -> None:
    whole = fragment(6, 40)
    live = list(range(5))
    parts = [split(whole, which, 1, live, []) for which in (mask, ~mask)]
    everything = np.broadcast_to(mask, (6, 40)).ravel()
    for part, chosen in zip(parts, (everything, ~everything), strict=True):
        for mine, all_of_it in zip(values_of(part), values_of(whole), strict=True):
            np.testing.assert_array_equal(mine, all_of_it[chosen])
    joined = join(parts, live, [])
    assert joined.lanes is whole.lanes
    assert all(a is b for a, b in zip(joined.registers, whole.registers, strict=True))


def test_a_register_changed_in_one_part_only() -> None:
    whole = fragment(6, 40)
    yes, no = (split(whole, which, 1, list(range(5)), []) for which in (MASKS["lanes"], ~MASKS["lanes"]))
    yes.registers[0] = np.uint32(99)
    joined = join([no, yes], list(range(5)), [])
    np.testing.assert_array_equal(joined.registers[0], np.where(MASKS["lanes"], 99, 7))


def test_three_parts_that_do_not_make_a_whole() -> None:
    whole = fragment(2, 64)
    thread = np.arange(64)[None]
    parts = [split(whole, thread % 8 == k, 1, list(range(5)), []) for k in (1, 5, 6)]
    joined = join(parts, list(range(5)), [])
    chosen = np.broadcast_to(np.isin(thread % 8, (1, 5, 6)), (2, 64)).ravel()
    for mine, all_of_it in zip(values_of(joined), values_of(whole), strict=True):
        np.testing.assert_array_equal(mine, all_of_it[chosen])


def test_registers_that_are_not_live_are_dropped() -> None:
    part = split(fragment(2, 64), np.arange(64)[None] < 3, 1, [2], [])
    assert [value is None for value in part.registers] == [True, True, False, True, True]


# -- kernels -----------------------------------------------------------------------


def test_nested_branches() -> None:
    body = """
      int i = blockIdx.x * blockDim.x + threadIdx.x, v = 3 * i;
      if (i & 1) { if (i & 2) v += 10; else { if (i % 5 == 0) v = -v; v ^= 1; } }
      else if (i % 3 == 0) v *= 7;
      out[i] = v + i;"""

    def wanted(i: int) -> int:
        v = 3 * i
        if i & 1:
            if i & 2:
                v += 10
            else:
                v = (-v if i % 5 == 0 else v) ^ 1
        elif i % 3 == 0:
            v *= 7
        return v + i

    assert run(body, ints(), grid=4, block=64).tolist() == every_thread(wanted)


@pytest.mark.parametrize(
    "condition", ["threadIdx.x % 3 == 0", "blockIdx.x % 2 == 0", "(threadIdx.x + blockIdx.x) % 3 == 0"]
)
def test_branches_by_thread_by_block_and_by_both(condition: str) -> None:
    body = f"""
      int i = blockIdx.x * blockDim.x + threadIdx.x, v = i;
      if ({condition}) {{ out[i] = 1; v = i * i; }} else {{ v -= 5; out[i] = 2; }}
      out[i] += 10 * v;"""
    places = dict(zip(("block", "thread"), np.divmod(np.arange(N), 64), strict=True))
    chosen = eval(condition.replace("threadIdx.x", "thread").replace("blockIdx.x", "block"), places)
    i = np.arange(N)
    np.testing.assert_array_equal(
        run(body, ints(), grid=4, block=64), np.where(chosen, 1 + 10 * i * i, 2 + 10 * (i - 5))
    )


def test_a_trip_count_of_its_own_for_each_lane() -> None:
    body = """
      int i = threadIdx.x; unsigned n = 1 + i; int steps = 0;
      while (n != 1) { n = (n & 1) ? 3 * n + 1 : n / 2; ++steps; }
      out[i] = steps;"""

    def collatz(i: int) -> int:
        n, steps = 1 + i, 0
        while n != 1:
            n, steps = (3 * n + 1 if n & 1 else n // 2), steps + 1
        return steps

    assert run(body, ints(), block=N).tolist() == every_thread(collatz)


def test_break_continue_and_early_return() -> None:
    body = """
      int i = threadIdx.x, v = 0;
      if (i % 7 == 3) return;
      for (int j = 0; j < 20; ++j) {
        if ((i + j) % 4 == 0) continue;
        if (v > 3 * i) break;
        v += j;
        if (i % 11 == 5 && j == 6) { out[i] = -v; return; }
      }
      out[i] = v;"""

    def wanted(i: int) -> int:
        v = 0
        if i % 7 == 3:
            return 0
        for j in range(20):
            if (i + j) % 4 == 0:
                continue
            if v > 3 * i:
                break
            v += j
            if i % 11 == 5 and j == 6:
                return -v
        return v

    assert run(body, ints(), block=N).tolist() == every_thread(wanted)


def test_a_pointer_that_moves_differently_in_both_branches() -> None:
    body = """
      int i = threadIdx.x; const int *p = in + i;
      for (int j = 0; j < 6; ++j) { if ((i + j) & 1) p += 3; else p += i & 3; }
      out[i] = *p;"""
    data = np.random.default_rng(0).integers(0, 1000, 400).astype(np.int32)

    def wanted(i: int) -> int:
        at = i
        for j in range(6):
            at += 3 if (i + j) & 1 else i & 3
        return data[at]

    out = run(body, ints(), data, parameters="int *out, const int *in", block=N)
    assert out.tolist() == every_thread(wanted)


SWITCH = """
  int i = threadIdx.x, v = i;
  switch (i % 12) {{ {cases} default: v = -1; }}
  out[i] = v;"""


def test_switch_with_fall_through() -> None:
    cases = """case 0: v += 1; case 1: v += 2; break; case 2: v *= 3; break;
               case 5: case 6: v = 9; break; case 8: return;"""

    def wanted(i: int) -> int:
        return {0: i + 3, 1: i + 2, 2: 3 * i, 5: 9, 6: 9, 8: 0}.get(i % 12, -1)

    assert run(SWITCH.format(cases=cases), ints(), block=N).tolist() == every_thread(wanted)


def test_a_jump_table() -> None:
    body = """
      int i = threadIdx.x, v; asm volatile("{ .reg .u32 r; rem.u32 r, %1, 5; "
        "ts: .branchtargets A, B, C, A, D; brx.idx r, ts; "
        "A: mov.s32 %0, 10; bra End; B: mov.s32 %0, 20; bra End; "
        "C: mov.s32 %0, 30; D: add.s32 %0, %1, 40; End: }" : "=r"(v) : "r"(i));
      out[i] = v;"""

    def wanted(i: int) -> int:
        return [10, 20, i + 40, 10, i + 40][i % 5]

    assert run(body, ints(), block=N).tolist() == every_thread(wanted)


def test_goto_into_a_loop() -> None:
    """Irreducible control flow: there is no single entry to the loop."""
    body = """
      int i = threadIdx.x, v = 0, n = 0;
      if (i & 1) goto middle;
    top: v += 2;
    middle: v += 5; ++n;
      if (n < (i & 7)) goto top;
      out[i] = v;"""

    def wanted(i: int) -> int:
        trips = max(1, i & 7)
        return 5 * trips + 2 * (trips - (i & 1))

    assert run(body, ints(), block=N).tolist() == every_thread(wanted)


def test_predicated_instructions_of_every_kind() -> None:
    body = """
      int i = threadIdx.x, a = 5, b = 6; float f = 1.5f; long long w = 7; int l = 0, pq = 0, s = 0;
      __shared__ int sh[256]; sh[i] = 1000 + i; __syncthreads();
      unsigned at = (unsigned)__cvta_generic_to_shared(sh + i);
      asm volatile("{ .reg .pred p, q; .reg .s32 t; setp.lt.s32 p, %7, 96; "
        "@p add.s32 %0, %0, 10; @!p mov.u32 %1, 60; @p mul.f32 %2, %2, 0f40000000; @!p shl.b64 %3, %3, 4; "
        "@p ld.shared.s32 %4, [%8]; @!p st.shared.s32 [%8], -1; "
        "@p shfl.sync.idx.b32 %6, %7, 3, 0x1f, 0xffffffff; "
        "@p setp.gt.s32 p|q, %7, 50; selp.s32 %5, 1, 2, p; "
        "@!p selp.s32 t, 30, 40, p; @!p add.s32 %5, %5, t; }"
        : "+r"(a), "+r"(b), "+f"(f), "+l"(w), "+r"(l), "+r"(pq), "+r"(s) : "r"(i), "r"(at));
      __syncthreads();
      int *o = out + 8 * i;
      o[0] = a; o[1] = b; o[2] = 10 * f; o[3] = w; o[4] = l; o[5] = pq; o[6] = sh[i]; o[7] = s;"""
    out = run(body, ints(8 * N), block=N).reshape(N, 8)
    i = np.arange(N)
    p = i < 96  # whole warps: the shuffle names all lanes
    after = p & (i > 50)
    columns = [
        np.where(p, 15, 5), np.where(p, 6, 60), np.where(p, 30, 15), np.where(p, 7, 112),
        np.where(p, 1000 + i, 0), np.where(after, 1, 42), np.where(p, 1000 + i, -1),
        np.where(p, i // 32 * 32 + 3, 0),
    ]  # fmt: skip
    for k, wanted in enumerate(columns):
        np.testing.assert_array_equal(out[:, k], wanted, err_msg=str(k))


def test_barriers_in_a_loop_with_divergent_bodies() -> None:
    body = """
      __shared__ int s[256]; int i = threadIdx.x; s[i] = i; __syncthreads();
      for (int d = 1; d < 256; d *= 2) {
        int v = 0; if (i >= d) v = s[i - d];
        __syncthreads();
        if (v) s[i] += v;
        __syncthreads();
      }
      out[i] = s[i];"""
    np.testing.assert_array_equal(run(body, ints(), block=N), np.cumsum(np.arange(N)))


# -- order of blocks ----------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_blocks_changes_nothing(seed: int) -> None:
    made = kernel("""
      int i = blockIdx.x * blockDim.x + threadIdx.x, v = 0;
      for (int j = 0; j < (i * 7) % 13; ++j) v += (j & 1) ? i : blockIdx.x;
      out[i] = v; atomicAdd(out + gridDim.x * blockDim.x, v);""")
    first, again = ints(65 * 64 + 1), ints(65 * 64 + 1)
    launched(made, 65, 64, (first,))
    launched(made, 65, 64, (again,), seed=seed)
    np.testing.assert_array_equal(first, again)
    assert first[-1] == first[:-1].sum()
