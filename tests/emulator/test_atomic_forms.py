"""Every atomic, on global and shared memory, against the same operation done thread after thread."""

import numpy as np
import pytest

from course_lib.emulator.errors import UnsupportedError

from .cuda import run

RNG = np.random.default_rng(11)
INTEGERS = {"int": np.int32, "unsigned": np.uint32, "long long": np.int64, "unsigned long long": np.uint64}


def both(
    kind: str, call: str, start: np.ndarray, values: np.ndarray, words: int, before: str = ""
) -> list[np.ndarray]:
    """The words after `call`, which changes `*p` with `v`, on global and on shared memory."""
    every = f"int i = threadIdx.x; {kind} v = in[i];"
    global_body = f"{every} {kind} *p = out + i % words; {call};"
    shared_body = f"""__shared__ {kind} s[96]; {every} if (i < words) s[i] = out[i]; __syncthreads();
      {kind} *p = s + i % words; {call}; __syncthreads(); if (i < words) out[i] = s[i];"""
    settings = {
        "parameters": f"{kind} *out, const {kind} *in, int words",
        "block": len(values),
        "before": before,
    }
    return [
        run(body, start.copy(), values, np.int32(words), **settings) for body in (global_body, shared_body)
    ]


def values_of(dtype: type, count: int = 96) -> np.ndarray:
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max, count, dtype, endpoint=True)


FOLDS = {
    "Add": lambda a, b: a + b, "Sub": lambda a, b: a - b, "Min": min, "Max": max,
    "And": lambda a, b: a & b, "Or": lambda a, b: a | b, "Xor": lambda a, b: a ^ b,
}  # fmt: skip


@pytest.mark.parametrize("words", [1, 5, 96])
@pytest.mark.parametrize("name", FOLDS)
@pytest.mark.parametrize("kind", INTEGERS)
def test_integer_operations(kind: str, name: str, words: int) -> None:
    dtype = INTEGERS[kind]
    if name == "Sub" and "long" in kind:
        pytest.skip("CUDA has no such atomic")
    start, values = values_of(dtype, words), values_of(dtype)
    call = f"atomic{name}(p, v)"
    if kind == "long long" and name == "Add":
        call = "atomicAdd((unsigned long long *)p, (unsigned long long)v)"
    wanted = [int(word) for word in start]
    for i, value in enumerate(values):
        wanted[i % words] = FOLDS[name](wanted[i % words], int(value))
    bits = 8 * start.itemsize
    wanted = np.array([value % 2**bits for value in wanted], f"u{start.itemsize}").view(dtype)
    for got in both(kind, call, start, values, words):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("limit", [0, 1, 6, 1000, 2**32 - 1])
@pytest.mark.parametrize("start", [0, 3, 5000])
def test_inc_and_dec(limit: int, start: int) -> None:
    """As the CUDA C++ Programming Guide defines them."""
    for name, step in (("Inc", lambda old: 0 if old >= limit else old + 1),
                       ("Dec", lambda old: limit if old == 0 or old > limit else old - 1)):  # fmt: skip
        wanted = start
        for _ in range(70):
            wanted = step(wanted)
        values = np.full(70, limit, np.uint32)
        for got in both("unsigned", f"atomic{name}(p, v)", np.array([start], np.uint32), values, 1):
            assert got[0] == wanted


def test_exchange_and_compare_and_swap_return_the_old_value() -> None:
    """Old values of all threads and the last word are the start and the new values, in some order."""
    body = "int i = threadIdx.x; out[1 + i] = atomicExch(out, 100 + i);"
    out = run(body, np.arange(1, dtype=np.int32).repeat(65), block=64)
    assert sorted(out.tolist()) == [0, *range(100, 164)]
    body = "int i = threadIdx.x; out[1 + i] = atomicCAS(out, i, i + 1);"
    out = run(body, np.zeros(65, np.int32), block=64)
    assert out[0] == 64  # each succeeds in the order of threads
    assert out[1:].tolist() == list(range(64))


