"""Floats that NumPy does not have, given to kernels: a warning where the bits would be misread."""

import warnings

import ml_dtypes
import numpy as np
import pytest

from course_lib.emulator import RawKernel
from course_lib.emulator.errors import ArgumentError

SOURCE = r"""
#include <%s>
extern "C" __global__ void k(float* y, const %s* x) { y[threadIdx.x] = (float)x[threadIdx.x]; }
"""
BF16, HALF, E4M3 = ("cuda_bf16.h", "__nv_bfloat16"), ("cuda_fp16.h", "half"), ("cuda_fp8.h", "__nv_fp8_e4m3")


def said(source: tuple[str, str], dtype: type) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        RawKernel(SOURCE % source, "k")((1,), (8,), (np.zeros(8, np.float32), np.zeros(32).astype(dtype)))
    return [str(one.message) for one in caught]


@pytest.mark.parametrize(
    ("source", "dtype", "advice"),
    [
        (HALF, ml_dtypes.bfloat16, "cp.float16"),
        (BF16, np.float16, "ml_dtypes.bfloat16"),
        (BF16, np.float32, "ml_dtypes.bfloat16"),
        (E4M3, ml_dtypes.float8_e5m2, "ml_dtypes.float8_e4m3fn"),
        (E4M3, np.float32, "ml_dtypes.float8_e4m3fn"),
    ],
)
def test_other_formats_are_warned_of(source, dtype, advice):
    (text,) = said(source, dtype)
    assert f"pass x.astype({advice})" in text


@pytest.mark.parametrize(
    ("source", "dtype"),
    [
        (HALF, np.float16),
        (BF16, ml_dtypes.bfloat16),
        (BF16, np.uint16),
        (E4M3, ml_dtypes.float8_e4m3fn),
        (E4M3, np.uint8),
    ],
)
def test_the_format_itself_and_its_bits_are_fine(source, dtype):
    assert said(source, dtype) == []


def test_a_number_for_a_pointer():
    """The bits 0x0002 that cp.full(1, 2.0, dtype=cp.uint16) holds are no 2.0 in bfloat16."""
    advice = r"cp\.full\(1, 2\.0, dtype=ml_dtypes\.bfloat16\), or its bits as cp\.uint16$"
    with pytest.raises(ArgumentError, match=advice):
        RawKernel(SOURCE % BF16, "k")((1,), (1,), (np.zeros(1, np.float32), 2.0))
