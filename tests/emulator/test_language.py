"""CUDA C++ as learners write it: integers, intrinsics, templates, classes. Python is the authority."""

from collections.abc import Callable

import numpy as np
import pytest

from course_lib.emulator import RawModule

from .cuda import run

RNG = np.random.default_rng(17)
U32 = RNG.integers(0, 2**32, 256, dtype=np.uint32)
EDGES = np.array([0, 1, 2, 31, 32, 127, 128, 255, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 1], np.uint32)
WORDS = np.concatenate([EDGES, U32])[:256]
I64 = np.concatenate([np.array([0, 1, -1, 2, 7, -7, 2**63 - 1, -(2**63), 2**32, -(2**32)]),
                      RNG.integers(-(2**63), 2**63 - 1, 118)])  # fmt: skip


def signed(value: int, bits: int = 32) -> int:
    """Two's complement."""
    value &= 2**bits - 1
    return value - 2**bits if value >> bits - 1 else value


# -- integer intrinsics ------------------------------------------------------------


def funnel_left(low: int, high: int, shift: int) -> int:
    return (high << 32 | low) << (shift & 31) >> 32


def byte_perm(x: int, y: int, selector: int) -> int:
    pool = (y << 32 | x).to_bytes(8, "little")
    return int.from_bytes(bytes(pool[selector >> 4 * k & 7] for k in range(4)), "little")


def byte_dot(a: int, b: int, c: int, is_signed: bool) -> int:
    def parts(x: int) -> list[int]:
        return [signed(x >> 8 * k, 8) if is_signed else x >> 8 * k & 255 for k in range(4)]

    return c + sum(x * y for x, y in zip(parts(a), parts(b), strict=True))


BYTES = (0, 8, 16, 24)
INTRINSICS: dict[str, Callable[[int, int, int], int]] = {
    "__popc(a)": lambda a, b, c: a.bit_count(),
    "__popcll(((unsigned long long)a << 32) | b)": lambda a, b, c: a.bit_count() + b.bit_count(),
    "__clz(a)": lambda a, b, c: 32 - a.bit_length(),
    "__clzll(((unsigned long long)a << 32) | b)": lambda a, b, c: 64 - (a << 32 | b).bit_length(),
    "__ffs(a)": lambda a, b, c: (a & -a).bit_length(),
    "__ffsll(((unsigned long long)a << 32) | b)": lambda a, b, c: (
        (x := a << 32 | b) and (x & -x).bit_length()
    ),
    "__brev(a)": lambda a, b, c: int(f"{a:032b}"[::-1], 2),
    "__brevll(((unsigned long long)a << 32) | b) >> 32": lambda a, b, c: int(f"{b:032b}"[::-1], 2),
    "__byte_perm(a, b, c)": lambda a, b, c: byte_perm(a, b, c),
    "__umulhi(a, b)": lambda a, b, c: a * b >> 32,
    "__mulhi((int)a, (int)b)": lambda a, b, c: signed(a) * signed(b) >> 32,
    "__umul24(a, b)": lambda a, b, c: (a & 0xFFFFFF) * (b & 0xFFFFFF),
    "__mul24((int)a, (int)b)": lambda a, b, c: signed(a, 24) * signed(b, 24),
    "__usad(a, b, c)": lambda a, b, c: abs(a - b) + c,
    "__sad((int)a, (int)b, c)": lambda a, b, c: abs(signed(a) - signed(b)) + c,
    "__hadd((int)a, (int)b)": lambda a, b, c: (signed(a) + signed(b)) >> 1,
    "__rhadd((int)a, (int)b)": lambda a, b, c: (signed(a) + signed(b) + 1) >> 1,
    "__uhadd(a, b)": lambda a, b, c: (a + b) >> 1,
    "__urhadd(a, b)": lambda a, b, c: (a + b + 1) >> 1,
    "__funnelshift_l(a, b, c)": funnel_left,
    "__funnelshift_r(a, b, c)": lambda a, b, c: (b << 32 | a) >> (c & 31),
    "__funnelshift_lc(a, b, c)": lambda a, b, c: (b << 32 | a) << min(c, 32) >> 32,
    "__funnelshift_rc(a, b, c)": lambda a, b, c: (b << 32 | a) >> min(c, 32),
    "__dp4a((int)a, (int)b, (int)c)": lambda a, b, c: byte_dot(a, b, signed(c), True),
    "__dp4a(a, b, c)": lambda a, b, c: byte_dot(a, b, c, False),
    "__vadd4(a, b)": lambda a, b, c: sum(((a >> k & 255) + (b >> k & 255) & 255) << k for k in BYTES),
    "__vabsdiffu4(a, b)": lambda a, b, c: sum(abs((a >> k & 255) - (b >> k & 255)) << k for k in BYTES),
    "abs((int)a)": lambda a, b, c: abs(signed(a)),
    "min((int)a, (int)b)": lambda a, b, c: min(signed(a), signed(b)),
    "max(a, b)": lambda a, b, c: max(a, b),
    "__float_as_uint(__uint_as_float(a))": lambda a, b, c: a,
    "__viaddmax_s32((int)a, (int)b, (int)c)": lambda a, b, c: max(signed(a + b), signed(c)),
    "__vimax3_u32(a, b, c)": lambda a, b, c: max(a, b, c),
}