def test_old_values_of_additions_are_a_running_sum() -> None:
    body = "int i = threadIdx.x; out[1 + i] = atomicAdd(out, i);"
    out = run(body, np.zeros(65, np.int32), block=64)
    assert out[1:].tolist() == np.r_[0, np.cumsum(np.arange(63))].tolist()


@pytest.mark.parametrize(("kind", "dtype"), [("float", np.float32), ("double", np.float64)])
@pytest.mark.parametrize("words", [1, 3, 96])
def test_float_additions_round_one_by_one(kind: str, dtype: type, words: int) -> None:
    values, start = RNG.standard_normal(96).astype(dtype), RNG.standard_normal(words).astype(dtype)
    wanted = start.copy()
    for i, value in enumerate(values):
        wanted[i % words] += value
    for got in both(kind, "atomicAdd(p, v)", start, values, words):
        np.testing.assert_array_equal(got, wanted)


def test_float_additions_of_infinity_and_nan() -> None:
    for values, wanted in (([np.inf, 1.0], np.inf), ([np.inf, -np.inf], np.nan), ([np.nan, 1.0], np.nan)):
        for got in both("float", "atomicAdd(p, v)", np.zeros(1, np.float32), np.array(values, np.float32), 1):
            np.testing.assert_array_equal(got, np.float32(wanted))


def test_subnormals_are_flushed_on_global_memory_only() -> None:
    """PTX ISA, red and atom: `.f32` flushes on global memory, supports subnormals on shared memory."""
    tiny = np.full(3, 1e-40, np.float32)
    on_global, on_shared = both("float", "atomicAdd(p, v)", np.zeros(1, np.float32), tiny, 1)
    assert on_global[0] == 0
    assert on_shared[0] == tiny.sum()


def test_half_additions() -> None:
    values = RNG.integers(-8, 9, 64).astype(np.float16)
    for got in both("__half", "atomicAdd(p, v)", np.ones(2, np.float16), values, 2, "#include <cuda_fp16.h>"):
        np.testing.assert_array_equal(got, 1 + values.reshape(-1, 2).sum(0))


def test_half2_additions() -> None:
    values = RNG.integers(-8, 9, (64, 2)).astype(np.float16)
    body = "int i = threadIdx.x; atomicAdd(out + (i & 1), in[i]);"
    out = np.zeros((2, 2), np.float16)
    parameters, before = "__half2 *out, const __half2 *in", "#include <cuda_fp16.h>"
    run(body, out, values, parameters=parameters, block=64, before=before)
    np.testing.assert_array_equal(out, values.reshape(-1, 2, 2).sum(0))


def test_bfloat16_additions() -> None:
    body = """
      int i = threadIdx.x; atomicAdd(out, __float2bfloat16(1.0f));
      atomicAdd((__nv_bfloat162 *)(out + 2), __floats2bfloat162_rn(i, 2.0f));"""
    out = run(
        body,
        np.zeros(4, np.uint16),
        parameters="__nv_bfloat16 *out",
        block=8,
        before="#include <cuda_bf16.h>",
    )
    as_float = (out.astype(np.uint32) << 16).view(np.float32)
    assert as_float.tolist() == [8, 0, 28, 16]


def test_vector_additions() -> None:
    """atomicAdd of float2 and float4 (compute capability 9.0): each element is atomic by itself."""
    body = """
      int i = threadIdx.x; atomicAdd(out, make_float4(1, i, 0.5f, -i));
      atomicAdd((float2 *)out + 2, make_float2(2, 3));"""
    out = run(body, np.zeros(8, np.float32), parameters="float4 *out", block=32)
    assert out.tolist() == [32, 496, 16, -496, 64, 96, 0, 0]


# -- loops of compare-and-swap -----------------------------------------------------

