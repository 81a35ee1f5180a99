"""compile_source: what it adds, what it says of errors, and the stored entries."""

import json
import re
import subprocess
import sys

import pytest

from course_lib.emulator import compile_source, stored, toolkit
from course_lib.emulator.compile import STORED_ONLY
from course_lib.emulator.errors import CompileError, UnsupportedError
from course_lib.emulator.hints import NAMES, STD_HEADERS, hints

SCALE = """
extern "C" __global__ void scale(float* y, const float* x, float a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}
"""


def kernel(body, before=""):
    return f'{before}\nextern "C" __global__ void k(float* y)\n{{\n    {body}\n}}\n'


def test_ptx_and_cubin_come_for_sm_90():
    compiled = compile_source(SCALE)
    assert ".target sm_90" in compiled.ptx
    assert compiled.cubin[:4] == b"\x7fELF"
    assert compiled.entries == ["scale"]


def test_flushes_subnormals_as_cupy_does():
    assert "mul.ftz.f32" in compile_source(SCALE).ptx


def test_an_option_of_the_learner_wins():
    assert "mul.f32" in compile_source(SCALE, ("-ftz=false",)).ptx
    body = kernel("y[0] = __cplusplus;")
    assert float_bits(201402.0) in compile_source(body, ("--std=c++14",)).ptx
    assert float_bits(201703.0) in compile_source(body).ptx


def float_bits(value):
    import numpy as np

    return str(np.float32(value).view(np.uint32))


def test_lines_and_file_name_in_the_ptx_are_those_of_the_source():
    ptx = compile_source(SCALE).ptx
    assert '.file	1 "kernel.cu"' in ptx
    assert "\t.loc\t1 5 " in ptx


def test_second_compile_is_the_same_object():
    assert compile_source(SCALE) is compile_source(SCALE, [])


def test_name_expressions_give_lowered_names():
    source = "template <typename T> __global__ void fill(T* x) { x[0] = 1; }"
    compiled = compile_source(source, name_expressions=("fill<float>", "fill<int>"))
    assert dict(compiled.lowered) == {"fill<float>": "_Z4fillIfEvPT_", "fill<int>": "_Z4fillIiEvPT_"}
    assert sorted(compiled.entries) == sorted(compiled.lowered.values())


@pytest.mark.parametrize("header", ["cuda_fp16.h", "mma.h", "cooperative_groups.h", "cuda/std/limits"])
def test_headers_come_from_wheels_whatever_the_environment_says(header, monkeypatch):
    monkeypatch.setenv("CUDA_PATH", "/nonexistent")
    monkeypatch.setenv("CUDA_HOME", "/nonexistent")
    assert compile_source(kernel(f"y[0] = {len(header)};", f"#include <{header}>")).entries == ["k"]
    assert all("nvidia" in folder.parts for folder in toolkit.include_dirs(13))


def test_error_names_the_line_of_the_source():
    with pytest.raises(CompileError, match=r'^k, line 4: error: identifier "fooo" is undefined') as caught:
        compile_source(kernel("int unused; fooo(1);"))
    assert str(caught.value).endswith("1 error detected.")
    assert not re.search(r"kernel\.cu|#177|diag-suppress", str(caught.value))


@pytest.mark.parametrize(
    ("before", "body", "advice"),
    [
        ("#include <cfloat>", "y[0] = 1;", "<cuda/std/limits>"),
        ("#include <type_traits>", "y[0] = 1;", "<cuda/std/type_traits>"),
        ("#include <limits>", "y[0] = 1;", "<cuda/std/limits>"),
        ("#include <cmath>", "y[0] = 1;", "built in"),
        ("#include <cstdio>", "y[0] = 1;", "printf is built in"),
        ("#include <iostream>", "y[0] = 1;", "host code"),
        ("", "y[0] = INFINITY;", "__int_as_float(0x7f800000)"),
        ("", "y[0] = FLT_MAX;", "3.402823466e+38f"),
        ("", "uint32_t i = 1; y[i] = 0;", "unsigned int"),
        ("", "y[0] = std::max(1, 2);", "max(a, b) is built in"),
        ("", "y[0] = std::numeric_limits<float>::max();", "<cuda/std/limits>"),
        ("", "y[0] = __half2float(__half(1));", "cuda_fp16.h"),
        ("using namespace nvcuda;", "y[0] = 1;", "mma.h"),
        ("int f() { return 1; }", "y[0] = 1;", "__device__"),
        (
            "",
            "__shared__ float s[20000]; s[threadIdx.x] = y[1]; __syncthreads(); y[0] = s[9];",
            "extern __shared__",
        ),
    ],
)
def test_hint(before, body, advice):
    with pytest.raises(CompileError) as caught:
        compile_source(kernel(body, before))
    lines = [line for line in str(caught.value).splitlines() if line.startswith("Hint: ")]
    assert any(advice in line for line in lines)


def test_what_the_hints_say_compiles():
    body = 'y[0] = __int_as_float(0x7f800000); y[1] = nanf(""); y[3] = max(1, 2);'
    body += "y[2] = cuda::std::numeric_limits<float>::max();"
    includes = "#include <cuda/std/limits>\n#include <cuda/std/climits>\n#include <cuda/std/cstdint>"
    body += "y[4] = INT_MAX; cuda::std::uint32_t i = 5; y[i] = UINT_MAX;"
    assert compile_source(kernel(body, includes)).entries == ["k"]
    folders = toolkit.include_dirs(13)
    assert all(any((f / "cuda/std" / name).exists() for f in folders) for name in STD_HEADERS.values())
    assert "unsigned long long" in NAMES["uint64_t"]


