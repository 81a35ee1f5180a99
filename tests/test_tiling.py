"""Chapter 02: its recorded launches, its views at the ends of every slider, its picture, its notebooks."""

import json
from pathlib import Path

import numpy as np
import pytest

from course_lib import profile
from course_lib import standin as cp
from course_lib.chapters import tiling_kernels as k
from course_lib.chapters import tiling_picture as picture
from course_lib.chapters import tiling_sweeps as sweeps
from course_lib.chapters import tiling_views as views
from course_lib.chapters.tiling import load_line, times_asked_of, times_read_of
from course_lib.sliders import explore

# -- what is recorded --------------------------------------------------------------


def run(point) -> list[np.ndarray]:
    """The arguments after the launch, as NumPy arrays; the output comes first."""
    arguments = point.arguments(cp)
    point.kernel.compile(cp)(point.grid, point.block, arguments)
    return [np.asarray(cp.asnumpy(a)) if getattr(a, "ndim", 0) else a for a in arguments]


def test_every_float_product_is_right():
    for point in sweeps.matmul(64):
        c, a, b, n = run(point)
        assert c.shape == (n, n) == (64, 64)
        np.testing.assert_allclose(c, a.astype(float) @ b, rtol=1e-5)


@pytest.mark.parametrize("n", [33, 64])
def test_every_guarded_product_is_right_and_leaves_the_padding_alone(n):
    for point in sweeps.edges(n):
        c, a, b, size, pitch = run(point)
        assert c.shape == (size, pitch)
        np.testing.assert_allclose(c[:, :size], a[:, :size].astype(float) @ b[:size, :size], rtol=1e-5)
        assert not c[:, size:].any()


def test_integer_products_have_no_error():
    for point in sweeps.integers(64):
        point.launcher(cp)()
        assert point.columns["errors"] == 0
        c, a, b, _ = run(point)
        assert a.min() < 0 < a.max()
        np.testing.assert_array_equal(c, a @ b)


def test_errors_are_found_where_there_are_some():
    good = sweeps.integers(64)[1]
    broken = k.Kernel("tiled", k.TILED.source.replace("first += TILE", "first += 2 * TILE"))
    point = sweeps.Compared(
        {}, sweeps.with_type(broken.define(TILE=16), "int"), good.grid, good.block, good.arguments
    )
    point.launcher(cp)
    assert point.columns["errors"] > 4000


def test_cublas_refuses_tf32(monkeypatch):
    monkeypatch.setenv("CUPY_TF32", "1")
    (call,) = sweeps.cublas(8)
    assert call.flops == 2 * 8**3
    with pytest.raises(RuntimeError, match="fp32"):
        call.launcher(cp)


def test_cublas_multiplies(monkeypatch):
    monkeypatch.delenv("CUPY_TF32", raising=False)
    product = sweeps.cublas(8)[0].launcher(cp)()
    given = cp.asnumpy(sweeps.floats(cp, 64)).reshape(8, 8)
    np.testing.assert_allclose(cp.asnumpy(product), given @ given, rtol=1e-5)


# -- the chapter -------------------------------------------------------------------

ROOT = Path(__file__).parents[1]
CHAPTER = ROOT / "notebooks" / "02_tiling.ipynb"
EVERY = (k.NAIVE, k.COALESCED, k.TILED, k.ADVANCED, k.GUARDED)
TILED, GUARDED = (kernel.define(TILE=16).compile(cp) for kernel in (k.TILED, k.GUARDED))


def cells(path: Path) -> dict[str, str]:
    """Cell id -> source."""
    book = json.loads(path.read_text(encoding="utf-8"))
    return {cell["id"]: "".join(cell["source"]) for cell in book["cells"]}


def test_the_kernels_of_the_chapter_are_the_recorded_ones():
    sources = cells(CHAPTER)
    for kernel in EVERY:
        assert f'"""{kernel.source}""", "{kernel.name}"' in sources[kernel.name]


# By hand, n = 64: A and B are read n / TILE times; a row of 4 (2) floats is half (a quarter) of a sector.
@pytest.mark.parametrize(("tile", "times"), [(2, 128), (4, 32), (8, 8), (16, 4), (32, 2)])
def test_tile_slider(tile, times):
    figure, table = views.tile_view(TILED)(tile)
    assert row(table, "times a byte is read") == f"{times}"
    assert row(table, "FLOP per byte loaded") == f"{16 / times:g}"
    assert f"A: each byte read {times} times" in titles(figure)


# By hand, n = 97, TILE 8: 13 tiles in a row and in a column. Padded rows: every byte 13 times.
@pytest.mark.parametrize(("pitch", "tile", "times"), [(104, 8, 13), (128, 8, 13), (104, 16, 7), (128, 32, 4)])
def test_pitch_slider(pitch, tile, times):
    figure, table = views.pitch_view(GUARDED)(pitch, tile)
    assert row(table, "times a byte is read") == str(times)
    assert f"B: each byte read {times} times" in titles(figure)


def test_rows_without_padding_cost_nearly_twice():
    table = views.pitch_view(GUARDED)(97, 8)[1]
    assert float(row(table, "times a byte is read")) == pytest.approx(13 * 2, rel=0.05)


