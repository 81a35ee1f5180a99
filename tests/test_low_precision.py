"""Chapter 12: formats by hand, kernels against NumPy, the slider, tables and pictures."""

import json
from fractions import Fraction
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from course_lib import standin as cp
from course_lib.chapters import low_precision as exercises
from course_lib.chapters import low_precision_formats as formats
from course_lib.chapters import low_precision_kernels as k
from course_lib.chapters import low_precision_picture as picture
from course_lib.chapters import low_precision_runs as runs
from course_lib.chapters import low_precision_sweeps as sweeps
from course_lib.chapters import low_precision_views as views
from course_lib.gpus import gpu

RNG = np.random.default_rng(1)
NOTEBOOK = Path(__file__).parents[1] / "notebooks" / "12_low_precision.ipynb"


# -- formats ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "bits", "largest", "normal", "least"),
    [  # OCP 8-bit Floating Point Specification, table 1; OCP MX 1.0, table 5; IEEE 754 for fp16
        ("e4m3", 8, 448, 2.0**-6, 2.0**-9),
        ("e5m2", 8, 57344, 2.0**-14, 2.0**-16),
        ("mxfp4", 4, 6, 1, 0.5),
        ("fp16", 16, 65504, 2.0**-14, 2.0**-24),
        ("bf16", 16, (2 - 2.0**-7) * 2.0**127, 2.0**-126, 2.0**-133),
        ("tf32", 19, (2 - 2.0**-10) * 2.0**127, 2.0**-126, 2.0**-136),
        ("fp32", 32, (2 - 2.0**-23) * 2.0**127, 2.0**-126, 2.0**-149),
    ],
)
def test_limits_of_the_formats(name, bits, largest, normal, least):
    form = formats.FORMATS[name]
    assert (form.bits, form.largest, form.least_normal, form.least) == (bits, largest, normal, least)


def test_bytes_with_their_part_of_a_scale():
    assert [formats.FORMATS[name].bytes for name in ("tf32", "fp16", "e4m3", "mxfp8", "mxfp4")] == [
        4,
        2,
        1,
        1 + 1 / 32,
        0.5 + 1 / 32,
    ]


def test_all_values_of_the_smallest_format():
    positive = [0.5, 1, 1.5, 2, 3, 4, 6]
    assert formats.values("mxfp4").tolist() == [*(-v for v in positive[::-1]), 0, *positive]
    assert len(formats.values("e4m3")) == 256 - 2 - 1  # two NaN, and two zeros are one value
    assert len(formats.values("e5m2")) == 256 - 8 - 1  # two infinities, six NaN


@pytest.mark.parametrize("name", ["bf16", "fp16", "e5m2", "e4m3"])
def test_rounded_is_the_nearest_value(name):
    every = formats.values(name)
    x = np.exp(RNG.uniform(-6, 6, 200)).astype(np.float32) * RNG.choice([-1, 1], 200)
    x = x[np.abs(x) < formats.FORMATS[name].largest].astype(np.float32)
    found = formats.rounded(x, name)
    nearest = np.abs(every[:, None] - x.astype(np.float64)).min(0)
    np.testing.assert_array_equal(np.abs(found - x), nearest)


def test_ties_and_overflow():
    assert formats.rounded([17, 19, 2049], "e4m3", clamp=True).tolist() == [16, 20, 448]
    assert np.isnan(formats.rounded([465], "e4m3"))[0]
    assert formats.rounded([65520, 70000], "fp16").tolist() == [np.inf, np.inf]
    assert formats.rounded([1 + 2.0**-11], "tf32").tolist() == [1 + 2.0**-10]  # away from 0
    assert formats.rounded([1 + 2.0**-11], "fp16").tolist() == [1]  # to even


