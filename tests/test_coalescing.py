"""Chapter 01: the functions behind its sliders, its patterns and kernels; sectors worked out by hand."""

import ast
import json
from pathlib import Path

import pytest

from course_lib import kernels
from course_lib.chapters.coalescing import LD_SECTORS, sectors_per_request
from course_lib.exercises import code_only
from course_lib.sliders import explore

CHAPTER = Path(__file__).parents[1] / "notebooks" / "01_coalescing.ipynb"


def code() -> list[str]:
    """Sources of the chapter's code cells."""
    cells = json.loads(CHAPTER.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def defined() -> dict:
    """What the chapter defines up to its second slider: imports, kernels, functions and values; no output."""
    names: dict = {}
    kept = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.Assign)
    for cell in code():
        body = [node for node in ast.parse(cell).body if isinstance(node, kept)]
        exec(compile(ast.Module(body, []), "chapter", "exec"), names)
        if "show_stride" in cell and "explore" in cell:
            return names
    raise AssertionError("the chapter has no slider for the stride")


@pytest.fixture(scope="module")
def chapter():
    return defined()


@pytest.mark.parametrize(("offset", "sectors"), [(0, 4), (1, 5), (8, 4), (31, 5), (32, 4)])
def test_offset(chapter, offset, sectors):
    assert sectors_per_request(chapter["count_offset"](offset)) == sectors
    figure, table = chapter["show_offset"](offset)
    assert f"OFFSET {offset}, counted: {sectors} sectors" in figure.texts[0].get_text()
    assert f"OFFSET {offset}" in str(table)


@pytest.mark.parametrize(
    ("stride", "sectors"), [(1, 4), (2, 8), (3, 12), (4, 16), (8, 32), (16, 32), (32, 32)]
)
def test_stride(chapter, stride, sectors):
    assert sectors_per_request(chapter["count_stride"](stride)) == sectors
    figure, table = chapter["show_stride"](stride)
    assert f"STRIDE {stride}, counted: {sectors} sectors" in figure.texts[0].get_text()
    assert f"STRIDE {stride}" in str(table)


@pytest.mark.parametrize("slider", ["show_offset", "show_stride"])
def test_sliders_run_at_start_first_and_last(chapter, slider, capsys):
    call = next(cell for cell in code() if cell.startswith(f"explore({slider}"))
    explorer = eval(call, {**chapter, "explore": explore})
    assert "sectors per request" in capsys.readouterr().out
    for values in explorer.extremes():
        figure, _ = chapter[slider](**values)
        assert figure.axes


def test_patterns(chapter):
    sectors = [chapter["sectors_read"](index) for index in chapter["patterns"].values()]
    scattered = {int(index) // 8 for index in chapter["patterns"]["anywhere in 4 KB"]}
    assert sectors == [4, 4, 4, 1, 5, 8, len(scattered)]


def test_near_and_far(chapter):
    near, far = chapter["counts"].values()
    assert (near[LD_SECTORS], far[LD_SECTORS]) == (65536 * 4 / 32, 65536)


@pytest.mark.parametrize(
    "kernel",
    [
        kernels.COPY_OFFSET,
        kernels.READ_STRIDED,
        kernels.SCALE_X_AOS,
        kernels.COPY_FLOAT4,
        kernels.MATMUL_NAIVE,
        kernels.MATMUL_COALESCED,
    ],
    ids=lambda kernel: kernel.name,
)
def test_the_kernels_of_the_chapter_are_the_recorded_ones(kernel):
    cell = next(cell for cell in code() if cell.startswith(f"{kernel.name} = cp.RawKernel"))
    strings = [node.value for node in ast.walk(ast.parse(cell)) if isinstance(node, ast.Constant)]
    assert code_only(kernel.source) in [code_only(text) for text in strings if isinstance(text, str)]
