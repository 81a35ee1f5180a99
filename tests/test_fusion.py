"""Chapter 05: its views at the ends of every slider, its formulas, its kernels and the recorded ones."""

import ast
import json
from pathlib import Path

import numpy as np
import pytest

from course_lib import evidence, recorded
from course_lib import standin as cp
from course_lib.chapters import fusion_kernels as k
from course_lib.chapters import fusion_rows as r
from course_lib.chapters import fusion_times
from course_lib.chapters import fusion_views as views
from course_lib.chapters.fusion_pictures import Step, draw_sms, draw_traffic
from course_lib.sliders import explore
from course_lib.sweeps import sweep

ROOT = Path(__file__).parents[1]
CHAPTER = ROOT / "notebooks" / "05_fusion.ipynb"


def strings() -> list[str]:
    """The string constants of the chapter's code."""
    book = json.loads(CHAPTER.read_text(encoding="utf-8"))
    trees = [ast.parse("".join(cell["source"])) for cell in book["cells"] if cell["cell_type"] == "code"]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    return [n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)]


def test_the_kernels_of_the_chapter_are_the_recorded_ones():
    found = strings()
    assert k.POINTWISE in found
    assert r.BLOCK_REDUCE in found
    for kernel in (r.SOFTMAX, r.LAYER_NORM, r.ROW_SUM):
        assert kernel.source.removeprefix(r.BLOCK_REDUCE) in found
    assert any(k.MATMUL.source.endswith(text.lstrip("\n")) for text in found if "void matmul(" in text)
    assert k.SIN_COS.options[-1].removeprefix("-DBODY=") in found


def test_a_chain_runs_counts_and_adds_up():
    chain = views.Chain(cp, k.POINTWISE)
    x = cp.arange(1024, dtype=cp.float32)
    y = chain("out[i] = a[i] + b[i]", chain("out[i] = 2.0f * a[i]", x), x)
    np.testing.assert_array_equal(np.asarray(y), 3 * np.arange(1024))
    assert chain.steps(x.nbytes) == [Step("2.0f * a[i]", 1, 1), Step("a[i] + b[i]", 2, 1)]
    assert (chain.total["kernels"], chain.total[views.READ], chain.total[views.WRITTEN]) == (2, 12288, 8192)
    half = views.Chain(cp, k.POINTWISE)
    half("out[i] = a[i]", x.astype(cp.float16))
    assert half.total[views.READ] == 2048


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"),
        (24 * 512, "MN"),
        (5 * 24 * 512 + 48, "5MN + 2M"),
        (7 * 24 * 512 + 1024 + 48, "7MN + 2N + 2M"),
        (3, "3"),
    ],
)
def test_formulas(count, text):
    assert views.formula(count, 24, 512) == text


@pytest.mark.parametrize(("steps", "apart"), [(1, 2), (8, 16), (256, 512)])
def test_steps_slider(steps, apart):
    figure, text = views.steps_view(cp, k.POINTWISE)(steps)
    assert f"counted, {steps} step(s): {apart} arrays moved with a kernel each, 2 with one for all" in text
    assert ("issue slots" in text) == (steps == 256)
    assert figure.axes


@pytest.mark.parametrize(
    ("length", "rows", "busy"),
    [(1 << 6, "1,048,576", 132), (1 << 20, "64", 64), (1 << 23, "8", 8), (1 << 26, "1", 1)],
)
def test_rows_slider(length, rows, busy):
    _, text = views.row_view(r.ROW_SUM.compile(cp))(length)
    assert text.startswith(f"{rows} rows of {length:,} floats keep busy: a block per row {busy} of 132 SMs")
    assert "rows in parts 132 of 132 SMs" in text


@pytest.mark.parametrize(
    ("view", "values"),
    [
        (views.steps_view(cp, k.POINTWISE), {"steps": [1, 2, 4, 8, 16, 32, 64, 128, 256]}),
        (views.row_view(r.ROW_SUM.compile(cp)), {"length": [1 << power for power in range(6, 27)]}),
    ],
)
def test_sliders_run_at_start_first_and_last(view, values, capsys):
    explorer = explore(view, **values)
    assert capsys.readouterr().out
    for chosen in explorer.extremes():
        assert view(**chosen)[0].axes


