"""Chapter 09, register tiling: its kernels, counts, pictures, slider, machine code and the ladder's times."""

import json
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from course_lib import explore, profile
from course_lib import standin as cp
from course_lib.chapters import register_tiling_kernels as k
from course_lib.chapters import register_tiling_picture as picture
from course_lib.chapters import register_tiling_sweeps as sweeps
from course_lib.chapters import register_tiling_views as views
from course_lib.chapters.register_tiling_code import _until_used, between
from course_lib.emulator.errors import MemoryAccessError
from course_lib.recorded import write

ROOT = Path(__file__).parents[1]


@cache
def rung(name: str):
    """The counts of a rung of the ladder for 256 x 256 floats; its answer is checked on the way."""
    (point,) = (p for p in sweeps.ladder(256) if p.columns["variant"] == name)
    args = point.arguments(cp)
    kernel = point.compiled(cp)
    kernel(point.grid, point.block, args, shared_mem=point.shared)
    c, a, b, _ = (np.asarray(arg) for arg in args)
    np.testing.assert_allclose(c, a.astype(float) @ b, rtol=1e-5)
    found = profile(kernel, point.grid, point.block, args, shared_mem=point.shared)
    assert not found.hazards
    return found


RUNGS = [str(p.columns["variant"]) for p in sweeps.ladder(256)]


@pytest.mark.parametrize("name", RUNGS)
def test_every_rung_multiplies_without_a_hazard(name):
    assert rung(name)["launch__grid_size"]


@pytest.mark.parametrize(("tm", "tn"), [(1, 1), (2, 1), (1, 8), (8, 4), (8, 8)])
def test_a_register_tile_loads_what_the_rule_says(tm, tn):
    """TM + TN values for TM TN multiply-adds; ptxas joins the loads of A for four steps."""
    counted = views.count_tile(tm, tn)
    assert views.LOADS["shared loads"](counted) == pytest.approx(64 * (tm / 4 + tn) / (tm * tn))


def test_wider_loads_are_fewer_and_the_padding_ends_the_conflicts():
    counted = rung("16-byte loads")
    assert views.WIDTH["shared loads"](counted) == 4  # two float4 of A, two of B, for 8 x 8
    assert views.WIDTH["global loads"](counted) == views.WIDTH["global loads"](rung("8 x 8 a thread")) / 4
    assert views.WIDTH["wavefronts in excess, all"](counted) == 0
    args = sweeps.matrices(128, 128)(cp)
    bare = profile(sweeps.vectors(0, 0).compile(cp), (1, 1), (256,), args)
    assert views.WIDTH["wavefronts in excess, all"](bare) == 16 * 8 * 4  # slices, warps, stores


def test_only_lanes_in_a_z_save_wavefronts():
    args = sweeps.matrices(128, 128)(cp)
    loads = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"
    each = [
        views.per_64(loads)(profile(sweeps.vectors(lanes).compile(cp), (1, 1), (256,), args))
        for lanes in (0, 1, 2)
    ]
    assert each == [12, 12, 8]


def test_a_double_buffer_needs_one_barrier_a_slice():
    slices, warps = 256 // 8, 8 * 4
    counted = rung("double buffer")
    assert views.barriers(counted) * counted[views.FFMA] / 64 / 32 == (slices + 1) * warps
    assert views.barriers(rung("warp tiles")) == 0.25  # two for 512 multiply-adds


def test_other_sizes_of_the_last_rung_multiply_too():
    for sizes in (
        {"TN": 16, "WM": 64},
        {"WM": 64, "WN": 32, "GROUP": 1},
        {"BM": 64, "BN": 256, "BK": 16, "BLOCKS": 1},
    ):
        point = sweeps.buffered_point({}, 256, sweeps.BEST | sizes)
        args = point.arguments(cp)
        point.compiled(cp)(point.grid, point.block, args, shared_mem=point.shared)
        c, a, b, _ = (np.asarray(arg) for arg in args)
        np.testing.assert_allclose(c, a.astype(float) @ b, rtol=1e-5)


def test_a_size_that_the_tile_does_not_divide_is_found_out():
    odd = cp.zeros((100, 100), cp.float32)
    with pytest.raises(MemoryAccessError):
        profile(sweeps.vectors(2).compile(cp), (1, 1), (256,), (odd, odd, odd, np.int32(100)))


# -- machine code -----------------------------------------------------------------------


def test_only_the_double_buffer_loads_long_before_use():
    assert between(sweeps.vectors(2).compile(cp)) < 64
    assert between(sweeps.buffered().compile(cp)) > 200


def test_multiply_adds_are_counted_up_to_the_first_use():
    loop = [
        "LDG.E.128.CONSTANT R36, desc[UR8][R22.64]",
        "FFMA.FTZ R1, R2, R3, R1",
        "FFMA.FTZ R39, R2, R3, R1",  # writes a register, and does not read it
        "FFMA.FTZ R4, R5, R6, R4",
        "STS.128 [R17+0x2080], R36",
    ]
    assert _until_used(loop, 0) == 3
    assert _until_used([loop[0], "FFMA R1, R38, R3, R1"], 0) == 0


