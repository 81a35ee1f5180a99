"""Chapter 08: its kernels against float64, its counts against formulas, its sliders, its recorded times."""

import ast
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from course_lib import standin as cp
from course_lib.chapters import flash_kernels as kernels
from course_lib.chapters import flash_model as model
from course_lib.chapters import flash_runs as runs
from course_lib.chapters import flash_sweeps as sweeps
from course_lib.chapters import flash_views as views
from course_lib.chapters.flash_attention import attention64
from course_lib.chapters.flash_picture import LOWEST, running
from course_lib.model import modelled_time
from course_lib.profile import profile
from course_lib.sliders import explore

CHAPTER = Path(__file__).parents[1] / "notebooks" / "08_flash_attention.ipynb"
FLASH = kernels.FLASH.define(D=32, BR=64, BC=16).compile(cp)
WIDE = kernels.FLASH.define(D=64, BR=32, BC=4).compile(cp)
NAIVE = tuple(
    kernel.define(D=32, BR=64, BC=16).compile(cp)
    for kernel in (kernels.SCORES, kernels.SOFTMAX, kernels.APPLY)
)


def three(n: int, keys: int | None = None) -> list:
    return [runs.rows(cp, m, seed=seed) for seed, m in enumerate((n, keys or n, keys or n))]


def test_the_reference_is_the_definition():
    q, k, v = (np.asarray(a, float) for a in three(3, 2))
    weights = np.exp(q @ k.T / 32**0.5)
    expected = weights @ v / weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(attention64(q, k, v), expected)
    causal = attention64(q, k, v, shift=-1)
    assert not causal[0].any()
    np.testing.assert_allclose(causal[1], v[0])
    np.testing.assert_allclose(causal[2], expected[2])


@pytest.mark.parametrize("n", [1, 31, 33, 63])
def test_ragged_lengths(n):
    assert runs.flash_error(cp, FLASH, n, n) < 1e-6
    assert runs.flash_error(cp, WIDE, n, n, d=63, queries=32) < 1e-6
    given = three(n)
    assert runs.error(runs.run(runs.naive_launches(cp, NAIVE, *given)), *given) < 1e-6


@pytest.mark.parametrize(("nq", "nk"), [(40, 70), (70, 40), (1, 33), (33, 1)])
def test_causal_masks_aligned_to_both_corners(nq, nk):
    for shift in (nk - nq, 0):
        assert runs.flash_error(cp, FLASH, nq, nk, shift) < 1e-6


def test_no_access_out_of_bounds_and_no_hazard_in_a_masked_ragged_launch():
    assert not profile(FLASH, *runs.launch(cp, *three(70, 41), shift=41 - 70)).hazards


def test_a_query_without_a_key_gives_zero_and_its_lse_is_the_lowest_float():
    grid, block, args = runs.launch(cp, *three(70, 40), shift=40 - 70)
    FLASH(grid, block, args)
    out, lse = (np.asarray(a) for a in args[:2])
    assert not out[:30].any()
    assert (lse[:30] == LOWEST).all()
    assert np.isfinite(out).all()
    assert out[30:].any(axis=1).all()


def test_large_logits_are_as_good_as_their_floats():
    for around in (60000, -60000):
        assert runs.logits_error(cp, FLASH, around) < 0.05


def test_lse_is_what_the_backward_pass_needs():
    q, k, v = three(33)
    grid, block, args = runs.launch(cp, q, k, v)
    FLASH(grid, block, args)
    scores = np.asarray(q, float) @ np.asarray(k, float).T / 32**0.5
    np.testing.assert_allclose(np.asarray(args[1]), np.log(np.exp(scores).sum(axis=1)), rtol=1e-5)
    grad = kernels.GRAD_Q.define(D=32, BR=64, BC=16).compile(cp)
    assert runs.grad_error(cp, FLASH, grad) < 1e-5
    assert grad.local_size_bytes == 0


def test_the_reference_of_the_gradient_is_a_slope():
    """Two points of float64 attention, along a random step, against the emulated gradient."""
    q, k, v, dout = (runs.rows(cp, 20, seed=seed) for seed in range(4))
    grid, block, args = runs.launch(cp, q, k, v, shift=0)
    FLASH(grid, block, args)
    dq = cp.zeros((20, 32), cp.float32)
    kernels.GRAD_Q.define(D=32, BR=64, BC=16).compile(cp)(grid, block, (dq, dout, *args))
    q, k, v, dout, dq = (np.asarray(a, float) for a in (q, k, v, dout, dq))
    step = 1e-5 * np.random.default_rng(9).normal(0, 1, q.shape)
    low, high = (attention64(q + sign * step, k, v, shift=0) for sign in (-1, 1))
    assert (dq * step).sum() == pytest.approx(((high - low) * dout).sum() / 2, rel=1e-4)


def test_one_pass_gives_the_softmax_of_three():
    s = runs.rows(cp, 37, 45)  # 37 keys, 45 queries
    s[:, 7] = LOWEST
    answers = []
    for kernel in (kernels.SOFTMAX, kernels.ONLINE):
        mine = s.copy()
        kernel.compile(cp)((2, 1), (32, 8), (mine, np.int32(45), np.int32(37)))
        answers.append(np.asarray(mine))
    weights = np.exp(np.asarray(s, float))
    weights[:, 7] = 0
    expected = weights / np.maximum(weights.sum(axis=0), 1e-300)
    np.testing.assert_allclose(answers[0], expected, atol=1e-6)
    np.testing.assert_allclose(answers[1], expected, atol=1e-6)


