"""Chapter 07: waves by hand, its picture, its slider at both ends, the kernels of its sweeps."""

import json
from pathlib import Path

import numpy as np
import pytest

from course_lib.chapters import wave_kernels as k
from course_lib.chapters import wave_sweeps as sweeps
from course_lib.chapters import wave_times as times
from course_lib.chapters import wave_views as views
from course_lib.chapters import waves as w
from course_lib.chapters.wave_picture import gantt, tail_start, used
from course_lib.recorded import write
from course_lib.sliders import explore

ROOT = Path(__file__).parents[1]


# -- arithmetic: the figures of the notes ---------------------------------------------


def test_tiles_of_the_notes():
    assert w.tiles(1792, 1792, (256, 128)) == 7 * 14 == 98
    assert w.tiles(1793, 1793, (256, 128)) == 8 * 15 == 120


@pytest.mark.parametrize(
    ("blocks", "sms", "per_sm", "expected"),
    [
        (98, 108, 1, [98]),
        (120, 108, 1, [108, 12]),
        (160, 148, 1, [148, 12]),
        (264, 132, 2, [264]),
        (265, 132, 2, [264, 1]),
        (1, 148, 1, [1]),
    ],
)
def test_waves(blocks, sms, per_sm, expected):
    assert w.waves(blocks, sms, per_sm) == expected


def test_efficiency_is_work_over_places():
    assert w.efficiency(120, 108) == pytest.approx(120 / 216)
    assert w.efficiency(132, 132) == 1


def test_words_of_waves():
    assert views.wave_words(160, 148) == "148 + 12"
    assert views.wave_words(6601, 132) == "50 x 132 + 1"
    assert views.wave_words(132, 132) == "132"


# -- who works when -------------------------------------------------------------------


@pytest.mark.parametrize(("blocks", "places"), [(98, 108), (120, 108), (160, 148), (397, 132)])
def test_equal_blocks_end_with_their_waves(blocks, places):
    turns = w.hardware_order([1.0] * blocks, places)
    assert w.finish(turns) == len(w.waves(blocks, places))
    assert [sum(t.wave == n for t in turns) for n in range(len(w.waves(blocks, places)))] == w.waves(
        blocks, places
    )


@pytest.mark.parametrize(("count", "places"), [(160, 148), (7, 6), (2, 8), (133, 132)])
def test_equal_shares_end_together_and_do_everything(count, places):
    turns = w.equal_shares(count, places)
    ends = [max(t.end for t in turns if t.place == place) for place in range(places)]
    assert ends == pytest.approx([count / places] * places)
    assert sum(t.end - t.start for t in turns) == pytest.approx(count)
    assert len(turns) <= count + places - 1


def test_whole_tiles_for_blocks_that_stay_keep_the_tail():
    assert w.finish(w.fixed_order([1.0] * 160, 148)) == 2
    assert w.finish(w.split(160, 4, 148)) == 1.25  # 640 quarters in 5 waves


def test_a_queue_by_hand():
    """Jobs 3, 1, 1, 2 in 2 places: 3 | 1 1, then 2 starts at 2 in the second place."""
    turns = w.hardware_order([3, 1, 1, 2], 2)
    assert [(t.place, t.start, t.end) for t in turns] == [(0, 0, 3), (1, 0, 1), (1, 1, 2), (1, 2, 4)]
    assert tail_start(turns) == 3
    assert used(turns, 2) == pytest.approx(7 / 8)


def test_picture_has_a_panel_for_each_plan_and_colours_the_tail():
    figure = gantt({"two": w.hardware_order([1.0] * 3, 2), "one": w.hardware_order([1.0] * 2, 2)}, 2, "demo")
    assert len(figure.axes) == 2
    hatched = [sum(c.get_hatch() == "///" for c in axes.collections) for axes in figure.axes]
    assert hatched == [1, 0]


def test_the_legend_names_the_piece_of_work():
    plan = {"one": w.hardware_order([1.0] * 2, 2)}
    first = [
        figure.legends[0].get_texts()[0].get_text()
        for figure in (gantt(plan, 2, "demo"), gantt(plan, 2, "demo", place="block", piece="tile"))
    ]
    assert first == ["block", "tile"]


# -- clocks and times -----------------------------------------------------------------


def test_blocks_that_wait_share_an_sm_freely_and_blocks_that_fill_it_do_not():
    assert [w.block_clocks(n, 1, 128, 1) for n in (1, 2, 4, 8)] == [1024, 1024, 1024, 2048]
    assert [w.block_clocks(n, 4, 256, 1) for n in (1, 2, 4)] == [512, 1024, 2048]


def test_predicted_steps():
    """Waiting: steps of 264. Filling: steps of 132, whether 1 or 4 blocks fit."""
    for name, width in (("waves_waiting", 264), ("waves_filling", 132), ("waves_sharing", 132)):
        line = np.array([times.predicted(name, blocks) for blocks in range(1, 4 * width + 1)])
        assert (np.flatnonzero(np.diff(line) > 1e-9) + 1).tolist() == [width, 2 * width, 3 * width], name


def test_the_prediction_is_close_to_the_models():
    for blocks in (132, 133, 264):
        ratio = times.predicted("waves_filling", blocks) / views.modelled_tiles(blocks)
        assert ratio == pytest.approx(1, abs=0.1)  # the model counts the loop's instructions too


