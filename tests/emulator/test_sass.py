"""Disassembly: opcodes, and the CUDA and PTX lines each instruction comes from."""

import pytest

from course_lib.emulator import compile_source, toolkit
from course_lib.emulator.errors import EmulatorError, UnsupportedError
from course_lib.emulator.sass import sass, sass_lines

SOURCE = """
__device__ float square(float x)
{
    return x * x + 1.f;
}
extern "C" __global__ void k(float* y, const float* x)
{
    __shared__ float s[64];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = square(s[63 - threadIdx.x]);
}
extern "C" __global__ void other(double* y) { y[0] = y[1] / y[2]; }
"""


@pytest.fixture(scope="module")
def compiled():
    if toolkit.tool("nvdisasm") is None:
        pytest.skip("no nvidia-cuda-nvdisasm wheel")
    return compile_source(SOURCE)


def line_of(compiled, opcode):
    return next(line for line in sass_lines(compiled.cubin, "k") if opcode in line.text)


def test_text_has_this_kernel_only(compiled):
    text = sass(compiled.cubin, "k")
    assert text.startswith("k:\n")
    assert "LDG.E" in text
    assert "STS" in text
    assert "DFMA" not in text
    assert "DFMA" in sass(compiled.cubin, "other")


@pytest.mark.parametrize(
    ("opcode", "source_line", "ptx"),
    [
        ("LDG.E", 9, "ld.global"),
        ("STS", 9, "st.shared.f32"),
        ("BAR.SYNC", 10, "bar.sync"),
        ("LDS", 11, "ld.shared.f32"),
        ("FFMA", 4, "fma.rn.ftz.f32"),
        ("STG.E", 11, "st.global.f32"),
    ],
)
def test_lines(compiled, opcode, source_line, ptx):
    line = line_of(compiled, opcode)
    assert line.source_line == source_line
    assert ptx in compiled.ptx.splitlines()[line.ptx_line - 1]


def test_addresses_step_by_sixteen_bytes(compiled):
    addresses = [line.address for line in sass_lines(compiled.cubin, "k")]
    assert addresses == list(range(0, 16 * len(addresses), 16))


def test_code_the_compiler_brings_has_no_line(compiled):
    lines = sass_lines(compiled.cubin, "other")
    assert {line.source_line for line in lines} == {0, 13}


def test_clear_words_where_it_cannot_work(compiled, monkeypatch):
    with pytest.raises(EmulatorError, match="not 'j'"):
        sass(compiled.cubin, "j")
    with pytest.raises(UnsupportedError, match="data/ptx"):
        sass(b"", "k")
    monkeypatch.setattr(toolkit, "tool", lambda name: None)
    with pytest.raises(UnsupportedError, match="pip install nvidia-cuda-nvdisasm"):
        sass(compiled.cubin, "k")
