"""Chapter 12: errors of its kernels on random values, against bounds from each format's unit roundoff."""

import pytest

from course_lib.chapters import low_precision_kernels as k
from course_lib.chapters import low_precision_runs as runs

N = 64
# Half a step at 1 where a value is rounded to nearest; a whole step where bits are left out (TF32).
ROUNDOFF = {"fp32": 0, "tf32": 2.0**-10, "fp16": 2.0**-11, "bf16": 2.0**-8}
ADDING = N * 2.0**-23  # of N sums in fp32, each cut off at worst


@pytest.fixture(scope="module")
def errors():
    return runs.kernel_errors(k.PARTS + k.MMA_BODY, N)


@pytest.mark.parametrize("name", ROUNDOFF)
def test_errors_stay_below_the_bound_of_the_format(errors, name):
    """Terms are positive: a product of two rounded values, and so the sum, is off by at most 2 u + u^2."""
    u = ROUNDOFF[name]
    bound = 2 * u + u * u + ADDING
    assert bound / 50 < errors[name] < bound


def test_errors_do_not_change_and_each_format_has_its_place(errors):
    assert runs.kernel_errors(k.PARTS + k.MMA_BODY, N) == errors
    said = runs.error_words(k.PARTS + k.MMA_BODY)
    assert "computed on the emulator" in said
    assert f"bf16 {errors['bf16']:.1e}" in said
    assert sorted(errors, key=errors.get) == ["fp32", "fp16", "tf32", "bf16"]
