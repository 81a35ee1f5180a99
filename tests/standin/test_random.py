"""`cp.random`: shapes, dtypes and ranges as CuPy's; the numbers are NumPy's."""

from types import SimpleNamespace

import numpy as np
import pytest

from course_lib import standin as cp

MAKERS = {
    "rand": lambda r: r.rand(3, 4, dtype=np.float32),
    "random": lambda r: r.random((3, 4), dtype=np.float32),
    "random_sample": lambda r: r.random_sample((3, 4), np.float32),
    "randn": lambda r: r.randn(3, 4, dtype=np.float32),
    "standard_normal": lambda r: r.standard_normal((3, 4), dtype=np.float32),
    "normal": lambda r: r.normal(5, 2, (3, 4), dtype=np.float32),
    "uniform": lambda r: r.uniform(-1, 1, (3, 4), dtype=np.float32),
    "randint": lambda r: r.randint(0, 5, (3, 4), dtype=np.int32),
}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("source", [cp.random, cp.random.RandomState(1)], ids=["module", "RandomState"])
def test_shape_and_dtype(name, source):
    x = MAKERS[name](source)
    assert isinstance(x, cp.ndarray)
    assert x.shape == (3, 4)
    assert x.dtype in (np.float32, np.int32)


def test_a_seed_repeats():
    cp.random.seed(3)
    first = cp.random.rand(5)
    cp.random.seed(3)
    assert (first == cp.random.rand(5)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_generator(dtype):
    rng = cp.random.default_rng(1)
    assert rng.random((2, 3), dtype=dtype).dtype == dtype
    assert rng.standard_normal(4, dtype=dtype).dtype == dtype
    assert rng.uniform(2, 3, 10).min() >= 2
    assert rng.integers(0, 3, 100).max() == 2


def test_float32_stays_below_one():
    state = cp.random.RandomState()
    state._source = SimpleNamespace(random_sample=lambda size: np.full(size, 1 - 2.0**-53))
    assert (state.random(2, dtype=np.float32) < 1).all()


def test_permutation_shuffle_choice():
    x = cp.arange(10)
    cp.random.shuffle(x)
    assert sorted(x.get()) == list(range(10))
    assert sorted(cp.random.permutation(x).get()) == list(range(10))
    assert set(cp.random.choice(x, 5).get()) <= set(range(10))
