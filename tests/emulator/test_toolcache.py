"""What NVRTC and nvdisasm made is the same when it comes from the folder of the run."""

import pytest

from course_lib.emulator import compile as compiling
from course_lib.emulator import sass, toolcache
from course_lib.emulator.errors import CompileError

TEMPLATE = "template <class T> __global__ void copy(T *y, const T *x) { y[threadIdx.x] = x[threadIdx.x]; }"
REQUEST = (TEMPLATE, ("-std=c++17",), ("copy<float>", "copy<double>"))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(toolcache.VARIABLE, str(tmp_path))
    return tmp_path


def made(request):
    """As another process would make it."""
    compiled = compiling._compile_cached.__wrapped__(*request)
    (entry, *_) = compiled.entries
    number = sass.symbol_number(compiled.cubin, entry)
    listing = sass._disassemble.__wrapped__(compiled.cubin, number, str(sass.toolkit.tool("nvdisasm")))
    return compiled.ptx, compiled.cubin, dict(compiled.lowered), compiled.log, listing


def test_the_same_with_it_and_without(folder, monkeypatch):
    first = made(REQUEST)
    assert len(list(folder.iterdir())) == 2
    monkeypatch.setattr(compiling, "_compile", None)
    monkeypatch.setattr(sass, "_run_nvdisasm", None)
    assert made(REQUEST) == first
    monkeypatch.undo()
    monkeypatch.delenv(toolcache.VARIABLE)
    assert made(REQUEST) == first


@pytest.mark.parametrize(
    "other",
    [(TEMPLATE + " ", *REQUEST[1:]), (TEMPLATE, ("-std=c++20",), REQUEST[2]), (*REQUEST[:2], ("copy<int>",))],
)
def test_another_request_is_another_entry(other, folder):
    made(REQUEST)
    before = len(list(folder.iterdir()))
    made(other)
    assert len(list(folder.iterdir())) > before


def test_an_error_is_found_each_time(folder):
    for _ in range(2):
        with pytest.raises(CompileError, match="line 1: error"):
            made(("__global__ void f( {", (), ()))
    assert not list(folder.iterdir())


def test_without_a_folder_nothing_is_kept(monkeypatch):
    monkeypatch.delenv(toolcache.VARIABLE, raising=False)
    answers = iter([1, 2])
    assert [toolcache.kept(lambda: next(answers), "x") for _ in range(2)] == [1, 2]