def row(table, label: str) -> str:
    return next(cells_[1].text for cells_ in table.rows if cells_[0].text == label)


def titles(figure) -> list[str]:
    return [axes.get_title() for axes in figure.axes]


@pytest.mark.parametrize(
    ("view", "values"),
    [
        (views.tile_view(TILED), {"tile": [2, 4, 8, 16, 32]}),
        (views.pitch_view(GUARDED), {"pitch": range(97, 129), "tile": [8, 16, 32]}),
    ],
)
def test_sliders_run_at_start_first_and_last(view, values, capsys):
    explorer = explore(view, **values)
    assert capsys.readouterr().out
    for chosen in explorer.extremes():
        figure, table = view(**chosen)
        assert len(figure.axes) == 4
        assert "sectors loaded" in str(table)


# -- the picture: its requests are those of the emulator ---------------------------


def brought(requests) -> int:
    """Sectors of all requests."""
    return int(requests.per_sector(1 << 12).sum())


@pytest.mark.parametrize(
    ("n", "tile", "pitch"), [(64, 16, 64), (64, 4, 64), (64, 2, 64), (40, 16, 41), (97, 8, 97)]
)
def test_tiles_in_the_picture_are_those_counted(n, tile, pitch):
    counted = views.count_pitch(GUARDED, tile, pitch, n)
    for requests, array in zip(picture.tiled(n, tile, pitch), "ab", strict=True):
        assert brought(requests) == load_line(counted, array).sectors


@pytest.mark.parametrize("kernel", [k.NAIVE, k.COALESCED])
def test_untiled_requests_in_the_picture_are_those_counted(kernel):
    args = (*(cp.ones((64, 64), cp.float32) for _ in "cab"), np.int32(64))
    counted = profile(kernel.compile(cp), (2, 2), (32, 32), args)
    for requests, array in zip(picture.untiled(kernel.name, 64), "ab", strict=True):
        assert brought(requests) == load_line(counted, array).sectors
    # by hand: a column of A is 32 sectors for 32 lanes, one element of B one sector; and so on
    expected = {"naive": (512, 16), "coalesced": (16, 64)}[kernel.name]
    assert tuple(times_read_of(array)(counted) for array in "ab") == expected
    assert [times_asked_of(array)(counted) for array in "ab"] == [64, 64]


def test_a_line_that_loads_nothing_is_an_error():
    with pytest.raises(KeyError, match="'c'"):
        load_line(views.count_tiles(TILED, 8), "c")


# -- times -------------------------------------------------------------------------


@pytest.mark.parametrize("name", [sweep.name for sweep in sweeps.SWEEPS])
def test_times_with_and_without_a_recording(name, monkeypatch):
    found = str(views.times(name))
    assert "modelled ms, H200" in found
    monkeypatch.setattr(views, "recording", lambda *_: None)
    assert "not recorded yet" in str(views.times(name))
    assert "recorded ms" not in str(views.times(name))
    assert "not recorded yet" in views.findings()
    assert "not recorded yet" in views.padding_findings()


def test_what_was_recorded_is_said_in_sentences(monkeypatch):
    columns = {
        "variant": ["naive", "coalesced", "tiled 8", "tiled 32", "cuBLAS"],
        "median_ms": [90.0, 10, 12, 9, 3],
    }
    table = Recorded(columns)
    monkeypatch.setattr(views, "recording", lambda *_: table)
    said = views.findings()
    assert "10 % less time" in said
    assert "20 % more time than without tiles" in said
    assert "10 times as long" in said
    assert "33 % of cuBLAS" in said


def test_measured_times_stand_beside_the_others_on_a_gpu(monkeypatch):
    monkeypatch.setattr(views.backend, "on_gpu", lambda: True)
    monkeypatch.setattr(views, "measured_heading", lambda: "measured ms, H200")
    timed = lambda rows: [{"median_ms": 4.0 * (i + 1)} for i in range(len(rows))]  # noqa: E731
    monkeypatch.setattr(views, "time_points", timed)
    table = views.times("tiling_2048", measure=True)
    assert "measured ms, H200" in table.header
    column = table.header.index("% of cuBLAS (measured)")
    assert [found[column].text for found in table.rows][::5] == ["600.0", "100.0"]
    assert "measured ms, H200" not in views.times("tiling_2048").header


class Recorded(dict):
    """As much of a recorded table as the sentences need."""

    @property
    def ms(self) -> np.ndarray:
        return np.array(self["median_ms"], float)


def test_tiles_should_move_the_time_on_the_h200():
    rows = {found[0].text: found[-1].text for found in views.by_gpu().rows}
    assert rows["H200"].startswith("yes")


def test_notes_beside_the_h200():
    table = views.notes_beside()
    assert "43 %" in str(table)
    assert table.header[:3] == ["figure", "notes, unknown GPU", "modelled, H200"]


def test_charts_are_drawn():
    counted = views.count_tiles(TILED, 32)
    figure = views.intensity_chart(TILED, counted)
    assert "H200: every byte from DRAM" in figure.axes[0].texts[0].get_text()
    assert views.product_roofline().axes
    # by hand: 66.9 TFLOP/s over 4.8 TB/s
    assert views.ridges()["H200: every byte from DRAM"] == pytest.approx(13.9, abs=0.2)
