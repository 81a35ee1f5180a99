"""Chapter 13: listings, PTX in words, spills against ncu, sliders, kernels of the sweeps."""

import json
from pathlib import Path

import numpy as np
import pytest

from course_lib import standin
from course_lib.chapters import reading_kernels as exercises
from course_lib.chapters import reading_ncu as recorded_ncu
from course_lib.chapters import reading_picture as picture
from course_lib.chapters import reading_sources as k
from course_lib.chapters import reading_spills as spills
from course_lib.chapters import reading_sweeps as sweeps
from course_lib.chapters import reading_views as views
from course_lib.emulator import RawKernel
from course_lib.listing import Listing, machine_lines, ptx_lines
from course_lib.profile import profile
from course_lib.ptx_words import annotated, hex_float, in_words, vocabulary
from course_lib.recorded import recorded
from course_lib.sliders import explore
from course_lib.sweeps import sweep

AXPB = r"""
extern "C" __global__ void axpb(float* y, const float* x, float a, float b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + b;  // <b>
}
"""


# -- listing ----------------------------------------------------------------------


def test_every_instruction_is_listed_once_at_its_source_line():
    kernel = RawKernel(AXPB, "axpb")
    listing = Listing(kernel)
    rows = {number: (source, ptx, sass) for number, source, ptx, sass in listing.rows}
    assert sum(len(row[1]) for row in rows.values()) == len(ptx_lines(kernel))
    assert sum(len(row[2]) for row in rows.values()) == len(machine_lines(kernel))
    assert "fma.rn.ftz.f32" in " ".join(rows[4][1])
    assert any(text.startswith("FFMA") for text in rows[4][2])
    assert any("SR_TID.X" in text for text in rows[3][2])


def test_padding_after_the_end_is_left_out():
    assert machine_lines(RawKernel(AXPB, "axpb"))[-1].text == "EXIT"


def test_a_listing_is_escaped_and_sets_no_colour_of_text():
    html = Listing(RawKernel(AXPB, "axpb"))._repr_html_()
    assert "// &lt;b&gt;" in html
    assert "// <b>" not in html
    assert "color:" not in html.replace("background", "")


def test_only_the_source_is_broken_into_lines():
    html = Listing(RawKernel(AXPB, "axpb"), lines=(3,))._repr_html_()
    assert html.count("pre-wrap") == html.count("width:35ch") == 1


def test_launch_bounds_by_hand():
    """65,536 registers for 256 x k threads, in steps of 8: 256, 64, 40, 32; the kernel wants 56."""
    rows = [line.split() for line in repr(spills.bounds_table()).splitlines()[2:]]
    assert [int(row[-3]) for row in rows] == [56, 56, 40, 32, 32]
    assert [int(row[-2]) > 0 for row in rows] == [False, False, True, True, True]
    assert [int(row[-1]) for row in rows] == [4, 4, 6, 8, 2]


def test_what_a_name_says_as_a_number():
    name = "void cutlass::Kernel2<cutlass_75_tensorop_f16_s1688gemm_f16_256x128_nn_align1>"
    assert views.said(name, r"compute capability (\d+\.\d)") == 7.5
    assert views.said(name, r"at most (\d+) element") == 1
    with pytest.raises(ValueError, match="says"):
        views.said("my_kernel", r"at most (\d+)")


def test_gelu_in_words_follows_the_record():
    table = recorded("h200", "reading_gelu")
    assert f"{table.ms[0] / table.ms[1]:.2f} times faster" in views.gelu_words()


def test_chosen_lines_only():
    assert [row[0] for row in Listing(RawKernel(AXPB, "axpb"), lines=(3,)).rows] == [3]


def test_a_label_stands_before_its_target():
    source = r"""
extern "C" __global__ void add_up(float* y, const float* x, int n) {
    float sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < n; ++k) sum += x[k];
    y[0] = sum;
}
"""
    texts = [text for *_, text in ptx_lines(RawKernel(source, "add_up"))]
    targets = {text.split()[-1].rstrip(";") for text in texts if "bra" in text.split(": ")[-1]}
    labels = {text.split(": ")[0] for text in texts if ": " in text}
    assert targets <= labels