@pytest.fixture(scope="module")
def intrinsics() -> np.ndarray:
    """Row k: the k-th of INTRINSICS for all threads (one compilation for all)."""
    rows = "\n".join(f"out[{k} * 256 + i] = (unsigned)({text});" for k, text in enumerate(INTRINSICS))
    body = f"""
      int i = threadIdx.x; unsigned a = in[i], b = in[(i * 7 + 3) % 256], c = in[(i * 5 + 9) % 256];
      {rows}"""
    out = np.zeros(len(INTRINSICS) * 256, np.uint32)
    return run(body, out, WORDS, parameters="unsigned *out, const unsigned *in", block=256).reshape(-1, 256)


@pytest.mark.parametrize("name", INTRINSICS)
def test_intrinsic(name: str, intrinsics: np.ndarray) -> None:
    row = intrinsics[list(INTRINSICS).index(name)]
    words = [int(word) for word in WORDS]
    for i in range(256):
        a, b, c = words[i], words[(i * 7 + 3) % 256], words[(i * 5 + 9) % 256]
        assert row[i] == INTRINSICS[name](a, b, c) & 0xFFFFFFFF, (hex(a), hex(b), hex(c))


# -- narrow and wide integers ------------------------------------------------------


def truncated(a: int, b: int) -> int:
    """C's division."""
    quotient = abs(a) // abs(b)
    return -quotient if (a < 0) != (b < 0) else quotient


def test_64_bit_arithmetic() -> None:
    body = """
      int i = threadIdx.x; long long a = in[i], b = in[(i * 3 + 5) % 128], *o = out + 9 * i; int s = b & 63;
      if (b == 0) b = 3;
      o[0] = a / b; o[1] = a % b; o[2] = (unsigned long long)a / (unsigned long long)b;
      o[3] = (unsigned long long)a % (unsigned long long)b; o[4] = a * b; o[5] = a >> s;
      o[6] = (unsigned long long)a >> s;
      o[7] = (unsigned long long)a << s; o[8] = __mul64hi(a, b) ^ (long long)__umul64hi(a, b);"""
    out = run(
        body, np.zeros(9 * 128, np.int64), I64, parameters="long long *out, const long long *in", block=128
    )
    for i, row in enumerate(out.reshape(128, 9).tolist()):
        a, b = int(I64[i]), int(I64[(i * 3 + 5) % 128])
        s, b = b & 63, b or 3
        ua, ub = a % 2**64, b % 2**64
        q = truncated(a, b)
        wanted = [q, a - b * q, ua // ub, ua % ub, a * b, a >> s, ua >> s, ua << s,
                  (a * b >> 64) ^ (ua * ub >> 64)]  # fmt: skip
        assert row == [signed(value, 64) for value in wanted], (a, b)