def test_pictures_say_what_was_moved():
    figure = draw_traffic({"two": [Step("a", 1, 1), Step("b", 2, 0)], "one": [Step("c", 1, 0)]}, "title")
    assert [text.get_text() for text in figure.axes[0].texts] == ["two: 4", "one: 1"]
    figure = draw_sms({"few": 3}, 10)
    assert figure.axes[0].texts[0].get_text() == "few: 3 blocks keep 3 of 10 SMs busy"


def test_fusing_helps_on_every_gpu():
    five, one = views.Chain(cp, k.POINTWISE), views.Chain(cp, k.POINTWISE)
    x = cp.ones(16384, cp.float32)
    for _ in range(5):
        five("out[i] = a[i] * a[i]", x)
    one("out[i] = a[i] * a[i]", x)
    verdicts = {row[0].text: row[-1].text for row in views.by_gpu(five, one).rows}
    assert set(verdicts.values()) == {"yes, 5.0 times faster"}


def test_without_a_gpu_the_chapter_says_what_is_missing():
    assert "no cp.fuse" in views.fuse_here(cp)
    assert "nothing is measured" in views.asynchrony(cp)


def test_times_without_a_record(monkeypatch):
    monkeypatch.setattr(fusion_times, "recording", lambda name: None)
    table = fusion_times.times("fusion_bits")
    assert table.header == ["launch", "modelled ms, H200", "limited by"]
    assert [row[0].text for row in table.rows] == ["fp32", "fp16"]
    assert "not recorded yet" in table.caption


def test_chart_of_steps(monkeypatch):
    labels = [text.get_text() for text in fusion_times.steps_chart().axes[0].get_legend().get_texts()]
    assert labels[0] == "fused (modelled, H200)"
    monkeypatch.setattr(fusion_times, "recording", lambda name: None)
    assert "not recorded yet" in fusion_times.steps_chart().axes[0].get_title()


def test_times_with_a_record(monkeypatch, tmp_path):
    chosen = sweep("fusion_gelu")
    rows = []
    for row, ms in zip(
        (*chosen.points(1024), *chosen.calls(1024)), (0.5, 0.25, 0.125, 2.0, 0.6), strict=False
    ):
        time = {"median_ms": ms, "low_ms": ms, "high_ms": ms, "n": 3, "useful_bytes": row.useful_bytes}
        rows.append({**row.columns, **time})
    meta = dict.fromkeys(recorded.PROVENANCE, "x")
    table = recorded.write(tmp_path / "fusion_gelu.csv", rows, meta)
    monkeypatch.setattr(fusion_times, "recording", lambda name: table)
    shown = {row[0].text: [cell.text for cell in row[1:]] for row in fusion_times.times("fusion_gelu").rows}
    assert shown["float4"][0] == "0.25"
    assert shown["float4"][2:4] == ["50%", "8.00x"]
    assert shown["device copy"][2:] == ["100%", "", "", "", ""]
    assert "PyTorch" not in shown


@pytest.mark.parametrize("name", ["fusion_softmax", "fusion_layer_norm", "fusion_row_sum", "fusion_gelu"])
def test_recorded_bars(name):
    """Rows at 90 % of the device's copy; softmax 2 and LayerNorm 1.6 times as fast as PyTorch's."""
    table = evidence.recording(name)
    if table is None:
        pytest.skip("not recorded yet")
    rate = {row["variant"]: row["useful_bytes"] / row["median_ms"] for row in table.rows()}
    best = max(rate[variant] for variant in rate if variant.startswith("fused float4"))
    assert best >= 0.9 * rate["device copy"]
    least = {"fusion_softmax": 2.0, "fusion_layer_norm": 1.6}.get(name)
    if least and "PyTorch" in rate:
        assert best >= least * rate["PyTorch"]
