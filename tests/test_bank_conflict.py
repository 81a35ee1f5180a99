"""Chapter 03: its views at the ends of every slider, and what its notebooks share with the recorded kernels.

Wavefronts are those of an H200: `data/h200/banks.json` (one warp) and `cases.json` (the transposes).
"""

import ast
import json
from pathlib import Path

import pytest

from course_lib import kernels
from course_lib.chapters import bank_views as views
from course_lib.emulator import RawKernel
from course_lib.sliders import explore

ROOT = Path(__file__).parents[1]
CHAPTER = ROOT / "notebooks" / "03_bank_conflict.ipynb"


def cells(path: Path) -> dict[str, str]:
    """Cell id -> source."""
    book = json.loads(path.read_text(encoding="utf-8"))
    return {cell["id"]: "".join(cell["source"]) for cell in book["cells"]}


def source(kernel: str) -> str:
    """The CUDA source of the chapter that defines a kernel."""
    trees = (
        ast.parse(text) for id_, text in cells(CHAPTER).items() if "RawKernel" in text and "text" not in id_
    )
    strings = [n.value for tree in trees for n in ast.walk(tree) if isinstance(n, ast.Constant)]
    return next(s for s in strings if isinstance(s, str) and f"void {kernel}(" in s)


DEMO = source("demo")
KEPT = RawKernel(DEMO.replace("__shared__ int", "__shared__ volatile int"), "demo")
TILED = RawKernel(source("transpose_tiled"), "transpose_tiled")


# banks.json: broadcast, strides of 1, 2, 32 and 33 words. OFFSET 64, by hand: lanes 0 and 16 share a word,
# 16 words of one bank are left.
@pytest.mark.parametrize(("offset", "ways"), [(0, 1), (1, 1), (2, 2), (32, 32), (33, 1), (64, 16)])
def test_offset_slider(offset, ways):
    text = views.offset_view(KEPT)(offset)[1]
    assert f"512 stores take {512 * ways:,} wavefronts, 512 loads take {512 * ways:,} wavefronts" in text
    assert ("no hazard" in text) == (offset % 2 == 1)


# cases.json, tr_pad0 and tr_pad4: 32 and 4 wavefronts a load. PAD 33 is PAD 1: rows start one bank apart.
@pytest.mark.parametrize(("padding", "ways"), [(0, 32), (1, 1), (4, 4), (33, 1)])
def test_padding_slider(padding, ways):
    text = views.padding_view(TILED)(padding)[1]
    assert f"128 stores take 128 wavefronts, 128 loads take {128 * ways:,} wavefronts" in text
    assert f"{4 * 32 * (32 + padding):,} bytes" in text


@pytest.mark.parametrize(
    ("view", "values"),
    [(views.offset_view(KEPT), {"offset": range(65)}), (views.padding_view(TILED), {"padding": range(34)})],
)
def test_sliders_run_at_start_first_and_last(view, values, capsys):
    explorer = explore(view, **values)
    assert capsys.readouterr().out
    for chosen in explorer.extremes():
        figure, text = view(**chosen)
        assert figure.axes
        assert "wavefronts" in text


def test_the_compiler_drops_the_load_and_volatile_keeps_it():
    dropped, kept = (views.memory_instructions(k) for k in (RawKernel(DEMO, "demo"), KEPT))
    assert "st.shared" in dropped
    assert "ld.shared" not in dropped
    assert "ld.volatile.shared" in kept
    assert "param" not in kept


@pytest.mark.parametrize(
    "kernel", [kernels.TRANSPOSE_NAIVE, kernels.TRANSPOSE_TILED, kernels.TRANSPOSE_SWIZZLED]
)
def test_the_transposes_of_the_chapter_are_the_recorded_ones(kernel):
    assert source(kernel.name) == kernel.source


def test_padding_helps_where_dram_is_fast_enough():
    rows = {row[0].text: row[-1].text for row in views.transpose_by_gpu().rows}
    assert rows["H200"] == "yes, 2.1 times faster"  # recorded: 2.3 times, 0.330 to 0.145 ms
    assert rows["RTX 4090"] == "no"


def test_time_chart_shows_model_and_record():
    figure = views.offset_times()
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert labels == ["modelled, H200", "recorded, H200"]
    assert "nothing is measured" in views.measured_transposes()
