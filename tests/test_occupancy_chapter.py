"""Chapter 06: the driver's own answers, its recorded launches, its views at the ends of every slider."""

import ast
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from course_lib import standin as cp
from course_lib.chapters import occupancy_kernels as kernels
from course_lib.chapters import occupancy_picture as picture
from course_lib.chapters import occupancy_sweeps as sweeps
from course_lib.chapters import occupancy_views as views
from course_lib.exercises import code_only
from course_lib.occupancy import occupancy
from course_lib.profile import profile
from course_lib.recorded import PROVENANCE, write
from course_lib.sliders import explore

ROOT = Path(__file__).parents[1]
DRIVER = ROOT / "tests" / "data" / "occupancy_h200.json"
CHAPTER = ROOT / "notebooks" / "06_occupancy.ipynb"


# -- the driver's answers ----------------------------------------------------------


def test_the_calculator_equals_the_driver_of_an_h200():
    """`cuOccupancyMaxActiveBlocksPerMultiprocessor`, which does not look at a kernel's launch bounds."""
    table = json.loads(DRIVER.read_text(encoding="utf-8"))
    assert table["gpu"] == "NVIDIA H200"
    assert table["columns"] == ["registers", "max_threads", "threads", "dynamic_bytes", "blocks"]
    for registers, _, threads, dynamic, blocks in table["rows"]:
        assert occupancy(threads, registers, dynamic, "H200").blocks == blocks, (registers, threads, dynamic)
    assert len(table["rows"]) == 3410  # as the chapter says


# -- what is recorded --------------------------------------------------------------


def run(point) -> list[np.ndarray]:
    """The arguments after the launch, as NumPy arrays; the output comes first."""
    arguments = point.arguments(cp)
    point.kernel.compile(cp)(point.grid, point.block, arguments)
    return [np.asarray(argument) for argument in arguments]


def test_every_load_kernel_adds_up_its_block():
    for point in sweeps.loads(2 * sweeps.PER_BLOCK)[::5]:
        out, given, count = run(point)
        expected = given.reshape(2, count, sweeps.SMALL_BLOCK).sum(axis=1, dtype=float)
        np.testing.assert_allclose(out.reshape(expected.shape), expected, rtol=1e-5)


def test_reserved_memory_holds_warps_back_and_loads_make_rounds():
    for point in sweeps.loads(sweeps.PER_BLOCK):
        counts = profile(point.kernel.compile(cp), point.grid, point.block, point.arguments(cp))
        found = occupancy(sweeps.SMALL_BLOCK, counts.registers, counts.shared_bytes, "H200")
        assert found.warps == point.columns["warps"]
        assert counts["course__load_rounds.sum"] == 2 * sweeps.COUNT / point.columns["loads"]


def test_the_recorded_launches_run_in_whole_waves():
    assert all(sweeps.WHOLE_WAVES % (132 * blocks) == 0 for blocks in sweeps.RESIDENT)
    with pytest.raises(ValueError, match="do not make 3 blocks"):
        sweeps.reserved_bytes(3)


@pytest.mark.parametrize("points", [sweeps.coarse(128), sweeps.spills(128)[::5]], ids=["coarse", "spills"])
def test_every_product_is_right_and_says_what_it_was_built_with(points):
    for point in points:
        c, a, b, _ = run(point)
        np.testing.assert_allclose(c, a.astype(float) @ b, rtol=1e-5)
        point.launcher(cp)
        assert point.columns["registers"] == point.kernel.compile(cp).num_regs
    assert points[-1].columns["registers"] in (32, 96)


def test_launch_bounds_make_blocks_fit_and_spill():
    built = {point.columns["blocks"]: point.kernel.compile(cp) for point in sweeps.spills(128)}
    for blocks, kernel in built.items():
        assert occupancy(256, kernel.num_regs, kernel.shared_size_bytes, "H200").blocks >= blocks
    assert built[1].local_size_bytes == 0 < built[3].local_size_bytes < built[8].local_size_bytes


# -- what the notebook shows -------------------------------------------------------


