"""Loads and stores of every space, width and hint; constants, static arrays, pointers, dynamic memory."""

import numpy as np
import pytest

from course_lib.emulator import RawModule
from course_lib.profile import profile

from .cuda import kernel, run

RNG = np.random.default_rng(3)


def ints(count: int = 32) -> np.ndarray:
    return np.zeros(count, np.int32)


# -- widths and signs --------------------------------------------------------------

KINDS = {
    "signed char": np.int8, "unsigned char": np.uint8, "short": np.int16, "unsigned short": np.uint16,
    "int": np.int32, "unsigned": np.uint32, "long long": np.int64, "unsigned long long": np.uint64,
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("space", ["global", "shared", "local", "const"])
def test_sign_extension_and_truncation(kind: str, space: str) -> None:
    dtype = KINDS[kind]
    info = np.iinfo(dtype)
    values = np.r_[info.min, info.max, 0, 1, RNG.integers(info.min, info.max, 28, dtype)].astype(dtype)
    bodies = {
        "global": "out[i] = in[i];",
        "shared": f"__shared__ {kind} s[32]; s[31 - i] = in[i]; __syncwarp(); out[i] = s[31 - i];",
        "local": f"{kind} l[32]; for (int k = 0; k < 32; ++k) l[k] = in[k]; out[i] = l[(i + n) % 32];",
        "const": "c[0] = 0;",
    }
    if space == "const":
        module = RawModule(
            code=f"""__constant__ {kind} c[32];
          extern "C" __global__ void k(long long *out) {{ out[threadIdx.x] = c[threadIdx.x]; }}"""
        )
        module.get_global("c").view(dtype)[:] = values
        out = np.zeros(32, np.int64)
        module.get_function("k")((1,), (32,), (out,))
    else:
        body = "int i = threadIdx.x; " + bodies[space]
        parameters = f"long long *out, const {kind} *in, int n"
        out = run(body, np.zeros(32, np.int64), values, np.int32(0), parameters=parameters)
    np.testing.assert_array_equal(out, values.astype(np.int64))


def test_narrow_stores_leave_their_neighbours() -> None:
    out = np.full(8, -1, np.int64)
    run("((char *)out)[9 * threadIdx.x] = 0; ((short *)out)[6 + 4 * threadIdx.x] = 0x1234;", out,
        parameters="long long *out", block=2)  # fmt: skip
    wanted = np.full(64, 0xFF, np.uint8)
    for t in range(2):
        wanted[9 * t] = 0
        wanted[12 + 8 * t : 14 + 8 * t] = 0x34, 0x12
    np.testing.assert_array_equal(out.view(np.uint8), wanted)


@pytest.mark.parametrize(
    "kind",
    [
        "char2",
        "uchar4",
        "short2",
        "ushort4",
        "int2",
        "uint4",
        "longlong2",
        "float4",
        "double2",
        "float3",
        "int3",
    ],
)
@pytest.mark.parametrize("space", ["global", "shared", "local"])
def test_vectors(kind: str, space: str) -> None:
    count = int(kind[-1])
    codes = {"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4"}
    dtype = (codes | {"longlong": "i8", "float": "f4", "double": "f8"})[kind[:-1]]
    values = RNG.integers(0, 127, (32, count)).astype(dtype)
    moved = {
        "global": f"{kind} v = in[i];",
        "shared": f"__shared__ {kind} s[32]; s[i ^ 1] = in[i ^ 1]; __syncwarp(); {kind} v = s[i];",
        "local": f"{kind} l[4]; for (int k = 0; k < 4; ++k) l[k] = in[(i + k + n) % 32]; {kind} v = l[n];",
    }[space]
    swapped = "auto t = v.x; v.x = v.y; v.y = t; out[i] = v;"
    out = run(f"int i = threadIdx.x; {moved} {swapped}", np.zeros_like(values), values, np.int32(0),
              parameters=f"{kind} *out, const {kind} *in, int n")  # fmt: skip
    order = [1, 0, *range(2, count)]
    np.testing.assert_array_equal(out, values[:, order])


# -- hints -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        "__ldg(in + i)",
        "__ldca(in + i)",
        "__ldcg(in + i)",
        "__ldcs(in + i)",
        "__ldlu(in + i)",
        "__ldcv(in + i)",
    ],
)
@pytest.mark.parametrize("kind", ["float", "double", "int4", "short", "unsigned char"])
def test_load_hints(call: str, kind: str) -> None:
    dtype = {"float": "f4", "double": "f8", "int4": "4i4", "short": "i2", "unsigned char": "u1"}[kind]
    values = RNG.integers(0, 99, (64,) if dtype[0] != "4" else (64, 4)).astype(np.dtype(dtype).base)
    out = run(f"int i = threadIdx.x; out[i] = {call};", np.zeros_like(values), values, block=64,
              parameters=f"{kind} *out, const {kind} *in")  # fmt: skip
    np.testing.assert_array_equal(out, values)


@pytest.mark.parametrize(
    "call", ["__stwb(out + i, i)", "__stcg(out + i, i)", "__stcs(out + i, i)", "__stwt(out + i, i)"]
)
def test_store_hints(call: str) -> None:
    np.testing.assert_array_equal(run(f"int i = threadIdx.x; {call};", ints()), np.arange(32))