CAS_LOOPS = {
    "float": """unsigned *w = (unsigned *)p, old = *w, seen;
      do { seen = old; old = atomicCAS(w, seen, __float_as_uint(fmaxf(__uint_as_float(seen), v))); }
      while (old != seen)""",
    "double": """unsigned long long *w = (unsigned long long *)p, old = *w, seen;
      do { seen = old; old = atomicCAS(w, seen, __double_as_longlong(fmax(__longlong_as_double(seen), v))); }
      while (old != seen)""",
    "__half": """unsigned short *w = (unsigned short *)p, old = *w, seen;
      do { seen = old; old = atomicCAS(w, seen, __half_as_ushort(__hmax(__ushort_as_half(seen), v))); }
      while (old != seen)""",
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "dtype"), [("float", np.float32), ("double", np.float64), ("__half", np.float16)]
)
def test_maximum_by_compare_and_swap(kind: str, dtype: type) -> None:
    values = RNG.standard_normal(64).astype(dtype)
    for got in both(kind, CAS_LOOPS[kind], np.full(3, -9, dtype), values, 3, "#include <cuda_fp16.h>"):
        np.testing.assert_array_equal(got, [values[k::3].max() for k in range(3)])


def test_a_sum_by_compare_and_swap_across_blocks() -> None:
    body = """
      unsigned long long *w = (unsigned long long *)out, old = *w, seen;
      do { seen = old; old = atomicCAS(w, seen, __double_as_longlong(__longlong_as_double(seen) + 0.5)); }
      while (old != seen);"""
    assert run(body, np.zeros(1), parameters="double *out", grid=6, block=32)[0] == 96


# -- spellings ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "form",
    ["atom.add.u32 %0, [%1], 3;", "atom.global.add.u32 %0, [%1], 3;",
     "atom.relaxed.gpu.global.add.u32 %0, [%1], 3;",
     "atom.acq_rel.sys.global.add.u32 %0, [%1+0], 3;", "atom.release.cta.global.add.u32 %0, [%1], 3;",
     "red.global.add.u32 [%1], 3;", "red.relaxed.gpu.add.u32 [%1], 3;", "atom.global.add.u32 _, [%1], 3;"],
)  # fmt: skip
def test_scopes_and_orders(form: str) -> None:
    body = f'unsigned r = 0; asm volatile("{form}" : "+r"(r) : "l"(out) : "memory");'
    assert run(body, np.zeros(1, np.uint32), parameters="unsigned *out")[0] == 96


def test_scoped_functions() -> None:
    body = """
      int i = threadIdx.x; atomicAdd_block(out, 1); atomicAdd_system(out, 1); atomicMax_block(out + 1, i);
      if (atomicCAS_block(out + 2, 0, 5) == 0) out[3] = 1;"""
    assert run(body, np.zeros(4, np.int32)).tolist() == [64, 31, 5, 1]


def test_64_bit_compare_and_swap_on_shared_memory() -> None:
    body = """
      __shared__ unsigned long long s; if (threadIdx.x == 0) s = 1ull << 40; __syncthreads();
      unsigned long long old = atomicCAS(&s, (1ull << 40) + threadIdx.x, (1ull << 40) + threadIdx.x + 1);
      __syncthreads(); out[threadIdx.x] = old - (1ull << 40);
      if (threadIdx.x == 0) out[32] = s - (1ull << 40);"""
    out = run(body, np.zeros(33, np.uint64), parameters="unsigned long long *out")
    assert out.tolist() == list(range(33))


def test_128_bit_atomics_are_refused() -> None:
    body = """asm volatile("{ .reg .b128 a, b; mov.b128 a, {%0, %0}; atom.global.exch.b128 b, [%0], a; }"
                           :: "l"(out));"""
    with pytest.raises(UnsupportedError, match="b128"):
        run(body, np.zeros(4, np.uint64), parameters="unsigned long long *out")