def test_a_group_by_hand():
    x = np.zeros((1, 64), np.float32)
    x[0, :4] = 1000, 900, 0.5, -3  # largest 1000: exponent 9, so the scale is 2^(9 - 8)
    codes, scales = formats.quantised(x, "mxfp8")
    assert scales.tolist() == [[127 + 1, 0]]
    assert codes[0, :4].astype(float).tolist() == [448, 448, 0.25, -1.5]  # 500 and 450 are clamped
    assert formats.dequantised(codes, scales, "mxfp8")[0, :4].tolist() == [896, 896, 0.5, -3]


@pytest.mark.parametrize("name", ["mxfp8", "mxfp4"])
def test_groups_against_fractions(name):
    form, every = formats.FORMATS[name], formats.values(name)
    x = (RNG.standard_normal((4, 32)) * [[1e-30], [1e-3], [1], [1e20]]).astype(np.float32)
    codes, scales = formats.quantised(x, name)
    top = {"mxfp8": 8, "mxfp4": 2}[name]
    for row in range(4):
        most = max(abs(Fraction(float(v))) for v in x[row])
        exponent = next(e for e in range(-200, 200) if Fraction(2) ** e <= most < Fraction(2) ** (e + 1))
        assert scales[row, 0] == max(exponent - top + 127, 0)
        for value, code in zip(x[row], codes[row].astype(float), strict=True):
            wanted = float(Fraction(float(value)) / Fraction(2) ** (int(scales[row, 0]) - 127))
            wanted = min(max(wanted, -form.largest), form.largest)
            assert abs(code - wanted) == np.abs(every - wanted).min()


def test_scales_are_those_of_e8m0():
    codes = np.arange(255, dtype=np.uint8)
    values = formats.dequantised(np.ones((255, 32)), codes[:, None], "mxfp8")[:, 0]
    np.testing.assert_array_equal(values, codes.view(ml_dtypes.float8_e8m0fnu).astype(np.float64))


def test_losses_of_single_values():
    found = formats.loss(np.array([1, 70000, 1e-9, 1 + 2.0**-11], np.float32), "fp16")
    assert (found.lost, found.zero) == (0.25, 0.25)
    assert found.worst == pytest.approx(2.0**-11, rel=1e-3)


@pytest.mark.parametrize(("name", "deaf"), [("fp32", 2**24), ("fp16", 2048), ("bf16", 256), ("e4m3", 16)])
def test_where_one_is_not_noticed(name, deaf):
    assert views.first_deaf(name) == deaf
    assert formats.rounded(np.float32(deaf - 1), name) == deaf - 1


def test_fewer_bits_larger_errors():
    errors = [formats.product_error(name, 256) for name in ("fp32", "fp16", "bf16", "e4m3", "e5m2")]
    assert errors == sorted(errors)
    assert errors[0] == 0


# -- kernels ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", runs.KINDS)
def test_products_of_whole_numbers_are_exact_in_every_format(kind):
    a, b = RNG.integers(-4, 5, (128, 128)), RNG.integers(-4, 5, (128, 128))
    found, counted = runs.mma_product(cp, k.PARTS + k.MMA_BODY, kind, a, b)
    np.testing.assert_array_equal(found, a @ b.T)
    assert counted["course__tensor_flops.sum"] == 2 * 128**3
    assert counted["course__shared_ways.max"] == 1
    assert counted.hazards == []


@pytest.mark.parametrize(
    ("name", "kinds"), [("T4", set()), ("A100", {"f16", "bf16", "tf32"}), ("L4", set(runs.KINDS))]
)
def test_a_gpu_without_a_format_leaves_it_to_the_emulator(monkeypatch, name, kinds):
    monkeypatch.setattr(runs, "device", lambda: gpu(name))
    assert {kind for kind in runs.KINDS if runs.able("CuPy", kind) == "CuPy"} == kinds


