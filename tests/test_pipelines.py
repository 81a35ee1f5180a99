"""Chapter 10: pipelines by hand, counted, drawn; its hazards; its slider at both ends."""

import json
from pathlib import Path

import numpy as np
import pytest

from course_lib import standin as cp
from course_lib.chapters import pipeline_hazards as hazards
from course_lib.chapters import pipeline_kernels as k
from course_lib.chapters import pipeline_sweeps as sweeps
from course_lib.chapters import pipeline_times as times
from course_lib.chapters import pipeline_views as views
from course_lib.chapters import pipelines as p
from course_lib.occupancy import occupancy
from course_lib.profile import profile
from course_lib.recorded import write
from course_lib.sliders import explore

ROOT = Path(__file__).parents[1]
ALL = [k.ONE_BUFFER, k.REGISTERS, k.STAGED, k.WARPS, k.MBARRIER]


# -- the kernels ------------------------------------------------------------------------

VARIANTS = [("one buffer", 0), ("registers", 0), *(("stages", n) for n in (2, 3, 4))]
VARIANTS += [("producer warps", 2), ("producer warps", 3), ("one producer", 2), ("one producer", 3)]


@pytest.mark.parametrize(("variant", "stages"), VARIANTS)
@pytest.mark.parametrize(("tiles", "blocks", "tile"), [(11, 3, 256), (2, 3, 256), (5, 1, 512)])
def test_every_variant_multiplies_without_a_hazard(variant, stages, tiles, blocks, tile):
    rng = np.random.default_rng(1)
    x = rng.integers(-4, 5, (tiles * tile // 16, 64)).astype(np.float32)
    w = rng.integers(-4, 5, (64, 16)).astype(np.float32)
    source, threads, _ = sweeps.kernel(variant, stages)
    kernel = k.tiled(source, tile, stages).compile(cp)
    args = cp.zeros((len(x), 16), cp.float32), cp.asarray(x), cp.asarray(w), np.int32(tiles)
    assert not profile(kernel, (blocks,), (threads,), args).hazards
    kernel((blocks,), (threads,), args)
    np.testing.assert_array_equal(cp.asnumpy(args[0]), x.astype(np.float64) @ w)


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_all_stages_but_one_are_in_flight_and_a_tile_costs_a_barrier(stages):
    counts = p._counts("stages", stages, 256, 14)
    assert counts["course__async_bytes_in_flight.max"] == (stages - 1) * 4096
    assert p.per_tile("stages", stages, 256, "course__barriers.sum") == 8  # one each of 8 warps
    assert p.per_tile("one buffer", 0, 256, "course__barriers.sum") == 16
    assert p.per_tile("stages", stages, 256, "smsp__inst_executed_op_ldgsts.sum") == 8


def test_the_multiplications_of_a_tile():
    """16 rows times 16 columns; for each float4 a multiplication, three multiply-adds and a sum."""
    floats = p.per_tile("one buffer", 0, 256, "course__fp32_lanes.sum")
    assert floats == 256 * 16 * 5


# -- the model, by hand ---------------------------------------------------------------------

SLOW = p.Costs(latency=1200, transfer=10, use=300, unit=100)  # waits for DRAM
BUSY = p.Costs(latency=300, transfer=10, use=1000, unit=100)


@pytest.mark.parametrize(
    ("scheme", "costs", "expected"),
    [
        (p.one_buffer(), SLOW, 1500),
        (p.staged(1), SLOW, 1500),
        (p.staged(2), SLOW, 1200),
        (p.staged(3), SLOW, 600),
        (p.staged(5), SLOW, 300),
        (p.staged(9), SLOW, 300),
        (p.producers(2), SLOW, 750),
        (p.staged(2), BUSY, 1000),
        (p.one_buffer(), BUSY, 1300),
        (p.staged(4), p.Costs(1200, 500, 300, 100), 500),
    ],
)
def test_clocks_of_a_tile(scheme, costs, expected):
    assert p.period(p.simulate(scheme, costs)) == pytest.approx(expected, rel=0.03)


def test_two_blocks_share_what_is_left_of_an_sm():
    assert p.period(p.simulate(p.one_buffer(), SLOW, 2)) == pytest.approx(750, rel=0.03)
    assert p.period(p.simulate(p.staged(4), p.Costs(300, 10, 900, 600), 2)) == pytest.approx(600, rel=0.03)


def test_a_tile_is_used_after_it_arrived_and_its_buffer_is_free():
    for scheme in (p.one_buffer(), p.staged(3), p.producers(3)):
        spans = {span.tile: span for span in p.simulate(scheme, SLOW)}
        assert len(spans) == p.TILES
        for tile, span in spans.items():
            assert span.asked < span.arrived <= span.start < span.end
            before = spans.get(tile - scheme.buffers)
            assert before is None or span.asked >= before.end


def test_little_by_hand():
    assert p.little_bytes("H200") == pytest.approx(4520e9 * 0.64e-6 / 132)
    assert p.bytes_in_flight(p.staged(4), 256, 2) == 2 * 3 * 4096


def test_the_model_orders_nearly_all_pairs_as_recorded():
    """But for `registers`, whose loads the assembler moves."""
    table = times.shapes()
    if table is None:
        pytest.skip("not recorded yet")
    said, was = times._pairs(table)
    ours = table["variant"] != "registers"
    apart = (was[:, None] * 1.1 < was[None, :]) & ours[:, None] & ours[None, :]
    wrong = apart & (said[:, None] > said[None, :])
    assert wrong.sum() < 0.05 * apart.sum()
    assert 0.5 < (said / was).min() <= (said / was).max() < 1.3


def test_what_does_not_fit_is_not_recorded():
    """The registers that `fits` assumes are those of the compiled kernels, in units of 8."""
    for point in sweeps.shapes(1):
        registers = point.kernel.compile(cp).num_regs
        shared = point.columns["stages"] * point.columns["tile"] * 16
        assert occupancy(point.block[0], registers, shared).blocks >= point.columns["blocks"], point.columns
    assert not sweeps.fits("producer warps", 2, 512, 2)
    registers = k.tiled(k.WARPS, 512, 2).compile(cp).num_regs
    assert occupancy(256 + 64, registers, 2 * 8192).blocks == 1


def test_the_assembler_moves_loads_but_not_asynchronous_copies():
    rows = {(row[0].text, row[1].text): row[-1].text for row in views.assembled().rows}
    share = {key: int(text.split(" of ")[0]) / int(text.split(" of ")[1]) for key, text in rows.items()}
    assert share["registers", "8 KB"] > 0.5
    assert share["registers", "16 KB"] == 1
    assert share["2 stages", "16 KB"] == 0


# -- hazards ------------------------------------------------------------------------------


@pytest.mark.parametrize("case", hazards.CASES, ids=lambda case: f"{case.kernel.name}: {case.cause}")
def test_each_mistake_is_found(case):
    assert hazards.run(case).kinds == case.expected


@pytest.mark.parametrize("kernel", ALL, ids=lambda one: one.name)
def test_without_a_mistake_nothing_is_found(kernel):
    """Within a third of the steps after which a kernel counts as endless."""
    same = hazards.Case("", kernel, f"void {kernel.name}(", f"void {kernel.name} (", ())
    assert hazards.run(same, hazards.STEPS // 3).kinds == ()


def test_every_kernel_has_a_mistake():
    assert {case.kernel.name for case in hazards.CASES} == {kernel.name for kernel in ALL}


def test_the_table_of_mistakes_says_when_nothing_is_found():
    table = hazards.hazard_table(hazards.CASES[:1], lambda case: hazards.Found((), "", ""))
    assert "nothing" in repr(table)


def test_a_mistake_must_be_in_the_kernel_once():
    with pytest.raises(ValueError, match="0 times"):
        hazards.Case("x", k.STAGED, "no such line", "", ()).source()


# -- slider, tables, charts -----------------------------------------------------------------


def test_slider_at_start_first_and_last(capsys):
    explorer = explore(views.show_pipeline, stages=range(1, 9), tile_kb=[4, 8, 16, 32], blocks=[1, 2])
    assert "2 x 4 KB = 8,192 bytes" in capsys.readouterr().out
    for values in explorer.extremes():
        figure, text = views.show_pipeline(**values)
        assert figure.axes
        assert "modelled" in text or "does not fit" in text
    assert "1 fit on an SM" in views.show_pipeline(4, 32, 2)[1]
    figure, text = views.show_pipeline(8, 32, 1)
    assert "more than a block may have. It does not fit." in text
    assert "does not fit" in figure.axes[0].get_title(loc="left")
    assert len(figure.axes[0].collections) == 1, "buffers and no tiles"


def test_pictures_have_a_row_for_each_buffer():
    figure = views.show_stages()
    assert [len(axes.get_yticks()) for axes in figure.axes] == [1, 2, 3]
    assert len(views.show_producers().axes) == 2


def test_without_a_recording(monkeypatch):
    monkeypatch.setattr(times, "recording", lambda name: None)
    assert "not recorded yet" in times.findings()
    assert "not recorded yet" in times.model_words()
    assert "not recorded yet" in repr(times.shapes_table())
    assert "not recorded yet" in times.little_chart().axes[0].get_title()


def test_with_one(monkeypatch, tmp_path):
    """Times that are the prediction exactly."""
    rows = []
    for point in sweeps.shapes(1) + sweeps.cublas(1):
        if point.columns["variant"] == "cuBLAS":
            rows.append({**point.columns, "median_ms": 0.5, "low_ms": 0.4, "high_ms": 0.6, "n": 3})
            continue
        ms = p.predicted_ms(*point.columns.values())
        rows.append({**point.columns, "median_ms": ms, "low_ms": ms, "high_ms": ms, "n": 3})
    meta = dict.fromkeys(("gpu", "driver", "cuda", "cupy", "date", "script", "median", "spread"), "x")
    table = write(tmp_path / "pipeline_shapes.csv", rows, meta)
    monkeypatch.setattr(times, "recording", lambda name: table if "shapes" in name else None)
    assert "puts 0 in the wrong order" in times.model_words()
    assert "from 1.00 to 1.00" in times.model_words()
    assert "one buffer: " in times.findings()
    assert "cuBLAS, for comparison: 0.500 ms" in times.findings()
    assert times.measured() == "No GPU here, so nothing is measured."
    assert "does not fit" in repr(times.shapes_table())
    assert len(times.little_chart().axes[0].lines) > 5


def test_old_gpus_without_asynchronous_copies_are_left_out():
    assert "T4" not in [row[0].text for row in views.by_gpu().rows]


# -- the notebook -------------------------------------------------------------------------


def test_the_kernels_of_the_chapter_are_the_recorded_ones():
    book = json.loads((ROOT / "notebooks" / "10_pipelines.ipynb").read_text(encoding="utf-8"))
    cells = ["".join(cell["source"]) for cell in book["cells"]]
    for text in (k.DOT, k.COPY, k.NAMED):
        assert any(f'r"""{text}"""' in cell for cell in cells)
    for kernel in (k.ONE_BUFFER, k.REGISTERS, k.STAGED, k.WARPS):
        rest = kernel.source.removeprefix(k.DOT).removeprefix(k.COPY).removeprefix(k.NAMED)
        assert any(rest in cell for cell in cells), kernel.name