@pytest.mark.parametrize(
    ("kind", "bits", "is_signed"),
    [
        ("signed char", 8, True),
        ("unsigned char", 8, False),
        ("short", 16, True),
        ("unsigned short", 16, False),
    ],
)
def test_narrow_arithmetic_wraps_and_promotes(kind: str, bits: int, is_signed: bool) -> None:
    body = f"""
      int i = threadIdx.x, *o = out + 8 * i; {kind} a = i * 37 - 90, b = 120 - i;
      {kind} sum = a + b, product = a * b, left = a << 3, right = a >> 2, ratio = b ? a / b : a;
      a++; a = -a; b ^= 0x55;
      o[0] = sum; o[1] = product; o[2] = left; o[3] = right; o[4] = a; o[5] = b; o[6] = ratio;
      o[7] = (a < b) + 2 * (a * b > 999);"""

    def cut(value: int) -> int:
        return signed(value, bits) if is_signed else value % 2**bits

    out = run(body, np.zeros(8 * 200, np.int32), block=200)
    for i, row in enumerate(out.reshape(200, 8).tolist()):
        a, b = cut(i * 37 - 90), cut(120 - i)
        first = [cut(a + b), cut(a * b), cut(a << 3), cut(a >> 2)]
        ratio = cut(truncated(a, b)) if b else a
        a, b = cut(-cut(a + 1)), cut(b ^ 0x55)
        assert row == [*first, a, b, ratio, (a < b) + 2 * (a * b > 999)]


def test_bool_enum_union_and_bit_fields() -> None:
    before = """
      enum Colour : unsigned char { Red = 3, Green = 250 };
      union Bits { float f; unsigned u; unsigned char b[4]; };
      struct Fields {
        unsigned low : 5; signed int middle : 7; bool flag : 1; unsigned : 3; unsigned high : 16; };"""
    body = """
      int i = threadIdx.x, *o = out + 6 * i;
      bool odd = i & 1, both = odd && i > 5; Colour c = odd ? Red : Green;
      Bits x; x.f = i; Fields f; f.low = i * 3; f.middle = i - 20; f.flag = i & 2; f.high = i * 5000;
      o[0] = odd + 2 * both + 4 * !odd; o[1] = c; o[2] = x.u; o[3] = x.b[i & 3];
      o[4] = f.low + 100 * f.middle + 10000 * f.flag; o[5] = f.high;"""
    out = run(body, np.zeros(6 * 64, np.int32), before=before, block=64)
    for i, row in enumerate(out.reshape(64, 6).tolist()):
        bits = np.float32(i).view(np.uint32)
        fields = i * 3 % 32 + 100 * signed(i - 20, 7) + 10000 * bool(i & 2)
        flags = (i & 1) + 2 * (i & 1 and i > 5) + 4 * (not i & 1)
        assert row == [flags, 3 if i & 1 else 250, signed(int(bits)),
                       int(bits) >> 8 * (i & 3) & 255, fields, i * 5000 % 65536]  # fmt: skip


# -- carries -----------------------------------------------------------------------


def test_128_bit_arithmetic_by_carries() -> None:
    body = r"""
      int i = threadIdx.x; const unsigned long long *a = in + 2 * i, *b = in + 2 * ((i + 11) % 64);
      unsigned long long *o = out + 6 * i;
      asm("add.cc.u64 %0, %2, %4; addc.u64 %1, %3, %5;"
          : "=l"(o[0]), "=l"(o[1]) : "l"(a[0]), "l"(a[1]), "l"(b[0]), "l"(b[1]));
      asm("sub.cc.u64 %0, %2, %4; subc.u64 %1, %3, %5;"
          : "=l"(o[2]), "=l"(o[3]) : "l"(a[0]), "l"(a[1]), "l"(b[0]), "l"(b[1]));
      asm("mul.lo.u64 %0, %2, %4; mul.hi.u64 %1, %2, %4; mad.lo.u64 %1, %2, %5, %1; "
          "mad.lo.u64 %1, %3, %4, %1;"
          : "=&l"(o[4]), "=&l"(o[5]) : "l"(a[0]), "l"(a[1]), "l"(b[0]), "l"(b[1]));"""
    data = RNG.integers(0, 2**64, 128, dtype=np.uint64)
    data[:6] = 2**64 - 1
    out = run(body, np.zeros(6 * 64, np.uint64), data, block=64,
              parameters="unsigned long long *out, const unsigned long long *in")  # fmt: skip
    wide = [int(data[2 * i]) | int(data[2 * i + 1]) << 64 for i in range(64)]
    for i, row in enumerate(out.reshape(64, 6).tolist()):
        a, b = wide[i], wide[(i + 11) % 64]
        got = [row[k] | row[k + 1] << 64 for k in (0, 2, 4)]
        assert got == [value % 2**128 for value in (a + b, a - b, a * b)]


