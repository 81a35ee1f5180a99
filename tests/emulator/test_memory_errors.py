"""Accesses outside arrays, misaligned or to read-only memory: the message, and that the next launch works."""

import re

import numpy as np
import pytest

from course_lib.emulator.errors import MemoryAccessError

from .cuda import kernel, run


def ints(count: int = 64) -> np.ndarray:
    return np.zeros(count, np.int32)


def message_of(body: str, *arguments: object, **settings: object) -> str:
    with pytest.raises(MemoryAccessError) as caught:
        run(body, *arguments, **settings)
    return str(caught.value)


def test_the_message_of_a_store_out_of_bounds() -> None:
    body = "\n int i = (blockIdx.y * 2 + blockIdx.x) * 64 + threadIdx.y * 8 + threadIdx.x;\n out[i] = i;"
    text = message_of(body, ints(100), grid=(2, 2), block=(8, 8))
    assert text.startswith("k, line 4: store at global address 0x")
    assert "0 bytes behind array 'out' (400 bytes)" in text
    assert "First of 156 such threads: block (1, 0, 0), thread (4, 4, 0)" in text
    assert "restart" in text
    assert "next cell works" in text


def test_loads_and_atomics_say_so() -> None:
    assert "load at global" in message_of("out[0] = out[64 + threadIdx.x];", ints())
    assert "atomic at global" in message_of("atomicAdd(out + 64 + threadIdx.x, 1);", ints())


@pytest.mark.parametrize(
    ("index", "place"),
    [("-1 - (int)threadIdx.x", "before array 'out'"), ("1000 + threadIdx.x", "3744 bytes behind array 'out'"),
     ("62 + threadIdx.x", "0 bytes behind array 'out'")],
)  # fmt: skip
def test_which_array_is_near(index: str, place: str) -> None:
    assert place in message_of(f"out[{index}] = 1;", ints())


def test_across_the_end_of_an_array() -> None:
    text = message_of("((long long *)out)[threadIdx.x] = 1;", ints(3), block=2)
    assert "across the end of array 'out' (12 bytes)" in text


def test_only_one_lane_of_many_is_wrong() -> None:
    text = message_of("int i = threadIdx.x; out[i == 77 ? 5000 : i] = 1;", ints(128), block=128)
    assert "First of 1 such threads: block (0, 0, 0), thread (77, 0, 0)" in text


def test_a_null_pointer() -> None:
    text = message_of(
        "int *p = (int *)(long long)n; p[threadIdx.x] = 1;", ints(), np.int32(0), parameters="int *out, int n"
    )
    assert "address 0x0 lies outside every array" in text


@pytest.mark.parametrize(
    ("kind", "offset", "needed"), [("float4", 1, 16), ("float2", 1, 8), ("double", 3, 8), ("int4", 2, 16)]
)
def test_misaligned(kind: str, offset: int, needed: int) -> None:
    body = f"{kind} *p = ({kind} *)(out + {offset}); out[threadIdx.x] = *(int *)&p[threadIdx.x];" \
           f"{kind} v = p[threadIdx.x]; p[threadIdx.x + 1] = v;"  # fmt: skip
    text = message_of(body, ints(1024))
    assert f"is not aligned: this access needs a multiple of {needed}" in text
    assert "thread (0, 0, 0)" in text


def test_float4_copy_of_a_shifted_view() -> None:
    """`x[1:129]` (tvm#8540): the view starts 4 bytes behind an aligned address."""
    x, y = np.arange(132, dtype=np.float32), np.zeros(128, np.float32)
    body = "((float4 *)y)[threadIdx.x] = ((const float4 *)x)[threadIdx.x];"
    made = kernel(body, "const float *x, float *y")
    with pytest.raises(
        MemoryAccessError, match=r"load at global address 0x\w+4 is not aligned.*multiple of 16"
    ):
        made((1,), (32,), (x[1:129], y))
    made((1,), (32,), (x[4:], y))
    np.testing.assert_array_equal(y, x[4:132])


