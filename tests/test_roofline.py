"""The roofline: arithmetic by hand, what its caption admits, and a picture whose texts do not overlap."""

import itertools

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from course_lib.gpus import names
from course_lib.labels import Box, place, text_box
from course_lib.model import modelled_time
from course_lib.roofline import MARKS, Roofline, RooflinePoint, roofline, roofline_point

matplotlib.use("Agg")

N = 2048
PRODUCT = (2 * N**3, 12 * N * N)  # FLOP, and bytes of three matrices
POINTS = [
    RooflinePoint("naive", *PRODUCT, 28.2),
    RooflinePoint("naive", *PRODUCT, 31.0, "recorded"),
    RooflinePoint("coalesced", *PRODUCT, 4.3),
    RooflinePoint("coalesced", *PRODUCT, 3.4, "recorded"),
    RooflinePoint("coalesced", *PRODUCT, 3.5, "measured"),
    RooflinePoint("vector add", 1e6, 12e6, 0.004),
    RooflinePoint("row sum inside L2", 2**24, 2**26, 0.006, "measured"),
]


@pytest.fixture
def draw():
    import matplotlib.pyplot as plt

    yield roofline
    plt.close("all")


def test_intensity_height_and_ridge_by_hand(draw):
    found = draw(POINTS, "H200").roofline
    assert found.points[0].intensity == pytest.approx(N / 6)
    assert found.points[0].tflops == pytest.approx(2 * N**3 / 28.2e-3 / 1e12)
    assert found.ridge == pytest.approx(67e12 / 4.8e12)
    assert found.roof(1) == pytest.approx(4.8)
    assert found.roof(1000) == 67


def test_a_point_above_the_roof_is_drawn_named_and_explained(draw):
    figure = draw(POINTS, "H200")
    assert [p.label for p in figure.roofline.above()] == ["row sum inside L2"]
    assert any("above the roof" in text.get_text() for text in figure.axes[0].texts)
    assert "Possible causes: the data came from L2" in figure.roofline.caption()
    assert "Possible causes" not in draw(POINTS[:2], "H200").roofline.caption()


@pytest.mark.parametrize("name", names())
def test_every_peak_names_clock_and_source(draw, name):
    caption = draw(POINTS[:1], name).roofline.caption()
    assert "MHz [" in caption
    assert "GB/s [" in caption


def test_each_evidence_has_its_own_mark(draw):
    marks = {source: (style["marker"], style.get("markerfacecolor")) for source, style in MARKS.items()}
    assert len(set(marks.values())) == 3
    drawn = [line for line in draw(POINTS, "H200").axes[0].lines if line.get_marker() not in ("None", "")]
    assert len(drawn) == len(POINTS)
    assert (
        "Diamond: modelled; filled circle: recorded; open circle: measured"
        in Roofline(draw(POINTS).roofline.gpu, tuple(POINTS)).caption()
    )


@pytest.mark.parametrize(
    ("points", "gpu", "tensor"), [(POINTS, "H200", False), (POINTS, "RTX 4090", True), ([], "T4", False)]
)
def test_no_text_lies_on_another(draw, points, gpu, tensor):
    figure = draw(points, gpu, tensor=tensor)
    FigureCanvasAgg(figure).draw()
    axes = figure.axes[0]
    ticks = [
        label
        for axis, (low, high), place in ((axes.xaxis, axes.get_xlim(), 0), (axes.yaxis, axes.get_ylim(), 1))
        for label in axis.get_ticklabels()
        if low <= label.get_position()[place] <= high  # matplotlib keeps labels beyond the axes, unseen
    ]
    titles = [axes.title, axes.xaxis.label, axes.yaxis.label, *figure.texts]
    texts = [text for text in [*axes.texts, *titles, *ticks] if text.get_text() and text.get_visible()]
    flat = [text for text in texts if text.get_rotation() in (0, 90)]
    boxes = {text.get_text(): text.get_window_extent() for text in flat}
    for (one, box), (other, second) in itertools.combinations(boxes.items(), 2):
        assert not box.overlaps(second), f"{one!r} lies on {other!r}"
    page = figure.bbox
    assert all(page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 for box in boxes.values())


def test_the_tensor_roof_is_higher(draw):
    found = draw([], "H200", tensor=True).roofline
    assert found.peak_tflops == 989.5
    assert "FP16 tensor cores 989.5 TFLOP/s, dense, at 1,830 MHz" in found.caption()


def test_a_point_from_counts_and_a_modelled_time():
    profile = {
        "launch__grid_size": 1320,
        "launch__block_size": 256,
        "course__unique_dram_bytes_ld": 100e6,
        "course__unique_dram_bytes_st": 100e6,
        "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": 1e8,
    }
    point = roofline_point("mine", profile, modelled_time(profile))
    assert (point.flops, point.dram_bytes, point.source) == (2e8, 200e6, "modelled")
    assert point.intensity == 1.0


@pytest.mark.parametrize(("flops", "size", "ms"), [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_what_has_no_place_on_logarithmic_axes_is_refused(flops, size, ms):
    with pytest.raises(ValueError, match="compare copies by their bandwidth"):
        RooflinePoint("copy", flops, size, ms)
    with pytest.raises(ValueError, match="modelled"):
        RooflinePoint("copy", 1, 1, 1, "guessed")


def test_labels_keep_off_each_other_and_inside():
    rng = np.random.default_rng(0)
    points = [tuple(p) for p in rng.uniform(60, 540, (12, 2))]
    frame = Box(0, 0, 600, 600)
    boxes = place(points, [f"kernel {i}" for i in range(12)], 9, frame)
    assert all(a.overlap(b) == 0 for a, b in itertools.combinations(boxes, 2))
    assert all(box.outside(frame) == 0 for box in boxes)


def test_a_text_box_grows_with_its_lines():
    one, two = text_box(0, 0, "abc", 10), text_box(0, 0, "abc\nabcdef", 10)
    assert two.top == 2 * one.top
    assert two.right == 2 * one.right
