"""Shuffles, votes, matches and reductions of a warp through CUDA C, also in divergent code."""

import numpy as np
import pytest

from course_lib.emulator.errors import EmulatorError
from course_lib.profile import profile

from .cuda import kernel, run

LANES = np.arange(32)
TYPES = {
    "int": np.int32, "unsigned": np.uint32, "long long": np.int64, "unsigned long long": np.uint64,
    "float": np.float32, "double": np.float64, "__half": np.float16,
}  # fmt: skip
FULL = "0xffffffffu"


def source_lane(mode: str, lane: int, operand: int, width: int) -> int:
    """The lane `__shfl_*_sync` reads (CUDA C++ Programming Guide, "Warp Shuffle Functions")."""
    first = lane // width * width
    inside = lane - first
    if mode == "":
        return first + operand % width
    if mode == "_up":
        return lane if inside < operand else lane - operand
    if mode == "_down":
        return lane if inside + operand >= width else lane + operand
    # _xor may read lower groups, not higher ones
    return lane if lane ^ operand >= first + width else lane ^ operand


@pytest.mark.parametrize("mode", ["", "_up", "_down", "_xor"])
@pytest.mark.parametrize("width", [32, 16, 8, 4, 2, 1])
def test_shuffles_of_every_width(mode: str, width: int) -> None:
    body = f"""
      int i = threadIdx.x;
      for (int k = 0; k < 33; ++k) out[33 * i + k] = __shfl{mode}_sync({FULL}, 1000 + i, k, {width});"""
    out = run(body, np.zeros(32 * 33, np.int32)).reshape(32, 33)
    operands = range(32) if mode in ("_up", "_down", "_xor") else range(33)
    for k in operands:  # 32 and more are cut to 5 bits, except for idx, where they wrap anyway
        wanted = [1000 + source_lane(mode, lane, k, width) for lane in LANES]
        assert out[:, k].tolist() == wanted, k


@pytest.mark.parametrize("kind", TYPES)
def test_shuffles_of_every_type(kind: str) -> None:
    values = (np.random.default_rng(1).standard_normal(32) * 1e5 % 6e4).astype(TYPES[kind])
    body = f"""
      int i = threadIdx.x; {kind} v = in[i];
      out[i] = __shfl_sync({FULL}, v, i ^ 5); out[32 + i] = __shfl_up_sync({FULL}, v, 3);
      out[64 + i] = __shfl_down_sync({FULL}, v, 7, 16); out[96 + i] = __shfl_xor_sync({FULL}, v, 16);"""
    out = run(body, np.zeros(128, TYPES[kind]), values, parameters=f"{kind} *out, const {kind} *in",
              before="#include <cuda_fp16.h>")  # fmt: skip
    for k, (mode, operand, width) in enumerate(
        [("x", 0, 0), ("_up", 3, 32), ("_down", 7, 16), ("_xor", 16, 32)]
    ):
        lanes = [lane ^ 5 if mode == "x" else source_lane(mode, lane, operand, width) for lane in LANES]
        np.testing.assert_array_equal(out[32 * k : 32 * k + 32], values[lanes])


def test_a_reduction_over_several_warps_and_a_ragged_block() -> None:
    body = f"""
      int i = threadIdx.x; float v = i;
      for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync({FULL}, v, d);
      if (i % 32 == 0) out[i / 32] = v;"""
    assert run(body, np.zeros(3, np.float32), parameters="float *out", block=96).tolist() == [496, 1520, 2544]


def test_divergent_halves_shuffle_among_themselves() -> None:
    body = """
      int i = threadIdx.x, v;
      if (i % 2) v = __shfl_xor_sync(0xaaaaaaaau, 10 * i, 2); else v = __shfl_xor_sync(0x55555555u, -i, 4);
      out[i] = v;"""
    out = run(body, np.zeros(64, np.int32), block=64)
    i = np.arange(64)
    np.testing.assert_array_equal(out, np.where(i % 2, 10 * (i ^ 2), -(i ^ 4)))