# -- PTX in words -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("mul.ftz.f32 %f2, %f1, 0f3F000000;", "f2 = f1 * 0.5"),
        ("fma.rn.ftz.f32 %f4, %f1, %f3, %f1;", "f4 = f1 * f3 + f1"),
        ("@!%p1 bra $L__BB0_2;", "if not p1: go to $L__BB0_2"),
        ("$L__BB0_2: ret;", "done"),
        ("ld.global.f32 %f1, [%rd5+4];", "f1 = global memory at [rd5+4]"),
        ("st.shared.u32 [%r3], %r4;", "shared memory at [r3] = r4"),
        ("setp.ge.s32 %p1, %r1, %r2;", "p1 = r1 ≥ r2"),
        ("selp.f32 %f3, %f1, %f2, %p2;", "f3 = f1 if p2 else f2"),
        ("copysign.f32 %f3, %f1, %f2;", "f3 = f2 with the sign of f1"),
        ("ex2.approx.ftz.f32 %f9, %f8;", "f9 = 2^f8"),
        ("ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];", "{f1, f2, f3, f4} = global memory at [rd1]"),
        ("shfl.sync.down.b32 %r1|%p1, %r2, 16, 31, -1;", ""),
    ],
)
def test_instructions_in_words(line, words):
    assert in_words(line) == words


def test_constants_of_gelu():
    """0x3D372713 and 0x3F4C422A are the floats nearest to the constants of the notes."""
    assert hex_float("0f3D372713") == np.float32(0.044715)
    assert hex_float("0f3F4C422A") == np.float32(0.79788456)
    assert hex_float("0f4038AA3B") == pytest.approx(2 / np.log(2), rel=1e-6)


def test_the_words_of_the_notes_are_in_the_vocabulary():
    words = {row[0].text.split(".")[0] for row in vocabulary(RawKernel(AXPB, "axpb")).rows}
    assert {"%ctaid", "%tid", "%f1", "%rd1", "ld", "st", "setp", "fma", "ret"} <= words


def test_notes_stand_at_their_lines():
    shown = annotated(k.gelu(False).compile(standin), views.GELU_NOTES)
    noted = {row[3].text for row in shown.rows}
    assert set(views.GELU_NOTES.values()) <= noted


# -- order and width of machine instructions ------------------------------------------


@pytest.mark.parametrize(
    ("text", "opcode", "width"),
    [
        ("LDG.E.128 R8, desc[UR4][R2.64]", "LDG", 16),
        ("@!P1 FFMA.FTZ R8, R7, R0, R7", "FFMA", 0),
        ("STL.64 [R1+0x8], R4", "STL", 8),
        ("STG.E desc[UR4][R4.64], R7", "STG", 4),
        ("LDG.E.U8.CONSTANT R0, desc[UR4][R2.64]", "LDG", 1),
    ],
)
def test_machine_instructions(text, opcode, width):
    assert picture.opcode(text) == opcode
    assert picture.width(text) == width


def test_a_long_program_is_folded_into_rows():
    """The kernel of exercise 2 has some 390 instructions."""
    axes = exercises.remove_spill.picture().axes[0]
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert names == ["an array of 48", "from 100", "from 200", "from 300"]
    assert axes.get_xlim()[1] == picture.FOLD + 0.5
    assert len(exercises.drop_branch.picture().axes[0].get_yticks()) == 1


def test_loads_before_the_first_store():
    """Without __restrict__ one, with it all eight; as float4 both of two."""
    found = {}
    for form in k.FORMS[:3]:
        texts = [line.text for line in machine_lines(k.each(form, 8).compile(standin))]
        first = next(at for at, text in enumerate(texts) if text.startswith("STG"))
        found[form] = sum(text.startswith("LDG") for text in texts[:first])
    assert found == {"may overlap": 1, "__restrict__": 8, "float4": 2}


def test_forms_that_cannot_be():
    with pytest.raises(ValueError, match="float4 holds 4"):
        k.each("float4", 2)
    with pytest.raises(ValueError, match="forms are"):
        k.each("upside down", 2)
    assert views.each_view(1, "float4") == "a float4 holds 4 elements, so a thread cannot have 1."


# -- counted in the machine code, against ncu on an H200 ------------------------------