def test_int128() -> None:
    body = """
      int i = threadIdx.x; __int128 a = (__int128)in[i] * in[(i + 1) % 64], b = in[(i + 2) % 64] | 1;
      __int128 q = a / b, r = a % b;
      out[4 * i] = q; out[4 * i + 1] = q >> 64; out[4 * i + 2] = r;
      out[4 * i + 3] = (a < b) + 2 * (a >> 100 == 0);"""
    data = RNG.integers(-(2**63), 2**63 - 1, 64)
    out = run(body, np.zeros(256, np.int64), data, parameters="long long *out, const long long *in", block=64,
              options=("--device-int128",))  # fmt: skip
    for i, row in enumerate(out.reshape(64, 4).tolist()):
        a, b = int(data[i]) * int(data[(i + 1) % 64]), int(data[(i + 2) % 64]) | 1
        q = truncated(a, b)
        assert row == [
            signed(q, 64),
            signed(q >> 64, 64),
            signed(a - b * q, 64),
            (a < b) + 2 * (a >> 100 == 0),
        ]


# -- templates, classes, attributes ------------------------------------------------


def test_templates_and_name_expressions() -> None:
    code = """
      template <typename T, int N> struct Polynomial { T c[N];
        __device__ T operator()(T x) const { T r = 0;
          #pragma unroll
          for (int k = N - 1; k >= 0; --k) r = r * x + c[k]; return r; } };
      template <typename T, int N> __global__ void evaluate(T *out, Polynomial<T, N> p) {
        auto square = [](T v) { return v * v; };
        out[threadIdx.x] = square(p(T(threadIdx.x))); }"""
    names = ["evaluate<float, 3>", "evaluate<long long, 4>"]
    module = RawModule(code=code, name_expressions=names)
    i = np.arange(32)
    for name, dtype, coefficients in (
        (names[0], np.float32, [1, -2, 0.5]),
        (names[1], np.int64, [3, 0, -1, 2]),
    ):
        value = np.zeros((), np.dtype([("c", dtype, len(coefficients))]))
        value["c"] = coefficients
        out = np.zeros(32, dtype)
        module.get_function(name)((1,), (32,), (out, value))
        wanted = np.polynomial.polynomial.polyval(i, np.array(coefficients)).astype(dtype) ** 2
        np.testing.assert_array_equal(out, wanted)


def test_classes_with_inheritance_operators_and_references() -> None:
    before = """
      struct Base { int v; __device__ Base(int v) : v(v) {} __device__ int twice() const { return 2 * v; } };
      struct Pair : Base { int w; __device__ Pair(int a, int b) : Base(a), w(b) {}
        __device__ Pair operator+(const Pair &o) const { return {v + o.v, w * o.w}; }
        __device__ Pair &operator+=(int k) { v += k; w -= k; return *this; } __device__ ~Pair() { } };
      template <typename... T> __device__ int sum(T... t) { return (0 + ... + t); }
      __device__ constexpr int square(int x) { return x * x; }
      namespace deep { namespace er { __device__ void swap(int &a, int &b) { int t = a; a = b; b = t; } } }"""
    body = """
      int i = threadIdx.x; Pair p(i, 3), q(5, i); p += 2; Pair r = p + q; deep::er::swap(r.v, r.w);
      static_assert(square(7) == 49, ""); out[i] = r.v * 1000 + r.twice() + sum(i, 2, square(3)) + r.w;"""
    out = run(body, np.zeros(32, np.int32), before=before)
    for i, value in enumerate(out):
        v, w = i + 2 + 5, (3 - 2) * i
        v, w = w, v
        assert value == v * 1000 + 2 * v + i + 11 + w


def test_launch_bounds_restrict_and_unroll() -> None:
    code = """
      extern "C" __global__ void __launch_bounds__(128, 4)
      k(float *__restrict__ out, const float *__restrict__ in, int n) {
        float s = 0;
        #pragma unroll 4
        for (int j = 0; j < n; ++j) s += in[j] * (j + threadIdx.x);
        out[threadIdx.x] = s; }"""
    made = RawModule(code=code).get_function("k")
    assert made.program.directives["maxntid"][0] == 128
    out, data = np.zeros(128, np.float32), np.arange(13, dtype=np.float32)
    made((1,), (128,), (out, data, np.int32(13)))
    i, j = np.arange(128)[:, None], np.arange(13)
    np.testing.assert_array_equal(out, (j * (j + i)).sum(1))
