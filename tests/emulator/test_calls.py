"""Device functions that are called: arguments, results, structures, recursion, the stack."""

import numpy as np
import pytest

from course_lib.emulator.errors import EmulatorError, UnsupportedError

from .cuda import kernel, launched, run

THREADS = np.arange(64)


def ints(count: int = 64) -> np.ndarray:
    return np.zeros(count, np.int32)


def test_a_function_called_in_different_branches() -> None:
    before = "__device__ __noinline__ int f(int a, int b) { return a * 10 + b; }"
    body = """
      int i = threadIdx.x, v;
      if (i % 3 == 0) v = f(i, 1); else if (i % 3 == 1) v = f(2, i) + 5; else v = 7;
      out[i] = v;"""
    out = run(body, ints(), block=64, before=before)
    np.testing.assert_array_equal(out, np.choose(THREADS % 3, [10 * THREADS + 1, 20 + THREADS + 5, 7]))


def test_a_function_that_diverges_and_returns_early() -> None:
    before = """__device__ __noinline__ int f(int n) {
      if (n < 10) return -n;
      for (int k = 0; k < 100; ++k) { if (n % 7 == 0) return k; n += 3; }
      return 0; }"""

    def wanted(n: int) -> int:
        if n < 10:
            return -n
        return next(k for k in range(100) if (n + 3 * k) % 7 == 0)

    out = run("int i = threadIdx.x; out[i] = 1000 * f(i) + f(i / 2);", ints(), block=64, before=before)
    assert out.tolist() == [1000 * wanted(i) + wanted(i // 2) for i in range(64)]


def test_narrow_and_wide_arguments() -> None:
    before = """__device__ __noinline__ double f(char a, unsigned char b, short c, bool d, long long e,
                                                 float g, double h) {
      return a + b + c + (d ? 1000 : 0) + (double)e + g * h; }"""
    body = "int i = threadIdx.x; out[i] = f(-i, 200 + i, -300 * i, i & 1, 1LL << 40, 0.5f * i, 0.25);"
    out = run(body, np.zeros(32), parameters="double *out", before=before)
    i = np.arange(32)
    np.testing.assert_array_equal(out, -i + 200 + i - 300 * i + 1000 * (i & 1) + 2.0**40 + 0.5 * i * 0.25)


STRUCTURE = "struct S { double d; int a[5]; char c; short h; };"


def test_structures_by_value_and_as_result() -> None:
    before = (
        STRUCTURE
        + """
      __device__ __noinline__ S f(S s, int k) {
        s.a[k % 5] += k; s.d *= 2; s.c = -s.c; s.h += s.a[2]; return s; }"""
    )
    body = """
      int i = threadIdx.x; S s; s.d = i; for (int k = 0; k < 5; ++k) s.a[k] = 10 * k; s.c = i; s.h = 3;
      S t = f(f(s, i), 2); double *o = out + 8 * i;
      o[0] = t.d; for (int k = 0; k < 5; ++k) o[1 + k] = t.a[k]; o[6] = t.c; o[7] = t.h;"""
    out = run(body, np.zeros(64 * 8), parameters="double *out", before=before, block=64).reshape(64, 8)
    for i, row in enumerate(out):
        a = [0, 10, 20, 30, 40]
        a[i % 5] += i
        h = 3 + a[2]
        a[2] += 2
        assert row.tolist() == [4 * i, *a, i, h + a[2]]


def test_a_structure_as_kernel_parameter() -> None:
    dtype = np.dtype([("d", "f8"), ("a", "i4", 5), ("c", "i1"), ("h", "i2")], align=True)
    value = np.zeros((), dtype)
    value["d"], value["a"], value["c"], value["h"] = 0.5, [1, -2, 3, -4, 5], -6, 700
    body = (
        "int i = threadIdx.x; out[i] = s.d + s.a[i % 5] + s.c + s.h;"  # an index the compiler does not know
    )
    out = run(body, np.zeros(64), value, parameters="double *out, S s", before=STRUCTURE, block=64)
    np.testing.assert_array_equal(out, 0.5 + np.array([1, -2, 3, -4, 5])[THREADS % 5] - 6 + 700)


def test_the_address_of_a_kernel_parameter() -> None:
    before = STRUCTURE + "__device__ __noinline__ int pick(const int *p, int k) { return p[k]; }"
    dtype = np.dtype([("d", "f8"), ("a", "i4", 5), ("c", "i1"), ("h", "i2")], align=True)
    value = np.zeros((), dtype)
    value["a"] = [11, 22, 33, 44, 55]
    for declared in ("S s", "const __grid_constant__ S s"):
        out = run("int i = threadIdx.x; out[i] = pick(s.a, i % 5);", ints(), value,
                  parameters=f"int *out, {declared}", before=before, block=64)  # fmt: skip
        np.testing.assert_array_equal(out, np.array([11, 22, 33, 44, 55])[THREADS % 5])


def test_pointers_into_shared_local_and_global_memory() -> None:
    before = "__device__ __noinline__ void add(int *p, int v) { *p += v; }"
    body = """
      __shared__ int s[64]; int l[4] = {1, 2, 3, 4}; int i = threadIdx.x;
      s[i] = i; add(&s[i], 5); add(&l[i & 3], 7); add(&out[i], s[i]); add(out + i, l[i & 3]);"""
    out = run(body, ints(), block=64, before=before)
    np.testing.assert_array_equal(out, THREADS + 5 + (THREADS & 3) + 1 + 7)


# -- the stack ---------------------------------------------------------------------


def test_recursion() -> None:
    before = "__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }"
    out = run("out[threadIdx.x] = fib(threadIdx.x % 12);", ints(), block=64, before=before)
    fib = [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89]
    assert out.tolist() == [fib[i % 12] for i in range(64)]


def test_recursion_with_an_array_in_each_frame() -> None:
    before = """__device__ __noinline__ int f(int n) {
      int t[8]; for (int k = 0; k < 8; ++k) t[k] = n * k;
      int below = n == 0 ? 0 : f(n - 1);
      int sum = below; for (int k = 0; k < 8; ++k) sum += t[(k + n) & 7]; return sum; }"""
    out = run("out[threadIdx.x] = f(threadIdx.x);", ints(), block=64, before=before)
    np.testing.assert_array_equal(out, [28 * n * (n + 1) // 2 for n in range(64)])


def test_functions_that_call_each_other() -> None:
    before = """__device__ bool odd(int n);
      __device__ __noinline__ bool even(int n) { return n == 0 ? true : odd(n - 1); }
      __device__ __noinline__ bool odd(int n) { return n == 0 ? false : even(n - 1); }"""
    out = run("out[threadIdx.x] = even(threadIdx.x) + 2 * odd(threadIdx.x);", ints(), block=64, before=before)
    np.testing.assert_array_equal(out, np.where(THREADS % 2 == 0, 1, 2))


def test_frames_below_each_other_do_not_overlap() -> None:
    before = """
      __device__ __noinline__ int inner(int *p, int n) {
        int t[4]; for (int k = 0; k < 4; ++k) t[k] = p[k] + n; return t[n & 3]; }
      __device__ __noinline__ int outer(int n) { int t[4]; for (int k = 0; k < 4; ++k) t[k] = 100 * k;
        int r = inner(t, n); return r + t[3 - (n & 3)]; }"""
    body = "int t[2] = {5, 6}; out[threadIdx.x] = outer(threadIdx.x) + t[threadIdx.x & 1];"
    out = run(body, ints(), block=64, before=before)
    np.testing.assert_array_equal(out, 300 + THREADS + 5 + (THREADS & 1))


def test_quicksort_on_local_arrays() -> None:
    before = """__device__ __noinline__ void sort(int *a, int low, int high) {
      if (low >= high) return;
      int pivot = a[(low + high) / 2], i = low, j = high;
      while (i <= j) { while (a[i] < pivot) ++i; while (a[j] > pivot) --j;
        if (i <= j) { int t = a[i]; a[i] = a[j]; a[j] = t; ++i; --j; } }
      sort(a, low, j); sort(a, i, high); }"""
    data = np.random.default_rng(5).integers(-99, 99, (64, 16)).astype(np.int32)
    body = """
      int l[16]; int *o = out + 16 * threadIdx.x;
      for (int k = 0; k < 16; ++k) l[k] = o[k];
      sort(l, 0, 15);
      for (int k = 0; k < 16; ++k) o[k] = l[k];"""
    np.testing.assert_array_equal(run(body, data.copy(), block=64, before=before), np.sort(data, 1))


@pytest.mark.parametrize("array", ["", "int t[16]; t[n & 15] = n; out[1] = t[(n + 1) & 15];"])
def test_endless_recursion_is_stopped(array: str) -> None:
    before = (
        f"__device__ __noinline__ int f(int n, int *out) {{ {array} return f(n + 1, out) + out[n & 1]; }}"
    )
    with pytest.raises(EmulatorError, match="recursion"):
        run("out[threadIdx.x] = f(threadIdx.x, out);", ints(), before=before)


# -- refused -----------------------------------------------------------------------


def test_function_pointers_are_refused_at_load() -> None:
    before = """__device__ __noinline__ int a(int x) { return x; }
      __device__ __noinline__ int b(int x) { return -x; }"""
    body = "\nint (*f)(int) = out[1] ? a : b;\nout[0] = f(3);"
    with pytest.raises(UnsupportedError, match=r"k, line 5: .*function pointer"):
        run(body, ints(), before=before)


def test_virtual_functions_are_refused_at_load() -> None:
    before = """struct A { __device__ virtual int f() { return 1; } };
      struct B : A { int v; __device__ int f() override { return v; } };
      __device__ __noinline__ int call(A *a) { return a->f(); }"""
    with pytest.raises(UnsupportedError, match=r"virtual"):
        run("A a; B b; b.v = 3; out[0] = call(out[0] ? &a : &b);", ints(), before=before)


@pytest.mark.parametrize(
    "body",
    [
        "int *p = (int *)malloc(8); p[0] = 1; out[0] = p[0]; free(p);",
        "int *p = new int[2]; p[out[0]] = 1; out[0] = p[1];",
    ],
)
def test_memory_allocated_by_a_kernel_is_refused(body: str) -> None:
    with pytest.raises(UnsupportedError, match="malloc"):
        run(body, ints())


# -- across calls ------------------------------------------------------------------


def test_barrier_inside_a_function() -> None:
    before = """__device__ __noinline__ int rotate(int *s, int v) {
      s[threadIdx.x] = v; __syncthreads();
      int r = s[(threadIdx.x + 1) % blockDim.x]; __syncthreads(); return r; }"""
    out = run(
        "__shared__ int s[64]; out[threadIdx.x] = rotate(s, rotate(s, 3 * threadIdx.x));",
        ints(),
        block=64,
        before=before,
    )
    np.testing.assert_array_equal(out, 3 * ((THREADS + 2) % 64))


def test_shuffle_inside_a_function_called_by_part_of_a_warp() -> None:
    before = "__device__ __noinline__ int swap(unsigned m, int v) { return __shfl_xor_sync(m, v, 1); }"
    body = "int i = threadIdx.x, v = -1; if (i < 16) v = swap(0xffff, 10 * i); out[i] = v;"
    out = run(body, ints(32), before=before)
    np.testing.assert_array_equal(out, np.where(np.arange(32) < 16, 10 * (np.arange(32) ^ 1), -1))


def test_a_profile_counts_no_helper_moves() -> None:
    """`st.param` and `ld.param` of a call are counted as nothing: ptxas makes registers of them."""
    made = kernel(
        "out[threadIdx.x] = f(threadIdx.x);", before="__device__ __noinline__ int f(int x) { return x + 1; }"
    )
    done = launched(made, 1, 32, (ints(),), observe={})
    helpers = [
        one for block in made.program.blocks for one in block.instructions if one.opcode.startswith("param.")
    ]
    assert len(helpers) == 4
    assert sum(done.tally.warps) > 0