@pytest.mark.parametrize("name", [name for name in recorded_ncu.launches() if name.startswith("each")])
def test_straight_programs_run_as_many_instructions_as_they_have(name):
    """ncu's count is warps x machine instructions; sectors and requests are those of `profile`."""
    measured = recorded_ncu.launches()[name]
    _, *form, per = name.split(" ")
    kernel, threads = k.each(" ".join(form), int(per)).compile(standin), 1 << 12
    warps = measured["launch__grid_size"] * 8
    assert measured["smsp__inst_executed.sum"] == warps * len(machine_lines(kernel))
    n = threads * int(per)
    args = (np.zeros(n, np.float32), np.ones(n, np.float32), np.int32(n))
    counted = profile(kernel, (threads // 256,), (256,), args)
    for metric in measured:
        if metric.startswith("l1tex__t_") and "global" in metric:
            assert counted[metric] * warps == measured[metric] * threads / 32, metric


@pytest.mark.parametrize("cap", [24, 32, 40, 48, 56])
def test_local_sectors_of_spills_are_those_of_ncu(cap):
    found, measured = spills.spilled(cap), recorded_ncu.launches()[f"variance {cap}"]
    warps = measured["launch__grid_size"] * 8
    assert found["load_sectors"] * warps == measured["l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum"]
    assert found["store_sectors"] * warps == measured["l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum"]
    assert found["instructions"] * warps == measured["smsp__inst_executed.sum"]


def test_spills_cost_more_the_tighter_the_cap():
    times = [spills.spill_time(cap).ms for cap in (64, 48, 40, 32, 24)]
    assert times == sorted(times)
    assert times[-1] > 2 * times[0]


def test_the_recorded_kernels_are_those_the_emulator_is_tested_with():
    cases = json.loads((Path(__file__).parent / "data" / "h200" / "cases.json").read_text())
    tested = {case["case"]: case for case in cases}
    for name, case in recorded_ncu.recorded_cases().items():
        assert case["source"] == tested[name]["source"]
        for metric, value in case["counters"].items():
            assert tested[name]["counters"][metric] == value


# -- sliders and sweeps -------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "values"),
    [
        (views.each_view, {"per": [1, 2, 4, 8, 16], "form": list(k.FORMS)}),
        (spills.spill_view, {"cap": [24, 32, 40, 48, 64]}),
    ],
)
def test_sliders_at_their_ends(function, values):
    for extremes in explore(function, **values).extremes():
        result = function(**extremes)
        assert "counted" in result[1]


def test_the_part_of_the_spills_that_went_to_l2_by_hand():
    """Cap 24: 3,862,480 sectors at L2, 1,232,395 without a cap; 3,342,336 local ones (ncu_reading.json)."""
    assert spills.local_at_l2()[24] == pytest.approx((3862480 - 1232395) / 3342336, rel=1e-5)
    assert "66% (cap 40) to 79% (cap 24)" in spills.at_l2_words()


def test_odd_rows_take_longer_as_recorded():
    """0.11168 against 0.024032 ms (waves_gemm.csv)."""
    ms = {
        row["size"]: row["median_ms"] for row in recorded("h200", "waves_gemm").where(variant="packed").rows()
    }
    assert f"{ms[1793] / ms[1792]:.1f} times" in views.odd_rows()


def test_a_thread_cannot_have_half_a_float4():
    assert views.each_view(2, "float4") == "a float4 holds 4 elements, so a thread cannot have 2."
    assert "loads 1 x 16" in views.each_view(4, "float4")[1]


@pytest.mark.parametrize("name", ["reading_each", "reading_overlap", "reading_gelu", "reading_spills"])
def test_kernels_of_the_sweeps_compute_what_they_should(name):
    chosen = sweep(name)
    for point in chosen.points(1 << 13):
        y, x, n = point.arguments(standin)
        point.kernel.compile(standin)(point.grid, point.block, (y, x, n))
        given = np.asarray(x, np.float64)
        if name == "reading_spills":
            expected = given.reshape(sweeps.ROWS, -1).var(axis=0)
        elif name == "reading_gelu":
            inner = 0.79788456 * (given + 0.044715 * given**3)
            expected = 0.5 * given * (1 + np.tanh(inner))
        else:
            expected = 2 * given
        np.testing.assert_allclose(np.asarray(y), expected, rtol=1e-5, atol=1e-6)


def test_what_the_translators_change():
    shown = views.differences(
        {
            "y[t] = a * x[t] + b;": ("fma", "FFMA"),
            "if (x[t] < 0) y[t] = 0;": ("bra", "BRA"),
            "int i = t % 32 * 4; y[t] = s[i] + s[i + 1] + s[i + 2] + s[i + 3];": ("ld.shared", "LDS"),
        }
    )
    counted = [[cell.text for cell in row[1:4]] for row in shown.rows]
    assert counted[0] == ["1 fma", "1 FFMA", "0"]
    assert counted[1] == ["1 bra", "0 BRA", "1"]
    assert counted[2][:2] == ["4 ld.shared", "1 LDS of 16 bytes"]


def test_tables_say_what_is_not_recorded(monkeypatch):
    for module in (views, spills):
        monkeypatch.setattr(module, "recording", lambda name: None)
    assert "not recorded yet" in repr(views.each_times())
    assert "not recorded yet" in repr(views.gelu_times())
    assert "not recorded yet" in repr(spills.spill_times())
