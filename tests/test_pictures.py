"""The pictures draw what is counted; right values are the H200's or worked out by hand."""

import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from course_lib.pictures import (
    Request,
    Series,
    bank_caption,
    bank_schedule,
    bars,
    sweep,
    warp_to_banks,
    warp_to_sectors,
)
from course_lib.pictures.sectors import MemoryAxis
from course_lib.pictures.style import EVIDENCE, new_figure, number_text, reused

LANE = np.arange(32)
BANK_ROWS = json.loads((Path(__file__).parent / "data/h200/banks.json").read_text())


@pytest.mark.parametrize(
    ("addresses", "width", "caption"),
    [
        (LANE * 4, 4, "4 sectors for 128 useful bytes (100 %), in 1 line"),
        (LANE * 4 + 4, 4, "5 sectors for 128 useful bytes (80 %), in 2 lines"),
        (LANE * 4 + 32, 4, "4 sectors for 128 useful bytes (100 %), in 2 lines"),
        (LANE[::-1] * 4, 4, "4 sectors for 128 useful bytes (100 %), in 1 line"),
        (LANE * 8, 4, "8 sectors for 128 useful bytes (50 %), in 2 lines"),
        (LANE * 128, 4, "32 sectors for 128 useful bytes (12.5 %), in 32 lines"),
        (LANE * 0 + 64, 4, "1 sector for 4 useful bytes (12.5 %), in 1 line"),
        (LANE * 16, 16, "16 sectors for 512 useful bytes (100 %), in 4 lines"),
        (LANE, 1, "1 sector for 32 useful bytes (100 %), in 1 line"),
    ],
)
def test_sector_caption(addresses, width, caption):
    assert Request.of(addresses, width).caption == caption
    assert caption in warp_to_sectors(addresses, width).texts[0].get_text()


def test_inactive_lanes_ask_for_nothing():
    assert Request.of(LANE * 4, active=LANE < 8).caption.startswith("1 sector for 32 useful bytes (100 %)")
    assert Request.of([0, 128]).caption.startswith("2 sectors for 8 useful bytes")


def test_lines_are_whole_until_there_are_too_many_and_skipped_memory_is_marked():
    assert MemoryAxis(Request.of(LANE * 4)).sectors.tolist() == [0, 1, 2, 3]
    assert MemoryAxis(Request.of(LANE * 4), span=(0, 255)).sectors.tolist() == list(range(8))
    strided = MemoryAxis(Request.of(LANE * 128))
    assert strided.sectors.tolist() == list(range(0, 128, 4))
    assert strided.skips.tolist() == list(range(1, 32))
    axis = MemoryAxis(Request.of(LANE * 4))
    assert axis.at(np.array([0, 48])).tolist() == [0.0, 1.5]


def test_line_labels_count_from_the_origin():
    text = [t.get_text() for t in warp_to_sectors(LANE * 4 + 4096, origin=4096 - 128).axes[0].texts]
    assert "line at byte 128" in text


@pytest.mark.parametrize(
    ("addresses", "active", "message"),
    [(np.arange(33), None, "33 addresses"), (LANE, LANE < 0, "no lane"), (LANE * 4 + 2, None, "multiple of")],
)
def test_what_cannot_be_drawn_is_refused(addresses, active, message):
    with pytest.raises(ValueError, match=message):
        warp_to_sectors(addresses, 4, active)


@pytest.mark.parametrize("row", BANK_ROWS, ids=lambda row: f"{row['op']} {row['pattern']}")
def test_bank_schedule_has_as_many_wavefronts_as_the_h200(row):
    active = np.array(row["active"], bool)
    cells, _ = bank_schedule(row["byte_offsets"], row["width"], active, store=row["op"] == "st")
    assert {c.wavefront for c in cells} == set(range(row["wavefronts"]))
    places = [(c.wavefront, bank) for c in cells for bank in range(c.bank, c.bank + c.banks)]
    assert len(set(places)) == len(places), "one bank serves one word a wavefront"
    assert sorted(lane for c in cells for lane in c.lanes) == np.flatnonzero(active).tolist()


def test_schedule_of_a_two_way_conflict_by_hand():
    cells, _ = bank_schedule(LANE * 8)
    assert [(c.wavefront, c.bank, c.lanes) for c in cells if c.bank == 2] == [(0, 2, (1,)), (1, 2, (17,))]
    assert [c.waited for c in cells if c.bank == 2] == [False, True]