def test_cures_predicted():
    units, parts = sweeps.RECORDED_UNITS, sweeps.PARTS
    ms = {name: w.predicted_cure_ms(name, 160, units, parts) for name in sweeps.CURES}
    assert ms["a block a tile"] == ms["persistent"] > ms["split in 4"] > ms["equal shares"]


def test_only_gpus_with_132_sms_feel_the_133rd_tile():
    rows = {row[0].text: row[-1].text for row in views.one_more_by_gpu().rows}
    assert {name for name, verdict in rows.items() if verdict != "no"} == {"H100", "H200"}


# -- alignment ------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "width"), [(1792, 16), (1793, 2), (1794, 4), (1796, 8), (1800, 16)])
def test_alignment_of_rows_of_halves(size, width):
    assert views.alignment(size) == width
    assert 2 * size % width == 0
    assert width == 16 or 2 * size % (2 * width)


def test_a_product_costs_what_its_waves_cost():
    one = times.CHOICE[:1]
    assert times.cost(1792, one) == 256 * 128 * 1792
    assert times.cost(2056, one) == 2 * 256 * 128 * 2056  # 9 x 17 tiles
    assert times.cost(2056, times.CHOICE) == 192 * 192 * 2056  # 11 x 11 tiles


def test_a_fit_finds_the_start_and_the_rate():
    sizes = np.array([1536, 1792, 2056, 2304])
    ms = np.array([0.006 + 3e-10 * times.cost(int(n), times.CHOICE) for n in sizes])
    assert times.fitted(sizes, ms, times.CHOICE) == pytest.approx((0.006, 3e-10))


# -- slider, tables, charts -----------------------------------------------------------


def test_slider_at_start_first_and_last(capsys):
    explorer = explore(
        views.show_waves, size=range(1024, 4097), tile=list(views.TILES), sms=[40, 82, 108, 132, 148]
    )
    assert "120 tiles on 108 SMs" in capsys.readouterr().out
    for values in explorer.extremes():
        figure, text = views.show_waves(**values)
        assert figure.axes
        assert "modelled" in text
    assert "32 tiles on 40 SMs" in views.show_waves(1024, "256 x 128", 40)[1]


def test_tables_and_charts_without_a_recording(monkeypatch):
    for module in (views, times):
        monkeypatch.setattr(module, "recording", lambda name: None)
    assert "not recorded yet" in repr(views.gemm_table())
    assert "not recorded yet" in views.two_effects()
    assert "not recorded yet" in times.step_words("waves_filling", 132, 133)
    assert "not recorded yet" in repr(times.many_table()) + repr(times.cures_table())
    assert times.gemm_chart() is None
    assert times.aligned_chart() is None
    assert times.many_chart().axes
    assert "modelled 1.00, not recorded yet" in times.together_words()
    assert times.model_words().count("not recorded yet") == 2
    assert times.cures_chart().axes
    assert "not recorded yet" in times.step_chart("waves_filling", "x").axes[0].get_title()


def test_tables_and_charts_with_one(monkeypatch, tmp_path):
    """Times that are the prediction exactly, and products of 1000 ms."""
    spread = {"n": 3}
    rows = {
        name: [
            p.columns | _quartiles(times.predicted(name, p.columns["blocks"])) | spread
            for p in times.sweep(name).points(1)
        ]
        for name in times.KERNELS
    }
    rows["waves_cures"] = [p.columns | _quartiles(1.0) | spread for p in sweeps.cures(1)]
    rows["waves_gemm"] = [
        c.columns | _quartiles(1000.0) | spread | {"flops": c.flops} for c in sweeps.gemm(1)
    ]
    meta = dict.fromkeys(("gpu", "driver", "cuda", "cupy", "date", "script", "median", "spread"), "x")
    tables = {name: write(tmp_path / f"{name}.csv", found, meta) for name, found in rows.items()}
    for module in (views, times):
        monkeypatch.setattr(module, "recording", tables.get)
    assert "1.00 to 1.00" in times.step_chart("waves_sharing", "x").axes[0].get_title()
    assert "recorded: +96" in times.step_words("waves_filling", 132, 133)
    assert "+2.0%" in repr(times.many_table())
    assert views.rate(1792) == pytest.approx(2 * 1792**3 / 1e12)
    assert views.fall() == pytest.approx((1792 / 1793) ** 3)
    assert "rate falls by a factor of 1.0" in views.two_effects()
    assert "padded rows" in repr(views.gemm_table())
    assert "modelled 1.00, recorded 1.00" in times.together_words()
    assert times.model_words().count("modelled / recorded") == 2
    for figure in (times.gemm_chart(), times.aligned_chart(), times.cures_chart(), times.many_chart()):
        assert len(figure.axes[0].lines) > 1
    assert "1.000" in repr(times.cures_table())


def _quartiles(ms: float) -> dict[str, float]:
    return {"median_ms": ms, "low_ms": 0.99 * ms, "high_ms": 1.01 * ms}


# -- the notebook ---------------------------------------------------------------------


def test_the_kernels_of_the_chapter_are_the_recorded_ones():
    book = json.loads((ROOT / "notebooks" / "07_wave_quantization.ipynb").read_text(encoding="utf-8"))
    cells = ["".join(cell["source"]) for cell in book["cells"]]
    assert any(f'work = r"""{k.WORK}"""' == cell for cell in cells)
    for kernel in (k.ONE_EACH, k.SHARES, k.SPLIT, k.PERSISTENT):
        assert any(kernel.source.removeprefix(k.WORK) in cell for cell in cells), kernel.name
