"""Chapter 05: every recorded kernel against NumPy in float64, ragged lengths included."""

from types import SimpleNamespace

import numpy as np
import pytest

from course_lib import standin as cp
from course_lib.chapters import fusion_calls as calls
from course_lib.chapters import fusion_kernels as k
from course_lib.chapters import fusion_persistent as persistent
from course_lib.chapters import fusion_row_calls as row_calls
from course_lib.chapters import fusion_rows as r
from course_lib.chapters import fusion_sweeps as sweeps
from course_lib.points import floats
from course_lib.profile import profile
from course_lib.sweeps import all_sweeps

RANDOM = np.random.default_rng(5)
LENGTHS = (4, 100, 1000, 4100, 8188, 8192)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def launch(kernel, grid, threads, *args):
    """Run a kernel on the emulator; the first array is what it wrote, as float64."""
    arrays = [cp.asarray(a) if isinstance(a, np.ndarray) else a for a in args]
    kernel.compile(cp)(grid, threads, tuple(arrays))
    return np.asarray(arrays[0]).astype(float)


def pointwise(kernel, n, *inputs):
    out = np.zeros(n, np.float32)
    if kernel.name == "pointwise":
        return launch(kernel, (-(-n // 256),), (256,), out, *inputs * 3, np.int32(n), np.int32(1))
    return launch(kernel, (-(-n // 1024),), (256,), out, *inputs, np.int32(n))


def gelu(x):
    return x / 2 * (1 + np.tanh(0.79788456 * (x + 0.044715 * x**3)))


@pytest.mark.parametrize(
    ("kernel", "right"),
    [
        (k.SIN_COS, np.ones_like),
        (k.SIN_COS4, np.ones_like),
        (k.GELU, gelu),
        (k.GELU4, gelu),
        (k.STEPS4.define(STEPS=3), lambda x: x / 8 + 1.75),
        (k.RELU4, lambda x: np.maximum(x, 0)),
        (k.FORWARD4, lambda x: sigmoid(sigmoid(sigmoid(x)))),
    ],
)
def test_pointwise_kernels(kernel, right):
    x = np.concatenate([RANDOM.normal(0, 4, 1000), [-60, 60, 0, 1]]).astype(np.float32)
    got = pointwise(kernel, x.size, x)
    np.testing.assert_allclose(got, right(x.astype(float)), rtol=2e-6, atol=1e-6)


def test_sigmoids_stored_and_recomputed_have_the_same_slope():
    x, g = (RANDOM.normal(size=1000).astype(np.float32) for _ in "xg")
    a = sigmoid(x.astype(float))
    b = sigmoid(a)
    c = sigmoid(b)
    right = g * c * (1 - c) * b * (1 - b) * a * (1 - a)
    stored = [cp.zeros(1000, cp.float32) for _ in range(3)]
    args = (*stored, cp.asarray(x), np.int32(1000))
    k.FORWARD_STORED4.compile(cp)((1,), (256,), args)
    for got, expected in zip(stored, (c, a, b), strict=True):
        np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-6)
    s1, s2 = (np.asarray(s) for s in stored[1:])
    np.testing.assert_allclose(pointwise(k.BACKWARD_STORED4, 1000, g, s1, s2), right, rtol=1e-5)
    np.testing.assert_allclose(pointwise(k.BACKWARD_RECOMPUTED4, 1000, g, x), right, rtol=1e-5)


@pytest.mark.parametrize("columns", LENGTHS)
@pytest.mark.parametrize("threads", [256, 512, 1024])
def test_fast_rows_of_any_length(columns, threads):
    x = RANDOM.normal(0, 3, (3, columns)).astype(np.float32)
    check_rows(
        x, threads, [kernel.define(THREADS=threads) for kernel in (r.SOFTMAX4, r.LAYER_NORM4, r.ROW_SUM4)]
    )


@pytest.mark.parametrize("columns", [1, 31, 257, 1000, 1023])
def test_clear_rows_of_any_length(columns):
    x = RANDOM.normal(0, 3, (3, columns)).astype(np.float32)
    check_rows(x, 256, [r.SOFTMAX.define(EACH=4), r.LAYER_NORM.define(EACH=4)])
    got = launch(r.ROW_SUM, (1, 3), (256,), np.zeros(3, np.float32), x, np.int32(columns))
    np.testing.assert_allclose(got, x.astype(float).sum(axis=1), atol=1e-3)


def check_rows(x, threads, kernels):
    rows, columns = x.shape
    exact, count = x.astype(float), np.int32(columns)
    gamma, beta = (RANDOM.normal(size=columns).astype(np.float32) for _ in "gb")
    e = np.exp(exact - exact.max(axis=1, keepdims=True))
    got = launch(kernels[0], (rows,), (threads,), np.zeros_like(x), x, count)
    np.testing.assert_allclose(got, e / e.sum(axis=1, keepdims=True), rtol=5e-6)
    normal = (exact - exact.mean(axis=1, keepdims=True)) / np.sqrt(exact.var(axis=1, keepdims=True) + 1e-5)
    got = launch(kernels[1], (rows,), (threads,), np.zeros_like(x), x, gamma, beta, count)
    np.testing.assert_allclose(got, normal * gamma + beta, rtol=1e-5, atol=5e-6)
    for kernel in kernels[2:]:
        got = launch(kernel, (rows,), (threads,), np.zeros(rows, np.float32), x, count)
        np.testing.assert_allclose(got, exact.sum(axis=1), atol=1e-3)


@pytest.mark.parametrize("columns", [4, 1000, 8188])
@pytest.mark.parametrize("threads", [512, 1024])
def test_rows_taken_in_turn(columns, threads):
    x = RANDOM.normal(0, 3, (7, columns)).astype(np.float32)
    exact, counts = x.astype(float), (np.int32(columns), np.int32(7))
    gamma, beta = (RANDOM.normal(size=columns).astype(np.float32) for _ in "gb")
    e = np.exp(exact - exact.max(axis=1, keepdims=True))
    softmax = persistent.SOFTMAX_NEXT4.define(THREADS=threads)
    got = launch(softmax, (3,), (threads,), np.zeros_like(x), x, *counts)
    np.testing.assert_allclose(got, e / e.sum(axis=1, keepdims=True), rtol=5e-6)
    normal = (exact - exact.mean(axis=1, keepdims=True)) / np.sqrt(exact.var(axis=1, keepdims=True) + 1e-5)
    kernel = persistent.LAYER_NORM_NEXT4.define(THREADS=threads)
    got = launch(kernel, (3,), (threads,), np.zeros_like(x), x, gamma, beta, *counts)
    np.testing.assert_allclose(got, normal * gamma + beta, rtol=1e-5, atol=5e-6)


@pytest.mark.parametrize("kernel", [r.SOFTMAX4, r.SOFTMAX.define(EACH=4)])
def test_softmax_of_large_logits(kernel):
    x = RANDOM.normal(0, 3, (2, 1000)).astype(np.float32)
    x[0, 17], x[1, 3] = 6e4, -6e4
    got = launch(kernel, (2,), (512 if kernel is r.SOFTMAX4 else 256,), np.zeros_like(x), x, np.int32(1000))
    exact = x.astype(float)
    e = np.exp(exact - exact.max(axis=1, keepdims=True))
    np.testing.assert_allclose(got, e / e.sum(axis=1, keepdims=True), rtol=5e-6, atol=1e-30)


@pytest.mark.parametrize("parts", [1, 3, 7])
def test_row_sums_in_parts(parts):
    x = RANDOM.normal(size=(2, 5000)).astype(np.float32)
    for kernel in (r.ROW_SUM, r.ROW_SUM_PARTS4.define(THREADS=256)):
        out = np.zeros(2 * parts, np.float32)
        got = launch(kernel, (parts, 2), (256,), out, x, np.int32(5000)).reshape(2, parts)
        np.testing.assert_allclose(got.sum(axis=1), x.astype(float).sum(axis=1), atol=1e-3)


def test_a_warp_per_row_with_a_ragged_last_block():
    x = RANDOM.normal(size=(11, 1000)).astype(np.float32)
    zeros, count = np.zeros(11, np.float32), (np.int32(1000), np.int32(11))
    got = launch(r.ROW_SUM_WARP4.define(THREADS=256), (2,), (256,), zeros, x, *count)
    np.testing.assert_allclose(got, x.astype(float).sum(axis=1), atol=1e-3)


@pytest.mark.parametrize("relu", [0, 1])
def test_products(relu):
    for point in sweeps.matmul(256)[relu::2]:
        args = point.arguments(cp)
        point.kernel.compile(cp)(point.grid, point.block, args)
        right = np.asarray(args[1]).astype(float) @ np.asarray(args[2])
        assert (right < 0).any()
        np.testing.assert_allclose(np.asarray(args[0]), np.maximum(right, 0) if relu else right, atol=2e-5)


def test_relu_in_half_precision():
    fp16 = sweeps.bits(3000)[1]
    args = fp16.arguments(cp)
    x = args[1] - np.float16(0.5)
    fp16.kernel.compile(cp)(fp16.grid, fp16.block, (args[0], x, args[2]))
    np.testing.assert_array_equal(np.asarray(args[0]), np.maximum(np.asarray(x), 0))


CHAPTER = [sweep for sweep in all_sweeps() if sweep.name.startswith("fusion_")]


@pytest.mark.parametrize("sweep", CHAPTER, ids=lambda sweep: sweep.name)
def test_recorded_launches_are_clean_and_move_what_they_say(sweep):
    for point in sweep.points(sweep.small):
        p = profile(point.kernel.compile(cp), point.grid, point.block, point.arguments(cp))
        assert not p.hazards
        assert p["course__unique_dram_bytes_ld"] + p["course__unique_dram_bytes_st"] >= point.useful_bytes
        assert point.kernel.compile(cp).local_size_bytes == 0 or sweep.name == "fusion_sin_cos"


@pytest.mark.parametrize("sweep", CHAPTER, ids=lambda sweep: sweep.name)
def test_rows_of_a_table_have_the_same_columns(sweep):
    rows = [*sweep.points(sweep.small), *sweep.calls(sweep.small)]
    assert len({(*row.columns, bool(row.useful_bytes)) for row in rows}) == 1
    assert len({bool(row.flops) for row in rows if row.columns["variant"] != calls.COPY}) == 1
    assert len({tuple(row.columns.values()) for row in rows}) == len(rows)
    assert not any(mark in str(row.columns["variant"]) for row in rows for mark in ',"')


def result(call, module=cp):
    run = call.launcher(module)
    return None if run is None else np.asarray(run())


def test_library_calls_compute_the_same(capsys):
    fusing = SimpleNamespace(
        **{name: getattr(cp, name) for name in dir(cp)}, fuse=lambda kernel_name: lambda f: f
    )
    x = np.asarray(floats(cp, 400)).astype(float)
    for call in calls.gelu(400)[1:3]:
        np.testing.assert_allclose(result(call, fusing), gelu(x), rtol=1e-5)
    for call in calls.sin_cos(400)[1:3]:
        np.testing.assert_allclose(result(call, fusing), 1, rtol=1e-6)
    for call in calls.sigmoids(400)[1:3]:
        np.testing.assert_allclose(result(call, fusing), sigmoid(sigmoid(sigmoid(x))), rtol=1e-6)
    x = x.reshape(4, 100)
    for call in row_calls.row_sum((4, 100))[1:3]:
        np.testing.assert_allclose(result(call, fusing), x.sum(axis=1), rtol=1e-5)
    for call in row_calls.softmax((4, 100))[1:3]:
        e = np.exp(x)
        np.testing.assert_allclose(result(call, fusing), e / e.sum(axis=1, keepdims=True), rtol=1e-5)
    for call in row_calls.layer_norm((4, 100))[1:3]:
        vector = np.asarray(floats(cp, 100)).astype(float)
        normal = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
        np.testing.assert_allclose(result(call, fusing), normal * vector + vector, rtol=1e-4, atol=1e-5)


def test_library_rows_are_named_alike():
    def names(made):
        return [call.columns["variant"] for call in made]

    assert names(row_calls.row_sum((4, 100))) == ["device copy", "separate CuPy", "cupy.fuse", "PyTorch"]
    forward = [f"{library} forward" for library in ("separate CuPy", "cupy.fuse", "PyTorch")]
    assert names(calls.sigmoids(400)) == ["device copy", *forward, "PyTorch backward"]
    product = row_calls.matmul(128, 64, 256)
    assert names(product)[::3] == ["device copy", "cuBLAS product then cupy.fuse ReLU"]
    assert len({call.useful_bytes for call in product}) == 1


def test_cublas_then_relu(capsys):
    fusing = SimpleNamespace(
        **{name: getattr(cp, name) for name in dir(cp)}, fuse=lambda kernel_name: lambda f: f
    )
    plain, joined = (result(call, fusing) for call in row_calls.matmul(128, 64, 256)[2:4])
    np.testing.assert_array_equal(joined, plain)
    assert joined.min() == 0


def test_a_missing_library_leaves_its_row_out_and_says_why(capsys):
    assert result(calls.gelu(400)[2]) is None
    assert "no cp.fuse" in capsys.readouterr().out


def test_chains_of_launches_run():
    for sweep in CHAPTER:
        if sweep.name in ("fusion_steps", "fusion_row_length"):
            for call in sweep.calls(1 << 14)[1:]:
                assert call.launcher(cp) is not None, call.columns
