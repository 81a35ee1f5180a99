"""Verdicts: which next step an error or a finding leads to."""

import numpy as np
import pytest

from course_lib.emulator import RawKernel
from course_lib.emulator.errors import DeadlockError
from course_lib.verdicts import NEXT_STEP, error_verdict

CASE = {"n": 64}
SOURCE = """extern "C" __global__ void k(int* out) {
    if (threadIdx.x < 32) asm volatile("bar.sync 1%s;"); else asm volatile("bar.sync 2%s;"); out[0] = 1; }"""


@pytest.mark.parametrize(
    ("count", "whole", "kind"),
    [("", True, "divergent barrier"), (", 64", False, "named barrier never completes")],
)
def test_the_next_step_after_a_deadlock(count: str, whole: bool, kind: str) -> None:
    """Two warps wait at two barriers: of the whole block, or of as many threads as they name."""
    with pytest.raises(DeadlockError) as raised:
        RawKernel(SOURCE % (count, count), "k")((1,), (64,), (np.zeros(1, np.int32),))
    assert raised.value.whole is whole
    verdict = error_verdict(raised.value, CASE)
    assert verdict.reason == "hazard"
    assert verdict.message.endswith(NEXT_STEP[kind])


def test_what_was_found_before_does_not_decide_about_the_barrier() -> None:
    """An earlier finding may speak of every thread of the block where the deadlock is at a named barrier."""
    found = ["divergent barrier: move the barrier, so that every thread of the block reaches it"]
    error = DeadlockError("k: block (0, 0, 0) is stuck.", found, whole=False)
    assert "every thread of the block" in str(error)
    assert error_verdict(error, CASE).message.endswith(NEXT_STEP["named barrier never completes"])
