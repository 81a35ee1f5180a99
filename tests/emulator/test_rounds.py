"""Rounds of loads, against what ptxas makes of the same source and by hand."""

import re

import pytest

from course_lib.emulator import RawKernel
from course_lib.emulator.rounds import load_rounds

HEAD = 'extern "C" __global__ void k(float* {r} out, const float* {r} in, const int* {r} index, int n) '
BODIES = {
    "one": "out[threadIdx.x] = in[threadIdx.x];",
    "copies": "for (int j = 0; j < 4; ++j) out[n * j + threadIdx.x] = in[n * j + threadIdx.x];",
    "sum": "out[threadIdx.x] = in[threadIdx.x] + in[n + threadIdx.x] + in[2 * n + threadIdx.x];",
    "gather": "out[threadIdx.x] = in[index[threadIdx.x]];",
    "tile": "__shared__ float t[64]; t[threadIdx.x] = in[threadIdx.x]; __syncthreads();"
    "out[n] = t[threadIdx.x ^ 1];",
    "barrier": "__shared__ float t[64]; t[threadIdx.x] = in[threadIdx.x]; __syncthreads();"
    "out[threadIdx.x] = t[threadIdx.x ^ 1] + in[n + threadIdx.x];",
    "nothing": "out[threadIdx.x] = n;",
}


def kernel(body: str, restrict: bool) -> RawKernel:
    return RawKernel(HEAD.format(r="__restrict__" if restrict else "") + "{" + BODIES[body] + "}", "k")


def rounds(found: RawKernel) -> int:
    return sum(load_rounds(block.instructions) for block in found.program.blocks)


@pytest.mark.parametrize(
    ("body", "aliased", "restricted"),
    [
        ("one", 1, 1),
        ("copies", 4, 1),
        ("sum", 1, 1),
        ("gather", 2, 2),
        ("tile", 1, 1),
        ("barrier", 2, 2),
        ("nothing", 0, 0),
    ],
)
def test_by_hand(body, aliased, restricted):
    """`__restrict__` lets a load pass a store."""
    assert rounds(kernel(body, restrict=False)) == aliased
    assert rounds(kernel(body, restrict=True)) == restricted


@pytest.mark.parametrize(("restrict", "expected"), [(False, "LSLSLSLS"), (True, "LLLLSSSS")])
def test_ptxas_orders_loads_and_stores_as_counted(restrict, expected):
    found = kernel("copies", restrict)
    order = "".join("L" if name == "LDG" else "S" for name in re.findall(r"\b(LDG|STG)", found.sass))
    assert order == expected
    assert rounds(found) == expected.count("LS")


@pytest.mark.parametrize(("wait", "part"), [("wait_group 0", 1), ("wait_group 2", 1 / 3), ("wait_all", 1)])
def test_a_wait_for_copies_is_the_part_of_a_round_that_the_groups_in_flight_leave(wait, part):
    body = f'asm volatile("cp.async.{wait};" ::: "memory"); out[threadIdx.x] = n;'
    found = RawKernel(HEAD.format(r="") + "{" + body + "}", "k")
    assert rounds(found) == pytest.approx(part)