def test_shared_memory_out_of_bounds() -> None:
    text = message_of("__shared__ int s[32]; s[threadIdx.x] = 0; out[0] = s[threadIdx.x + 1];", ints())
    assert "load at shared address 0x80 lies outside the 128 bytes of shared memory" in text
    assert "thread (31, 0, 0)" in text


def test_too_little_dynamic_shared_memory() -> None:
    text = message_of("extern __shared__ float s[]; s[threadIdx.x] = 1;", ints(), shared_mem=64)
    assert "outside the 64 bytes of shared memory" in text


def test_local_memory_out_of_bounds() -> None:
    text = message_of("int l[4] = {1, 2, 3, 4}; out[threadIdx.x] = l[n * threadIdx.x];", ints(), np.int32(1),
                      parameters="int *out, int n")  # fmt: skip
    assert "load at local address" in text


def test_a_misaligned_shared_access() -> None:
    body = "__shared__ __align__(16) char s[256]; s[threadIdx.x] = 0; *(int *)(s + threadIdx.x + n) = 1;"
    text = message_of(body, ints(), np.int32(2), parameters="int *out, int n")
    assert re.search(r"store at shared address 0x2 is not aligned: this access needs a multiple of 4", text)


def test_different_arrays_in_one_access() -> None:
    """Each lane is right by itself: no error."""
    a, b = np.arange(32, dtype=np.int32), 100 + np.arange(32, dtype=np.int32)
    body = "int i = threadIdx.x; const int *p = (i & 1) ? a : b; out[i] = p[i];"
    out = run(body, ints(32), a, b, parameters="int *out, const int *a, const int *b")
    np.testing.assert_array_equal(out, np.where(np.arange(32) & 1, a, b))
    text = message_of(
        body.replace("p[i]", "p[i + 1]"), ints(32), a, b, parameters="int *out, const int *a, const int *b"
    )
    assert "thread (31, 0, 0)" in text
    assert "behind array 'a'" in text


def test_read_only_arrays() -> None:
    frozen = np.arange(32, dtype=np.int32)
    frozen.flags.writeable = False
    out = run("out[threadIdx.x] = in[threadIdx.x];", ints(32), frozen, parameters="int *out, const int *in")
    np.testing.assert_array_equal(out, frozen)
    text = message_of("((int *)in)[threadIdx.x] = 1;", ints(), frozen, parameters="int *out, const int *in")
    assert "store at global address" in text
    assert "array 'in', which is read-only" in text
    text = message_of("atomicAdd((int *)in, 1);", ints(), frozen, parameters="int *out, const int *in")
    assert "atomic at global" in text
    assert "read-only" in text
    np.testing.assert_array_equal(frozen, np.arange(32))


def test_stores_to_constant_memory_are_refused() -> None:
    text = message_of("int *p = n ? (int *)c : out; p[threadIdx.x] = 1;", ints(), np.int32(1),
                      parameters="int *out, int n", before="__constant__ int c[64];")  # fmt: skip
    assert "const variable c, which is read-only" in text


def test_the_next_launch_works() -> None:
    made = kernel("out[threadIdx.x + n] = threadIdx.x;", "int *out, int n")
    out = ints(32)
    with pytest.raises(MemoryAccessError):
        made((1,), (32,), (out, np.int32(1)))
    made((1,), (32,), (out, np.int32(0)))
    np.testing.assert_array_equal(out, np.arange(32))


def test_nothing_is_written_by_the_access_that_fails() -> None:
    out = ints(31)
    message_of("out[threadIdx.x] = 7;", out)
    assert not out.any()


def test_a_notebook_shows_only_the_lines_of_the_reader() -> None:
    with pytest.raises(MemoryAccessError) as caught:
        run("out[64 + threadIdx.x] = 1;", ints())
    lines = caught.value._render_traceback_()
    assert [line.split(", line ")[0] for line in lines[:-1]] == [
        "in test_a_notebook_shows_only_the_lines_of_the_reader",
        "in run",
    ]
    assert lines[-1] == f"MemoryAccessError: {caught.value}"