# -- pictures ---------------------------------------------------------------------------


@pytest.mark.parametrize("lanes", [0, 1, 2])
def test_every_element_has_one_thread_and_every_thread_64(lanes):
    made_by = picture.owners(lanes)
    assert made_by.min() == 0
    np.testing.assert_array_equal(np.bincount(made_by.ravel()), np.full(256, 64))
    assert picture.nested(lanes).axes


def test_the_picture_has_the_places_of_the_kernel():
    """Each thread stores its own number in its elements."""
    source = (
        k.PLACE
        + r"""
extern "C" __global__ void where(int* out) {
    int2 at = place(threadIdx.x);
    for (int i = 0; i < 8; ++i)
        for (int j = 0; j < 8; ++j)
            out[(at.y + i / 4 * DOWN + i % 4) * 128 + at.x + j / 4 * RIGHT + j % 4] = threadIdx.x;
}
"""
    )
    for lanes in (0, 1, 2):
        out = cp.zeros((128, 128), cp.int32)
        cp.RawKernel(source, "where", options=(f"-DLANES={lanes}",))((1,), (256,), (out,))
        np.testing.assert_array_equal(np.asarray(out), picture.owners(lanes))


def test_bars_have_both_levels():
    figure = views.bars({name: rung(name) for name in ("coalesced", "tiled 32", "double buffer")})
    assert len(figure.axes[0].patches) == 5  # the untiled kernel takes nothing from shared memory


# -- slider, tables ---------------------------------------------------------------------


def test_slider_at_start_first_and_last(capsys):
    explorer = explore(views.show_tile, tm=[1, 2, 4, 8], tn=[1, 2, 4, 8])
    assert "8 x 8" in capsys.readouterr().out
    for values in explorer.extremes():
        figure, table = views.show_tile(**values)
        assert figure.axes
        assert "modelled" in repr(table)


def counted():
    return {name: rung(name) for name in RUNGS}


def test_the_model_orders_the_rungs():
    ms = [views.rung_time(rung(name)).ms for name in RUNGS]
    assert ms[:6] == sorted(ms[:6], reverse=True)
    assert ms[-1] == min(ms)


def test_every_step_has_one_count_that_falls_or_rises():
    rows = [
        [cell.text for cell in row]
        for row in views.explained(counted(), {"warp tiles": 0, "double buffer": 9}).rows
    ]
    assert [row[:2] for row in rows] == [list(pair) for pair in pairwise(RUNGS)]
    falls = [float(row[3].replace(",", "")) / float(row[4].replace(",", "")) for row in rows[:-1]]
    assert min(falls) > 1.15


def test_every_gpu_gains_from_the_register_tile():
    table = views.by_gpu(counted())
    assert all(row[3].text.startswith("yes") for row in table.rows)


def test_tables_without_a_recording(monkeypatch):
    monkeypatch.setattr(views, "recording", lambda name: None)
    assert "not recorded yet" in views.findings(counted())
    assert "not recorded yet" in views.order_words(counted())
    assert "not recorded yet" in repr(views.ladder_times(counted()))
    assert "not recorded yet" in repr(views.sides())
    assert views.share() is None


def test_tables_with_one(monkeypatch, tmp_path):
    """Times that halve with every rung; cuBLAS as fast as the last."""
    meta = dict.fromkeys(("gpu", "driver", "cuda", "cupy", "date", "script", "median", "spread"), "x")
    ms = {name: 2.0**-at for at, name in enumerate(RUNGS)} | {"cuBLAS": 2.0 ** -(len(RUNGS) - 1)}
    rows = [
        {"variant": name, "size": 4096, "median_ms": t, "low_ms": t, "high_ms": t, "n": 3}
        for name, t in ms.items()
    ]
    table = write(tmp_path / "register_tiling_4096.csv", rows, meta)
    monkeypatch.setattr(views, "recording", lambda name: table)
    assert views.share() == 100
    assert "from tiled 32 to 8 x 1 a thread: 2.00 times as fast" in views.findings(counted())
    assert "in the recorded order" in views.order_words(counted())
    told = [line for line in views.findings(counted()).splitlines() if "SGEMM_CUDA" in line]
    assert told[0].startswith("Reported elsewhere, not recorded")
    assert "36.3 of cuBLAS's 50.6" in told[0]
    assert "72 %" in told[0]  # 36.3 / 50.6 = 0.717
    assert [row[0].text for row in views.ladder_times(counted()).rows] == [*RUNGS, "cuBLAS"]


# -- the notebook -----------------------------------------------------------------------


def test_the_kernels_of_the_chapter_are_the_recorded_ones():
    book = json.loads((ROOT / "notebooks" / "09_register_tiling.ipynb").read_text(encoding="utf-8"))
    cells = ["".join(cell["source"]) for cell in book["cells"]]
    for kernel, given in ((k.REGISTER_TILE, ""), (k.VECTORS, k.PLACE), (k.BUFFERED, k.SLICES)):
        assert any(kernel.source.removeprefix(given) in cell for cell in cells), kernel.name
