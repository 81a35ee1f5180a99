"""Parameter lists read from CUDA source."""

import json
from pathlib import Path

import pytest

from course_lib.emulator.signature import parse_signature


@pytest.mark.parametrize(
    ("source", "kernel", "expected"),
    [
        ("__global__ void k(float* y, const int n)", "k", ["float* y", "int n"]),
        ("__global__ void k(const float *__restrict__ x)", "k", ["float* x"]),
        (
            "__global__ void k(unsigned long long int n, float4 v)",
            "k",
            ["unsigned long long int n", "float4 v"],
        ),
        (
            "__global__ void __launch_bounds__(256, 2) k(int n /* size */, // b\n float b)",
            "k",
            ["int n", "float b"],
        ),
        ("__global__ void k(float* RESTRICT y, const int *NOALIAS const x)", "k", ["float* y", "int* x"]),
        ("__global__ void k()", "k", []),
        ("__global__ void k(void)", "k", []),
        ("__global__ void k(int, float*)", "k", ["int ", "float* "]),
        ("__global__ void k(float x[], float** p)", "k", ["float* x", "float** p"]),
        (
            "template<typename T, int N> __global__ void k(T* x, T a)",
            "k<double, 4>",
            ["double* x", "double a"],
        ),
        ("template<class T> __global__ void k(Array<T, 3> x)", "ns::k<float>", ["Array<float, 3> x"]),
        ("__device__ void k(int a) {} __global__ void k(float b)", "k", ["float b"]),
        ("__global__ void kk(int a) {} __global__ void k(float b)", "k", ["float b"]),
    ],
)
def test_signature(source, kernel, expected):
    found = parse_signature(source + " {}", kernel)
    assert [f"{p.ctype} {p.name}" for p in found] == expected


@pytest.mark.parametrize(
    "source", ["KERNEL(k)(int n) {}", "", "__global__ void other(int n) {}", "__global__ void k(int n"]
)
def test_no_signature(source):
    assert parse_signature(source, "k") is None


def test_const_of_a_signature_is_that_of_the_data():
    found = parse_signature(
        "__global__ void k(float* const a, const float* b, float const* c, float* d) {}", "k"
    )
    assert [p.const for p in found] == [False, True, True, False]


def test_every_kernel_of_the_h200_data_can_be_read():
    cases = json.loads((Path(__file__).parents[1] / "data/h200/cases.json").read_text())
    for case in cases:
        found = parse_signature(case["source"], case["kernel"])
        kinds = [argument[0] != "scalar" for argument in case["arguments"]]
        assert [p.pointer for p in found] == kinds, case["case"]