def test_lanes_wait_for_the_members_of_their_mask() -> None:
    """The two halves come to one shuffle by different paths, with different trip counts."""
    body = f"""
      int i = threadIdx.x, v = 0;
      if (i < 16) {{ for (int k = 0; k < i; ++k) v += k; }} else {{ v = -i; }}
      out[i] = __shfl_xor_sync({FULL}, v, 16);"""
    out = run(body, np.zeros(32, np.int32))
    assert out.tolist() == [-(i + 16) if i < 16 else (i - 16) * (i - 17) // 2 for i in range(32)]


# -- votes, matches, reductions ----------------------------------------------------


def test_votes() -> None:
    body = f"""
      int i = threadIdx.x, *o = out + 8 * i;
      o[0] = __ballot_sync({FULL}, i % 3 == 0); o[1] = __all_sync({FULL}, i < 40);
      o[2] = __any_sync({FULL}, i == 70); o[3] = __uni_sync({FULL}, i < 64); o[4] = __activemask();
      if (i % 4 == 1) {{ o[5] = __ballot_sync(0x22222222u, i % 3 == 0); o[6] = __all_sync(0x22222222u, i % 4);
                         o[7] = __activemask(); }}"""
    out = run(body, np.zeros((64, 8), np.int32).ravel(), block=64).reshape(64, 8).astype(np.uint32)
    for i, row in enumerate(out.tolist()):
        warp = range(i // 32 * 32, i // 32 * 32 + 32)
        ballot = sum(1 << t % 32 for t in warp if t % 3 == 0)
        wanted = [ballot, int(all(t < 40 for t in warp)), 0, 1, 2**32 - 1]
        if i % 4 == 1:
            wanted += [ballot & 0x22222222, 1, 0x22222222]
        assert row[: len(wanted)] == wanted


def test_activemask_and_lane_masks_in_divergent_code() -> None:
    """A warp-aggregated append: each path counts its own lanes."""
    body = """
      int i = threadIdx.x;
      if (i % 5 < 2) {
        unsigned active = __activemask(), below; asm("mov.u32 %0, %lanemask_lt;" : "=r"(below));
        int leader = __ffs(active) - 1, start = 0;
        if ((i & 31) == leader) start = atomicAdd(out, __popc(active));
        start = __shfl_sync(active, start, leader);
        out[1 + start + __popc(active & below)] = i;
      }"""
    out = run(body, np.zeros(65, np.int32), block=64)
    chosen = [i for i in range(64) if i % 5 < 2]
    assert out[0] == len(chosen)
    assert sorted(out[1 : len(chosen) + 1].tolist()) == chosen


@pytest.mark.parametrize(
    ("kind", "dtype"), [("int", np.int32), ("long long", np.int64), ("float", np.float32)]
)
def test_match(kind: str, dtype: type) -> None:
    body = f"""
      int i = threadIdx.x, agreed; {kind} v = in[i];
      out[i] = __match_any_sync({FULL}, v);
      out[32 + i] = __match_all_sync({FULL}, v, &agreed); out[64 + i] = agreed;
      out[96 + i] = __match_all_sync({FULL}, ({kind})5, &agreed); out[128 + i] = agreed;"""
    values = (LANES % 7).astype(dtype) * dtype(1000)
    out = run(body, np.zeros(160, np.uint32), values, parameters=f"unsigned *out, const {kind} *in").reshape(
        5, 32
    )
    assert out[0].tolist() == [sum(1 << int(k) for k in LANES if k % 7 == lane % 7) for lane in LANES]
    assert out[1:, 0].tolist() == [0, 0, 2**32 - 1, 1]


@pytest.mark.parametrize(
    ("name", "kind", "function"),
    [("add", "int", np.add), ("add", "unsigned", np.add), ("min", "int", np.minimum),
     ("max", "int", np.maximum),
     ("min", "unsigned", np.minimum), ("max", "unsigned", np.maximum), ("and", "unsigned", np.bitwise_and),
     ("or", "unsigned", np.bitwise_or), ("xor", "unsigned", np.bitwise_xor)],
)  # fmt: skip
def test_redux(name: str, kind: str, function: np.ufunc) -> None:
    values = np.random.default_rng(2).integers(0, 2**32, 64, dtype=np.uint32).view(TYPES[kind])
    body = f"""
      int i = threadIdx.x; {kind} v = in[i]; out[i] = __reduce_{name}_sync({FULL}, v);
      if (i % 2) out[64 + i] = __reduce_{name}_sync(0xaaaaaaaau, v);"""
    out = run(body, np.zeros(128, TYPES[kind]), values, parameters=f"{kind} *out, const {kind} *in", block=64)
    for warp in range(2):
        rows = values[32 * warp : 32 * warp + 32]
        with np.errstate(over="ignore"):
            assert set(out[32 * warp : 32 * warp + 32].tolist()) == {function.reduce(rows, dtype=rows.dtype)}
            odd = out[64 + 32 * warp : 96 + 32 * warp][1::2]
            assert set(odd.tolist()) == {function.reduce(rows[1::2], dtype=rows.dtype)}


def test_later_gpus_redux_is_refused() -> None:
    """`redux.sync` of floats needs sm_100: NVRTC for sm_90 refuses it first."""
    body = 'float v; asm("redux.sync.add.f32 %0, %0, 0xffffffff;" : "=f"(v)); out[0] = v;'
    with pytest.raises(EmulatorError, match="redux"):
        run(body, np.zeros(1, np.int32))


def test_elect() -> None:
    body = """
      unsigned leader; int is = 0, i = threadIdx.x;
      asm volatile("{ .reg .pred p; elect.sync %0|p, 0xffffffff; selp.s32 %1, 1, 0, p; }"
                   : "=r"(leader), "=r"(is));
      out[i] = leader + 100 * is;"""
    assert run(body, np.zeros(64, np.int32), block=64).tolist() == ([100] + [0] * 31) * 2


@pytest.mark.parametrize("unit", [f"__shfl_sync({FULL}, first, 0)", f"__reduce_max_sync({FULL}, first)"])
def test_lanes_that_are_long_in_atomics_are_waited_for(unit: str) -> None:
    """An atomic may be a spin, after which others go first: not those that wait for the very same lanes."""
    body = f"""
      int lane = threadIdx.x % 32;
      while (true) {{
          int first = 0;
          if (lane == 0) first = atomicAdd(out + 600, 1);
          first = {unit};
          if (first >= 600) return;
          if (first + lane < 600) {{
              int count = 0;
              for (int v = in[first + lane]; v > 0; --v) ++count;
              atomicAdd(out + first + lane, count);
          }}
      }}"""
    given = np.arange(600, dtype=np.int32) % 7
    out = np.zeros(601, np.int32)
    made = kernel(body, "int *out, const int *in")
    found = profile(made, (2,), (128,), (out, given))
    assert found.hazards == []
    made((2,), (128,), (out, given))
    assert out[:600].tolist() == (given * np.minimum(np.arange(600) + 1, 32)).tolist()