def code() -> list[str]:
    """Sources of the chapter's code cells."""
    cells = json.loads(CHAPTER.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def outputs() -> str:
    """All that the chapter's cells printed."""
    cells = json.loads(CHAPTER.read_text(encoding="utf-8"))["cells"]
    found = [one for cell in cells if cell["cell_type"] == "code" for one in cell["outputs"]]
    return "".join("".join(one.get("text", one.get("data", {}).get("text/plain", ""))) for one in found)


@pytest.mark.parametrize("kernel", [kernels.ADD_UP, kernels.COARSE])
def test_the_kernels_of_the_chapter_are_the_recorded_ones(kernel):
    trees = [ast.parse(text) for text in code()]
    strings = [n.value for tree in trees for n in ast.walk(tree) if isinstance(n, ast.Constant)]
    assert code_only(kernel.source) in [code_only(s) for s in strings if isinstance(s, str)]


def test_the_chapter_shows_the_figures_of_the_syllabus():
    shown = outputs()
    assert "3 blocks of 4 warps are 12 of 64: 18.75%" in shown
    assert "12.5 % are 8.0 warps, 2.0 blocks" in shown
    assert "2 blocks = 14 warps per SM of H200" in shown
    assert "4 blocks = 32 warps per SM of A100" in shown
    assert "modelled: registers." in shown


@pytest.mark.parametrize("slider", [cell for cell in code() if cell.startswith("explore(")])
def test_sliders_run_at_start_first_and_last(slider, capsys):
    explorer = eval(slider, {"explore": explore, "views": views})
    assert capsys.readouterr().out
    function = views.fill_sm if "fill_sm" in slider else views.in_flight
    for values in explorer.extremes():
        figure, found = function(**values)
        assert figure.axes
        assert "H200" in str(found) or "modelled" in found


def test_bytes_in_flight_follow_littles_law():
    """4,520 GB/s x 0.64 us / 132 SMs = 21,915 bytes."""
    assert views.needed_kb() * 1024 == pytest.approx(21915, abs=1)
    assert "8 KB of 21.4 KB, 37% of the DRAM rate" in views.in_flight(64, 1)[1]
    assert "100% of the DRAM rate" in views.in_flight(64, 8)[1]


def test_the_picture_has_a_box_for_all_that_is_resident():
    """224 threads of 92 registers: 14 warps in the second and third row, none of them across a quarter."""
    found = occupancy(224, 92)
    gpu = views.find_gpu("H200")
    parts = {name: list(picture._parts(name, found, gpu, 224, 92, 0)) for name in picture.ROWS}
    assert [len(parts[name]) for name in picture.ROWS] == [2, 14, 14, 2]
    for start, width, block in parts["registers"]:
        assert int(4 * start) == int(4 * (start + width) - 1e-9)
        assert width == 3072 / 65536
        assert block in (0, 1)
    for name in picture.ROWS:
        assert all(start >= 0 and start + width <= 1 + 1e-9 for start, width, _ in parts[name])


@pytest.mark.parametrize("arguments", [(512, 162), (256, 32), (32, 16, 0, "RTX 3090"), (1024, 64, 200 << 10)])
def test_the_picture_marks_the_limiter(arguments):
    found, figure = occupancy(*arguments), picture.sm_picture(*arguments, title="title")
    marked = {text.get_text() for text in figure.axes[0].texts if text.get_fontweight() == "bold"}
    assert set(found.limiters) == marked & set(picture.ROWS)
    assert f"{found.fraction:.2%} occupancy on {found.gpu}" in figure.texts[0].get_text()


def test_fewer_and_busier_threads_are_modelled_to_win_everywhere():
    rows = {row[0].text: row[-1].text for row in views.coarse_by_gpu().rows}
    assert set(rows) >= {"T4", "A100", "H200"}
    assert all(text.startswith("yes") for text in rows.values())


def test_spills_are_read_off_the_machine_code():
    shown = [
        [cell.text for cell in row] for row in views.built({"8": kernels.coarse(8, 8).compile(cp)}, 256).rows
    ]
    name, registers, local, instructions, warps, fraction = shown[0]
    assert (name, registers, warps, fraction) == ("8", "32", "64", "100.0%")
    assert int(local) > 0 < int(instructions)
    plain = views.built({"1": kernels.coarse(1).compile(cp)}, 256).rows[0]
    assert [cell.text for cell in plain[2:4]] == ["0", "0"]


def test_without_a_record_the_views_say_so(monkeypatch):
    monkeypatch.setattr(views, "recording", lambda name: None)
    captions = views.spill_times().caption, views.load_rates().caption
    for shown in (views.faster_at_lower_occupancy(), views.spill_verdict(), *captions):
        assert "not recorded yet" in shown
    assert "not recorded yet" in views.load_times().axes[0].get_title()


def record(tmp_path, name: str, ms) -> SimpleNamespace:
    """A made-up record of a sweep: `ms` gives the time from a row's columns."""
    sweep = views.sweep(name)
    rows = []
    for point in sweep.points(sweep.size):
        row = {key: max(0, value) for key, value in point.columns.items()}
        time = float(ms(**row))
        times = {"median_ms": time, "low_ms": time, "high_ms": time}
        rows.append(row | times | {"n": 5, "useful_bytes": point.useful_bytes, "flops": point.flops})
    return write(tmp_path / f"{name}.csv", rows, dict.fromkeys(PROVENANCE, "made up"))


def test_what_is_said_about_a_record_follows_from_it(monkeypatch, tmp_path):
    tables = {
        "occupancy_loads": record(tmp_path, "occupancy_loads", lambda loads, warps: 64 / loads / warps),
        "occupancy_spills": record(tmp_path, "occupancy_spills", lambda blocks, **_: abs(blocks - 3) + 1),
        "occupancy_coarse": record(tmp_path, "occupancy_coarse", lambda per, **_: 8 / per),
    }
    monkeypatch.setattr(views, "recording", tables.get)
    said = views.faster_at_lower_occupancy()
    assert "64 warps with 1 load each take 1 ms, 16 warps with 8 loads each 0.5 ms, at 25.0%" in said
    said = views.spill_verdict()
    assert "with 3 blocks it is 3 times as fast as with 1; " in said
    assert said.endswith("; with 8 it takes 2 times as long")
    assert "recorded TFLOP/s" in views.coarse_times().header
    assert len(views.spill_times().rows) == 6
    assert len(views.load_times().axes[0].get_legend().get_texts()) == 8
    rates = {(row[0].text, row[1].text): row[4].text for row in views.load_rates().rows}
    # 63,360 blocks on 132 SMs, 4 at a time, make 120 waves of 64 rounds; the launch takes 4.5 us
    assert rates["8", "1"] == f"{(8000 - 4.5) / 120 / 64:.2f}"
