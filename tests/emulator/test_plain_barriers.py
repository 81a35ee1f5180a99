"""Threads that return before a barrier do not skip it, even where the compiler joins their end with others'.

CUDA C++ Programming Guide, "Synchronization Functions": a barrier waits for all threads of the block that
have not exited; in conditional code it is allowed only if the condition is the same for the whole block.
"""

import numpy as np
import pytest

from course_lib.emulator import RawKernel
from course_lib.emulator.plain_barriers import plain_barriers
from course_lib.profile import profile

HEAD = '#define LIMIT 40\nextern "C" __global__ void k(int *o) {\n  int t = threadIdx.x;\n'
EARLY = HEAD + "  if (t >= LIMIT) {\n    o[t] = 7;\n    return;\n  }\n  __syncthreads();\n  o[t] = t;\n}"
SKIPS = HEAD + "  int v = 7;\n  if (t < LIMIT) {\n    __syncthreads();\n    v = t;\n  }\n  o[t] = v;\n}"


def instructions(source: str) -> list[str]:
    """PTX of the kernel without the lines it came from."""
    ptx = RawKernel(source, "k").ptx
    return [line for line in ptx[ptx.index("{") :].splitlines() if ".loc" not in line]


def kinds(source: str) -> list[str]:
    counted = profile(RawKernel(source, "k"), (2,), (64,), (np.zeros(64, np.int32),))
    return [found.kind for found in counted.hazards]


def test_the_compiler_makes_the_same_of_both_and_only_one_is_a_fault() -> None:
    assert instructions(EARLY) == instructions(SKIPS)
    assert "divergent barrier" not in kinds(EARLY)
    assert "divergent barrier" in kinds(SKIPS)


def test_the_result_is_that_of_both() -> None:
    out = np.zeros(64, np.int32)
    RawKernel(EARLY, "k")((1,), (64,), (out,))
    assert out.tolist() == [*range(40), *[7] * 24]


NESTED = {
    "in an if": "if (t) __syncthreads();",
    "in an else": "if (t) o[t] = 1; else __syncthreads();",
    "in braces": "if (t) { __syncthreads(); }",
    "in a loop": "for (int k = 0; k < t; ++k) __syncthreads();",
    "in a switch": "switch (t) { case 1: __syncthreads(); }",
    "in an expression": "int n = t && (__syncthreads(), true);",
    "two on a line, one of them in an if": "__syncthreads(); if (t) __syncthreads();",
    "behind a macro": "WHERE __syncthreads();",
}


@pytest.mark.parametrize("body", NESTED.values(), ids=NESTED)
def test_nothing_is_said_of_a_barrier(body: str) -> None:
    assert plain_barriers(f"__global__ void k(int *o) {{\nint t = threadIdx.x;\n{body}\n}}", "k") == set()


UNSURE = {
    "a macro with a branch": "#define WHERE if (t)\n__global__ void k(int *o) {\n__syncthreads(); }",
    "a macro with a brace": "#define WHERE {\n__global__ void k(int *o) {\n__syncthreads(); }",
    "a jump": "__global__ void k(int *o) { if (*o) goto end;\n__syncthreads();\nend: ; }",
    "assembly": '__global__ void k(int *o) { asm("exit;");\n__syncthreads(); }',
    "text that is left out": "__global__ void k(int *o) {\n#ifdef A\nif (*o)\n#endif\n__syncthreads(); }",
    "two of a name": "__global__ void k(int *o) {\n__syncthreads(); } __global__ void k(float *o) {\n}",
    "a kernel that is not there": "__global__ void other(int *o) {\n__syncthreads(); }",
}


@pytest.mark.parametrize("source", UNSURE.values(), ids=UNSURE)
def test_nothing_is_said_where_the_text_may_hide_a_branch(source: str) -> None:
    assert plain_barriers(source, "k") == set()


def test_comments_and_strings_do_not_count() -> None:
    source = (
        "template <int N> __global__ void k(int *o) { // {\n"
        '  if (*o) { printf("}}"); /* } */ }\n'
        "  /* if (*o) */ __syncthreads(); // if (*o) __syncthreads();\n"
        "  for (;;) { __syncthreads(); }\n"
        "}\n"
        "__device__ void f() {\n__syncthreads(); }"
    )
    assert plain_barriers(source, "k<4>") == {3}
