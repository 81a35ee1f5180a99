"""Floats that NumPy does not have, given to kernels: a warning where the bits would be misread."""

import warnings

import ml_dtypes
import numpy as np
import pytest

from course_lib.emulator import RawKernel
from course_lib.emulator.errors import ArgumentError, ArgumentWarning

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


@pytest.mark.filterwarnings("error")
def test_a_number_by_value():
    made = RawKernel(SOURCE.replace("* x", " x").replace("x[threadIdx.x]", "x") % BF16, "k")
    out = np.zeros(1, np.float32)
    advice = r"has 2 bytes, but the Python float 1\.5 has 8; write ml_dtypes\.bfloat16\(x\)$"
    with pytest.warns(ArgumentWarning, match=advice):
        made((1,), (1,), (out, 1.5))
    made((1,), (1,), (out, ml_dtypes.bfloat16(1.5)))
    assert out[0] == 1.5