@pytest.mark.parametrize(
    ("header", "wheel"),
    [
        ("cuda_fp16.h", "nvidia-cuda-runtime"),
        ("crt/mma.h", "nvidia-cuda-crt"),
        ("cuda/barrier", "nvidia-cuda-cccl"),
    ],
)
def test_missing_header_names_its_wheel(header, wheel):
    (advice,) = hints(
        f'cannot open source file "{header}"', "", ("nvidia-cuda-runtime", "nvidia-cuda-crt", wheel)
    )
    assert f"pip install {wheel}" in advice


def test_wrong_option():
    with pytest.raises(CompileError, match=r"(?s)unrecognized option --bogus.*Hint: options are a tuple"):
        compile_source(SCALE, ("--bogus",))
    with pytest.raises(CompileError, match="architecture"):
        compile_source(SCALE, ("-arch=sm_80",))


def test_wrong_name_expression():
    with pytest.raises(CompileError, match="name expression names a kernel"):
        compile_source(SCALE, name_expressions=("none<float>",))


def test_source_must_be_text():
    with pytest.raises(TypeError, match="bytes"):
        compile_source(b"...")


def test_recording_sees_cached_compiles_too():
    compile_source(SCALE)
    with stored.record_compiles() as found:
        compile_source(SCALE)
    compile_source(SCALE)
    assert [entry.entries for entry in found] == [["scale"]]


def test_stored_entry_replaces_the_compiler(tmp_path, monkeypatch):
    compiled = compile_source(SCALE, ("-DN=3",))
    monkeypatch.setattr(stored, "FOLDER", tmp_path)
    path = stored.save(compiled, tmp_path)
    assert json.loads(path.read_text())["key"] == stored.key(SCALE, ("-DN=3",), ())
    monkeypatch.setenv(STORED_ONLY, "1")
    again = compile_source(SCALE, ("-DN=3",))
    assert again.ptx == compiled.ptx
    assert again.cubin == b""
    assert again.resources("scale") == compiled.resources("scale")
    with pytest.raises(UnsupportedError, match="no NVRTC"):
        compile_source(SCALE + "// changed", ("-DN=3",))


def test_stored_entries_hold_no_path_of_this_machine(tmp_path):
    source = kernel(
        "y[0] = __half2float(__hadd(__float2half(y[1]), __float2half(2.f)));", "#include <cuda_fp16.h>"
    )
    text = stored.save(compile_source(source), tmp_path).read_text()
    assert str(toolkit.include_dirs(13)[0]) not in text
    assert "site-packages" not in text


def test_environment_variable_records_every_compile(tmp_path):
    code = f"from course_lib.emulator import compile_source; compile_source({SCALE!r})"
    env = {"COURSE_RECORD_PTX": str(tmp_path), "PATH": "", "PYTHONPATH": str(stored.FOLDER.parents[1])}
    subprocess.run([sys.executable, "-c", code], env=env, check=True)
    assert len(list(tmp_path.glob("*.json"))) == 1


def test_command_line_keeps_the_kernels_of_a_notebook(tmp_path):
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("nbclient")
    cell = f"from course_lib.emulator import compile_source\ncompile_source({SCALE!r});"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)])
    nbformat.write(notebook, tmp_path / "01_small.ipynb")
    stored.main([str(tmp_path / "01_small.ipynb"), "--folder", str(tmp_path / "ptx")])
    (entry,) = (tmp_path / "ptx").glob("*.json")
    assert json.loads(entry.read_text())["resources"]["scale"]["max_threads"] == 1024


def test_other_options_make_other_machine_code():
    # Also with a driver, whose cache NVRTC 13.0 asks by the source alone: seen on an H200.
    source = 'extern "C" __global__ void k(float* x) { x[threadIdx.x] = tanhf(x[threadIdx.x]); }'
    plain, fast = compile_source(source), compile_source(source, ("--use_fast_math",))
    assert "tanh.approx" in fast.ptx
    assert plain.cubin != fast.cubin


def test_the_first_three_errors_are_shown_and_the_others_counted():
    with pytest.raises(CompileError) as raised:
        compile_source('extern "C" __global__ void k(int* y) { a; b; c; d; e; }')
    text = str(raised.value)
    assert [name for name in "abcde" if f'identifier "{name}"' in text] == ["a", "b", "c"]
    assert "... and 2 more errors" in text
    assert "5 errors detected." in text


def test_notes_on_headers_are_counted_not_shown():
    source = """#include <mma.h>
extern "C" __global__ void k() {
    nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, int> sum;
    nvcuda::wmma::mma_sync(sum, sum, sum, sum);
}"""
    with pytest.raises(CompileError) as raised:
        compile_source(source)
    text = str(raised.value)
    assert "notes on what was tried)" in text
    assert "mma.hpp" not in text


def test_a_note_on_the_source_itself_stays():
    with pytest.raises(CompileError, match=r'note .*to match this "{"'):
        compile_source('extern "C" __global__ void k() {')