@pytest.mark.parametrize(
    "form",
    ["ld.global.f32 %0, [%1];", "ld.global.ca.f32 %0, [%1];", "ld.global.nc.L1::no_allocate.f32 %0, [%1];",
     "ld.global.L1::evict_last.f32 %0, [%1];", "ld.global.nc.L2::128B.f32 %0, [%1];", "ld.f32 %0, [%1];",
     "ld.relaxed.gpu.global.f32 %0, [%1];", "ld.acquire.sys.global.f32 %0, [%1];",
     "ld.volatile.global.f32 %0, [%1];",
     "ld.weak.global.f32 %0, [%1];", "ldu.global.f32 %0, [%1];", "ld.global.b32 %0, [%1];",
     "{ .reg .b64 p; createpolicy.fractional.L2::evict_first.b64 p, 1.0; "
     "ld.global.L2::cache_hint.f32 %0, [%1], p; }",
     "prefetch.global.L1 [%1]; ld.global.f32 %0, [%1];", "prefetchu.L1 [%1]; ld.global.f32 %0, [%1];",
     "{ .reg .f32 t<4>; ld.global.v4.f32 {t0, t1, _, t3}, [%2]; mov.f32 %0, t1; ld.global.f32 %0, [%1]; }"],
)  # fmt: skip
def test_load_spellings(form: str) -> None:
    values = RNG.standard_normal(32).astype(np.float32)
    body = f"""int i = threadIdx.x; float v;
      asm volatile("{form}" : "=f"(v) : "l"(in + i), "l"(in + i / 4 * 4)); out[i] = v;"""
    out = run(body, np.zeros(32, np.float32), values, parameters="float *out, const float *in")
    np.testing.assert_array_equal(out, values)


@pytest.mark.parametrize(
    "form",
    ["st.global.u32 [%0], %1;", "st.u32 [%0], %1;", "st.global.wb.u32 [%0], %1;",
     "st.global.L1::no_allocate.u32 [%0], %1;",
     "st.release.gpu.global.u32 [%0], %1;", "st.relaxed.sys.u32 [%0], %1;", "st.volatile.u32 [%0], %1;",
     "st.weak.global.cs.b32 [%0], %1;", "st.global.v2.u16 [%0], {h, z};"],
)  # fmt: skip
def test_store_spellings(form: str) -> None:
    body = f"""asm volatile("{{ .reg .u16 h, z; cvt.u16.u32 h, %1; mov.u16 z, 0; {form} }}"
                    :: "l"(out + threadIdx.x), "r"(threadIdx.x * 3) : "memory");"""
    np.testing.assert_array_equal(run(body, ints()), 3 * np.arange(32))


@pytest.mark.parametrize("form", ["__threadfence()", "__threadfence_block()", "__threadfence_system()",
                                  'asm volatile("fence.acq_rel.gpu;")', 'asm volatile("fence.sc.cta;")',
                                  'asm volatile("membar.gl;")'])  # fmt: skip
def test_fences(form: str) -> None:
    assert run(f"out[threadIdx.x] = 1; {form}; out[threadIdx.x] += 1;", ints()).tolist() == [2] * 32


# -- constants and static arrays ---------------------------------------------------

MODULE = """
  __constant__ float weights[4] = {1.5f, -2.0f, 0.25f};
  __device__ int counter = 40;
  __device__ double table[2][3] = {{1, 2, 3}, {4, 5, 6}};
  __device__ const char text[] = "warp";
  __device__ int *pointer = &counter;
  __device__ const double *inner = &table[1][0];
  struct Node { int value; Node *next; };
  __device__ Node last = {3, nullptr}, middle = {2, &last}, first = {1, &middle};
  extern "C" __global__ void all(double *out) {
    int i = threadIdx.x;
    out[i] = weights[i % 4] + table[i % 2][i % 3] + text[i % 5] + *pointer;
    if (i == 0) {
      double sum = 0; for (Node *n = &first; n; n = n->next) sum = 10 * sum + n->value;
      out[32] = sum; out[33] = *inner; }
  }
  extern "C" __global__ void count() { atomicAdd(&counter, 1); }
  extern "C" __global__ void redirect(int k) { static int other[3] = {7, 8, 9}; pointer = other + k; }
"""


def test_initial_values_and_pointers_to_variables() -> None:
    out = np.zeros(34)
    RawModule(code=MODULE).get_function("all")((1,), (32,), (out,))
    i = np.arange(32)
    weights, table = np.array([1.5, -2, 0.25, 0]), np.arange(1.0, 7).reshape(2, 3)
    text = np.frombuffer(b"warp\0", np.uint8)
    np.testing.assert_array_equal(out[:32], weights[i % 4] + table[i % 2, i % 3] + text[i % 5] + 40)
    assert out[32:].tolist() == [123, 4]