@pytest.mark.parametrize("sizes", [{"BM": 256}, {"BN": 256, "STAGES": 4}, {"WN": 32, "STAGES": 2}])
def test_other_sizes_of_tiles(sizes):
    a, b = RNG.integers(-4, 5, (256, 256)), RNG.integers(-4, 5, (256, 256))
    found, counted = runs.mma_product(cp, k.PARTS + k.MMA_BODY, "e4m3", a, b, **sizes)
    np.testing.assert_array_equal(found, a @ b.T)
    assert counted.hazards == []


def test_padding_cures_the_conflict_of_ldmatrix_too():
    """Rows of 128 bytes start in one bank; 144 bytes shift each by 4 banks, 256 by none."""
    assert [runs.ldmatrix_wavefronts(pitch) for pitch in (128, 144, 256)] == [32, 4, 32]


def test_without_the_swizzle_ldmatrix_conflicts_eight_ways():
    a = RNG.integers(-4, 5, (128, 128))
    found, counted = runs.mma_product(cp, k.PARTS + k.MMA_BODY, "f16", a, a, SWIZZLE=0)
    np.testing.assert_array_equal(found, a @ a.T)
    assert views.conflicts(counted) == "8,192 wavefronts (8-way)"


@pytest.mark.parametrize("variant", ["tiled", "wmma global", "wmma tiled", "mma unswizzled", "mma tiled"])
def test_every_recorded_product_is_right(variant):
    for point in [p for p in sweeps.products(128) if p.columns["variant"] == variant]:
        args = point.arguments(cp)
        point.compiled(cp)(point.grid, point.block, args, shared_mem=point.shared)
        c, a, b = (np.asarray(x) for x in args[:3])
        a, b = (values_of(x, point.columns["format"]) for x in (a, b))
        exact = a @ (b if variant == "tiled" else b.T)
        np.testing.assert_allclose(c, exact, rtol=1e-3 if point.columns["format"] == "tf32" else 1e-5)


def values_of(x, element):
    kind = np.float32 if element == "fp32" else runs.KINDS[sweeps.MMA_TYPE.get(element, element)]
    return x.view(kind).astype(np.float64)


def test_values_times_a_number():
    for point in sweeps.scaling(1 << 12):
        out, given, factor, _ = point.arguments(cp)
        element = point.columns["format"]
        kind = {"fp32": np.float32, "fp16": np.float16, "e4m3": ml_dtypes.float8_e4m3fn}[element]
        x = RNG.integers(-4, 5, 1 << 12).astype(kind)
        given[:] = cp.asarray(x.view(np.uint8)).view(given.dtype)
        point.kernel.compile(cp)(point.grid, point.block, (out, given, *point.arguments(cp)[2:]))
        got = np.asarray(out).view(np.uint8).view(kind).astype(np.float64)
        np.testing.assert_array_equal(got, x.astype(np.float64) * float(factor))


def test_quantised_and_back():
    copy, to, back = sweeps.blocks_of_32(1 << 12)
    codes, scales, x, n = to.arguments(cp)
    to.kernel.compile(cp)(to.grid, to.block, (codes, scales, x, n))
    expected, expected_scales = formats.quantised(np.asarray(x), "mxfp8")
    np.testing.assert_array_equal(np.asarray(codes), expected.view(np.uint8))
    np.testing.assert_array_equal(np.asarray(scales), expected_scales)
    again = cp.zeros(1 << 12, cp.float32)
    back.kernel.compile(cp)(back.grid, back.block, (again, codes, scales, n))
    np.testing.assert_array_equal(np.asarray(again), formats.dequantised(expected, expected_scales, "mxfp8"))
    copy.launcher(cp)()


def test_the_kernel_and_numpy_agree_on_groups_of_every_size():
    x = (RNG.standard_normal((64, 32)) * 2.0 ** RNG.integers(-120, 120, (64, 1))).astype(np.float32)
    x[0] = 0
    x[1, 0] = np.abs(x[1]).max() * 1.9
    kernel = k.QUANTISE.compile(cp)
    same, counted = runs.quantised_by(cp, kernel, x)
    assert same
    assert counted["course__unique_dram_bytes_st"] == x.size + x.size // 32
    assert counted.hazards == []


