"""Chapter 02: its recorded launches, its views at the ends of every slider, its picture, its notebooks."""

import numpy as np
import pytest

from course_lib import standin as cp
from course_lib.chapters import tiling_kernels as k
from course_lib.chapters import tiling_sweeps as sweeps

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