@pytest.mark.parametrize(
    ("addresses", "width", "caption"),
    [
        (LANE * 4, 4, "no conflict: 1 wavefront"),
        (LANE * 0, 4, "no conflict: 1 wavefront"),
        (LANE * 132, 4, "no conflict: 1 wavefront"),
        (LANE * 16, 4, "4-way conflict: 4 wavefronts where 1 would do (3 in excess)"),
        (LANE * 128, 4, "32-way conflict: 32 wavefronts where 1 would do (31 in excess)"),
        (LANE * 16, 16, "no conflict: 4 wavefronts"),
        (LANE * 128, 16, "8-way conflict: 32 wavefronts where 4 would do (28 in excess)"),
        (LANE * 144, 16, "no conflict: 4 wavefronts"),
    ],
)
def test_bank_caption(addresses, width, caption):
    _, count = bank_schedule(addresses, width)
    assert bank_caption(count) == caption
    assert caption in warp_to_banks(addresses, width).texts[0].get_text()


def test_a_picture_without_a_slider_leaves_no_room_for_more_wavefronts():
    heights = [warp_to_banks(LANE * 8, tight=tight).get_figheight() for tight in (True, False)]
    assert heights[0] < heights[1] - 1
    assert warp_to_banks(LANE * 128, tight=True).get_figheight() == heights[1]


def test_cells_name_their_lanes():
    assert [c.text for c in bank_schedule(LANE * 0)[0]] == ["all"]
    assert [c.text for c in bank_schedule(LANE // 4 * 4)[0]][:2] == ["0-3", "4-7"]
    assert [c.text for c in bank_schedule(LANE % 2 * 4)[0]] == ["x16", "x16"]


def test_evidence_has_four_looks_that_differ_without_colour():
    looks = [(s["linestyle"], s["marker"], s.get("markerfacecolor")) for s in EVIDENCE.values()]
    assert len(set(looks)) == 4


def test_sweep_draws_each_evidence_its_own_way():
    figure = sweep(
        Series("modelled", [1, 2], [3.0, 4.0], "copy", "H200"),
        Series("recorded", [1, 2], [3.1, 4.1], "copy", "H200", low=[3.0, 4.0], high=[3.3, 4.2]),
        Series("measured", [1, 2], [5.0, 6.0], "copy"),
        xlabel="OFFSET",
        ylabel="ms",
    )
    axes = figure.axes[0]
    lines = {line.get_label(): line for line in axes.get_lines() if not line.get_label().startswith("_")}
    assert list(lines) == ["copy (modelled, H200)", "copy (recorded, H200)", "copy (measured)"]
    modelled, recorded, measured = lines.values()
    assert (modelled.get_linestyle(), modelled.get_marker()) == ("--", "")
    assert (recorded.get_linestyle(), recorded.get_marker()) == ("None", "o")
    assert measured.get_markerfacecolor() == "none"
    assert len({line.get_color() for line in lines.values()}) == 1
    bar = next(c for c in axes.collections if hasattr(c, "get_segments"))
    assert np.allclose([s[:, 1] for s in bar.get_segments()], [(3.0, 3.3), (4.0, 4.2)])


def test_sweep_refuses_unknown_evidence_and_ragged_data():
    with pytest.raises(ValueError, match="unknown evidence 'guessed'"):
        Series("guessed", [1], [2])
    with pytest.raises(ValueError, match="differ in length"):
        Series("counted", [1, 2], [2])
    with pytest.raises(ValueError, match="at least one"):
        sweep(xlabel="x", ylabel="y")


def test_bars_show_numbers_and_the_ideal():
    axes = bars({"aligned": 4, "stride 32": 32}, ylabel="sectors", ideal=4).axes[0]
    assert [patch.get_height() for patch in axes.patches] == [4, 32]
    assert axes.get_ylabel() == "sectors (counted)"
    assert {"4", "32"} <= {t.get_text() for t in axes.texts}
    with pytest.raises(ValueError, match="not 'recorded'"):
        bars({"a": 1}, ylabel="ms", evidence="recorded")


def test_a_reused_figure_is_the_same_and_unknown_to_pyplot():
    pool: list[Figure] = []
    for offset in range(10):
        with reused(pool):
            figure = warp_to_sectors(LANE * 4 + 4 * offset)
    assert pool == [figure]
    assert plt.get_fignums() == []
    with reused(pool):
        assert new_figure() is not new_figure(), "two pictures in one drawing"
    assert len(pool) == 2


@pytest.mark.parametrize(
    ("value", "text"), [(12345, "12,345"), (0.8, "0.8"), (12.5, "12.5"), (4.0, "4"), (1234.6, "1,235")]
)
def test_number_text(value, text):
    assert number_text(value) == text