def test_variables_keep_their_values_between_launches_of_any_kernel() -> None:
    module = RawModule(code=MODULE + "// a module of its own")
    module.get_function("count")((2,), (32,), ())
    assert module.get_global("counter").view(np.int32)[0] == 104
    module.get_global("weights").view(np.float32)[3] = 100
    module.get_global("table").view(np.float64)[0] = -1
    out = np.zeros(34)
    module.get_function("all")((1,), (32,), (out,))
    assert out[0] == 1.5 - 1 + ord("w") + 104
    assert out[3] == 100 + 4 + ord("p") + 104
    module.get_function("redirect")((1,), (1,), (np.int32(1),))
    module.get_function("all")((1,), (32,), (out,))
    assert out[0] == 1.5 - 1 + ord("w") + 8


def test_a_lookup_table_in_constant_memory_counts_no_global_access() -> None:
    before = "__constant__ float c[32] = {1, 2, 3};"
    made = kernel("out[threadIdx.x] = c[n * threadIdx.x];", "float *out, int n", before)
    counted = profile(made, (1,), (32,), (np.zeros(32, np.float32), np.int32(1)))
    assert counted["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"] == 0
    assert counted["l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"] == 1


def test_one_request_for_lanes_that_read_different_arrays() -> None:
    """As hardware counts: a request is a warp's instruction, whatever its lanes point to."""
    made = kernel("int i = threadIdx.x; const int *p = (i & 1) ? a : b; out[i] = p[i];",
                  "int *out, const int *a, const int *b")  # fmt: skip
    counted = profile(made, (2,), (64,), (ints(128), ints(128), ints(128)))
    assert counted["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"] == 4
    assert counted["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"] == 4 * 2 * 4


# -- shared memory -----------------------------------------------------------------


def test_static_and_dynamic_arrays_side_by_side() -> None:
    body = """
      __shared__ char a[3]; __shared__ double b[2]; extern __shared__ int c[]; extern __shared__ double d[];
      int i = threadIdx.x;
      if (i < 3) a[i] = i + 1; if (i < 2) b[i] = 0.5 + i; c[i] = 100 + i; __syncwarp();
      bool apart = (char *)c >= (char *)(b + 2) && (char *)c >= a + 3 && (char *)d == (char *)c;
      out[i] = a[i % 3] + b[i % 2] + c[31 - i] + (apart ? 0 : 1e6) + ((size_t)d % 8 ? 1e7 : 0);"""
    out = run(body, np.zeros(32), parameters="double *out", shared_mem=128)
    i = np.arange(32)
    np.testing.assert_array_equal(out, 1 + i % 3 + 0.5 + i % 2 + 131 - i)


def test_shared_memory_up_to_the_limit_of_the_gpu() -> None:
    """227 KB a block, in a grid of several blocks."""
    size = 227 * 1024
    made = kernel(
        """
      extern __shared__ int s[]; int i = threadIdx.x, n = 227 * 256;
      for (int k = i; k < n; k += blockDim.x) s[k] = k + blockIdx.x;
      __syncthreads();
      long long sum = 0; for (int k = i; k < n; k += blockDim.x) sum += s[n - 1 - k];
      atomicAdd((unsigned long long *)out + blockIdx.x, (unsigned long long)sum);""",
        "long long *out",
    )
    made.max_dynamic_shared_size_bytes = size
    out = np.zeros(6, np.int64)
    made((6,), (256,), (out,), shared_mem=size)
    n = size // 4
    assert out.tolist() == [n * (n - 1) // 2 + n * block for block in range(6)]


def test_dynamic_size_register() -> None:
    body = """
      unsigned d; asm("mov.u32 %0, %dynamic_smem_size;" : "=r"(d));
      extern __shared__ int s[]; s[0] = 1; out[0] = d;"""
    assert run(body, ints(), shared_mem=4096)[0] == 4096


def test_cvta_and_32_bit_shared_addresses() -> None:
    body = """
      __shared__ int s[64]; int i = threadIdx.x; s[i] = i; s[i + 32] = 2 * i; __syncwarp();
      unsigned at = (unsigned)__cvta_generic_to_shared(s); int v, w;
      asm volatile("ld.shared.s32 %0, [%2+128]; ld.shared::cta.s32 %1, [%2];"
                   : "=r"(v), "=r"(w) : "r"(at + 4 * (31 - i)));
      int *back = (int *)__cvta_shared_to_generic(at); out[i] = v + 1000 * w + 100000 * back[i];"""
    i = np.arange(32)
    np.testing.assert_array_equal(run(body, ints()), 2 * (31 - i) + 1000 * (31 - i) + 100000 * i)


# -- local memory ------------------------------------------------------------------


def test_arrays_indexed_at_run_time() -> None:
    body = """
      int i = threadIdx.x + blockIdx.x * 32; double a[7]; short b[5];
      for (int k = 0; k < 7; ++k) a[k] = k * i; for (int k = 0; k < 5; ++k) b[k] = i - k;
      a[i % 7] += 0.5; out[i] = a[(i * 3) % 7] + b[i % 5];"""
    out = run(body, np.zeros(96), parameters="double *out", grid=3)
    for i, value in enumerate(out):
        a = [k * i + (0.5 if k == i % 7 else 0) for k in range(7)]
        assert value == a[i * 3 % 7] + i - i % 5