def test_a_row_error_and_a_table_of_scales():
    x = RNG.standard_normal((8, 64)).astype(np.float32)
    assert views.row_error(x, x * 1.5) == pytest.approx(0.5)
    assert "mxfp4, one for 32" in str(views.scale_table(x))


# -- the slider, tables, pictures ------------------------------------------------------------------------


@pytest.mark.parametrize("element", formats.FORMATS)
@pytest.mark.parametrize(("n", "name"), [(64, "A100"), (4096, "H200"), (16384, "B200")])
def test_the_slider_at_its_ends_and_between(element, n, name):
    figure, text = views.show_format(element, n, name)
    assert len(figure.axes) == 1
    assert f"n = {n:,}" in text
    assert ("no tensor cores" in text) == (formats.FORMATS[element].tflops(gpu(name)) is None)


def test_ridges_by_hand():
    fp16, h200 = formats.FORMATS["fp16"], gpu("H200")
    assert views.intensity(fp16, 4096) == 2 * 4096**3 / (8 * 4096**2)
    n = views.smallest_product(fp16, h200)
    assert views.intensity(fp16, n) >= 989.5 / 4.8 > views.intensity(fp16, n - 1)
    assert "825" in str(views.ridge_table(["H200"]))


def test_tables():
    assert "65,504" in str(views.format_table())
    assert "70,144" in str(views.losing_table())
    assert "bf16" in str(views.loss_table(np.ones(4, np.float32), ["bf16"], ""))


def test_pictures():
    assert len(picture.number_lines().axes) == 2
    assert picture.largest_text(2.0**100) == "1.3e30"
    for exercise in (exercises.half_dots, exercises.mx_groups, exercises.tensor_tiles):
        assert exercise.picture().axes
    assert all(runs.ldmatrix_banks(swizzle).axes for swizzle in (False, True))
    axes = views.sums_chart(
        {"fp32": {8: 0.0, 16: 1e-8, 32: 1e-7}, "fp16": {8: 1e-3, 16: 1e-3, 32: 1e-2}}
    ).axes[0]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "fp32 (no error up to 8 addends)",
        "fp16",
    ]
    assert list(axes.lines[0].get_xdata()) == [16, 32]


def test_a_sum_in_fp16_stops_and_one_in_float32_does_not():
    x = np.ones((4096, 4), np.float16)
    source = notebook_cell("column_sums").split('r"""')[1].split('"""')[0]
    for kind, error in (("float", 0.0), ("half", 0.5), ("__nv_bfloat16", 1 - 256 / 4096)):
        kernel = cp.RawKernel(source, "column_sums", options=(f"-DSUM={kind}",))
        assert views.sum_error(cp, kernel, x) == error


def test_fp8_on_an_h200_is_made_of_conversions_and_additions():
    kernels = {kind: runs.mma_kernel(cp, k.PARTS + k.MMA_BODY, kind) for kind in ("f16", "e4m3")}
    rows = {row[0].text: [int(cell.text) for cell in row[1:]] for row in views.sass_table(kernels).rows}
    assert rows["HMMA"][0] > 0
    assert rows["F2FP"][0] == rows["FADD"][0] == 0
    assert min(rows["F2FP"][1], rows["FADD"][1]) > 0


def notebook_cell(word: str) -> str:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return next(
        text for text in map("".join, (c["source"] for c in cells)) if word in text and "RawKernel" in text
    )


@pytest.mark.parametrize("source", [k.WMMA.source, k.SCALE.source, k.QUANTISE.source, k.PARTS, k.MMA_BODY])
def test_the_notebook_shows_the_kernels_that_were_recorded(source):
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    assert sum(source.strip() in "".join(c["source"]) for c in cells) == 1