def test_running_maximum_and_sum_end_where_two_passes_do():
    scores = np.random.default_rng(0).normal(0, 3, 50).astype(np.float32)
    scores[:16] = LOWEST
    states = running(scores, 16)
    assert states[0].sum == 0
    assert states[-1].top == scores.max()
    assert states[-1].sum == pytest.approx(np.exp(scores[16:] - scores.max(), dtype=float).sum(), rel=1e-5)


# -- counts and times --------------------------------------------------------------


def test_the_formula_of_bytes_is_what_is_counted():
    counted = {"naive": {}, "flash": {}}
    for n in (64, 128):
        naive = runs.naive_launches(cp, NAIVE, *three(n))
        counted["naive"][n] = sum(views.asked(profile(*one)) for one in naive.values())
        counted["flash"][n] = views.asked(profile(FLASH, *runs.launch(cp, *three(n))))
    assert views.agrees(counted)
    assert not views.agrees({"naive": {64: 1}})


def test_the_points_of_the_sweep_compute_attention():
    found = {str(point.columns["variant"]): point for point in sweeps.attention(32)[-6:]}
    for name, shift in (("flash", None), ("flash causal", 0)):
        args = found[name].arguments(cp)
        found[name].kernel.compile(cp)(found[name].grid, found[name].block, args)
        for head in range(sweeps.TOKENS):
            assert runs.error(args[0][head], *(a[head] for a in args[2:5]), shift) < 1e-6
    assert [s for s, _ in sweeps.lengths(16384)] == [512, 1024, 2048, 4096, 8192, 16384]


def test_a_missing_pytorch_is_left_out(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert all(call.launcher(cp) is None for call in sweeps.library(32))


def test_counts_of_one_block_scale_to_a_whole_launch():
    for point in (*sweeps.naive(128, 2), sweeps.flash(128, 2, {"variant": "flash"})):
        direct = modelled_time(
            profile(point.kernel.compile(cp), point.grid, point.block, point.arguments(cp))
        )
        scaled = model.modelled(str(point.columns["variant"]), 128, 2)
        assert scaled.ms == pytest.approx(direct.ms, rel=0.05), point.columns


def test_fusion_shortens_the_modelled_time_and_shared_memory_is_the_next_limit():
    fused = model.modelled("flash", 4096, 16)
    assert fused.limiter == "shared wavefronts"
    assert model.naive_ms(4096, 16) > 1.3 * fused.ms


def test_the_model_orders_fused_and_unfused_as_recorded():
    """Single kernels it does not all order: it knows neither waits for a sum nor blocks of unequal length."""
    found = model.agreement()
    if found is None:
        pytest.skip("not recorded yet: run `python -m course_lib.record flash_attention` on an H200")
    ms = dict(zip(found.labels, found.recorded_ms, strict=True))
    for s, heads in sweeps.lengths(sweeps.SWEEPS[0].size):
        at = {
            name: ms[f"variant={name} sequence={s} heads={heads}"]
            for name in (*model.NAIVE, "online", "flash")
        }
        assert sum(at[name] for name in model.NAIVE) > 1.1 * at["flash"]
        assert at["online"] < at["softmax"]
    assert np.median(found.ratio) == pytest.approx(0.8, abs=0.4)


def test_tables_and_charts():
    assert [row[0].text for row in views.times_by_gpu().rows][-2:] == ["H200", "B200"]
    assert views.time_chart().axes[0].get_legend() is not None
    assert views.model_error("T4") == views.attention_times("T4")
    assert "not recorded yet; on the T4" in views.attention_times("T4")
    assert "not recorded yet; on the T4" in repr(views.tile_times("T4"))
    assert "nothing is measured" in views.measured_attention()


# -- sliders -----------------------------------------------------------------------


def test_sliders_run_at_start_first_and_last(capsys):
    scores = np.random.default_rng(0).normal(0, 2, (128, 128)).astype(np.float32)
    steps = views.picture_view(scores, 64, 16, block=1, shift=0)
    tiles = views.tiles_view(FLASH)
    choices = {"sequence": [512, 16384], "queries": [32, 64, 256], "keys": [8, 16, 32]}
    for view, values in ((steps, {"tile": range(1, 9)}), (tiles, choices)):
        start = {"sequence": 512} if view is tiles else None
        for chosen in explore(view, start=start, **values).extremes():
            made = view(**chosen)
            figure = made[0] if isinstance(made, tuple) else made
            assert figure.axes
    assert capsys.readouterr().out


# 128 threads of 146 registers: 4,864 a warp in units of 256, 3 warps in each quarter of 65,536, 3 blocks.
def test_the_tile_slider_says_what_fits():
    text = views.tiles_view(FLASH)(sequence=16384, queries=128)[1]
    assert "the naive kernels ask for 12.9 times the bytes" in text
    assert "= 12 warps per SM of H200: 18.75% occupancy, limited by registers" in text


# -- the notebook ------------------------------------------------------------------


def test_the_kernels_of_the_chapter_are_the_recorded_ones():
    book = json.loads(CHAPTER.read_text(encoding="utf-8"))
    cells = ["".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == "code"]
    trees = [ast.parse(cell) for cell in cells if "RawKernel" in cell or "TILE =" in cell]
    strings = {
        n.value
        for tree in trees
        for n in ast.walk(tree)
        if isinstance(n, ast.Constant) and isinstance(n.value, str)
    }
    assert kernels.TILE in strings
    for kernel in (kernels.SCORES, kernels.SOFTMAX, kernels.APPLY, kernels.ONLINE, kernels.FLASH):
        assert kernel.source.removeprefix(kernels.HELPERS) in strings, kernel.name
