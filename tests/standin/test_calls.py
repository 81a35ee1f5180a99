"""Every name the stand-in offers exists in CuPy and gives what NumPy gives; on a GPU, what CuPy gives."""

import numpy as np
import pytest

from course_lib import standin
from course_lib.standin.names import CONSTANTS, FUNCTIONS
from tests.standin.calls import CALLS, EXPRESSIONS

EVERYTHING = CALLS | EXPRESSIONS


class _HostNumPy:
    """NumPy under CuPy's names."""

    asarray = staticmethod(np.asarray)

    def __getattr__(self, name):
        return getattr(np, name)


def _parts(value):
    return value if isinstance(value, tuple | list) else [value]


def _plain(value):
    """A result as a list of NumPy arrays."""
    return [p.get() if hasattr(p, "get") else np.asarray(p) for p in _parts(value)]


def _same(ours, theirs, **bounds):
    for mine, other in zip(_plain(ours), _plain(theirs), strict=True):
        assert mine.dtype == other.dtype
        assert mine.shape == other.shape
        np.testing.assert_allclose(mine, other, **bounds)


def test_every_function_has_a_call():
    assert set(CALLS) == set(FUNCTIONS)


@pytest.mark.parametrize("name", EVERYTHING)
def test_as_numpy(name):
    with np.errstate(all="ignore"):  # a GPU warns of nothing
        expected = EVERYTHING[name](_HostNumPy())
    _same(EVERYTHING[name](standin), expected, rtol=0)


@pytest.mark.parametrize("name", EVERYTHING)
def test_arrays_stay_on_the_emulated_gpu(name):
    assert all(isinstance(p, standin.ndarray | bool) for p in _parts(EVERYTHING[name](standin)))


def test_names_are_cupys():
    cupy = pytest.importorskip("cupy")
    assert [n for n in sorted(FUNCTIONS | CONSTANTS) if not hasattr(cupy, n)] == []
    assert [n for n in CONSTANTS if getattr(cupy, n) is not getattr(standin, n)] == []


@pytest.mark.gpu
def test_as_cupy(cupy):
    problems = {}
    for name, call in EVERYTHING.items():
        try:
            ours, theirs = call(standin), call(cupy)
            assert [hasattr(p, "get") for p in _parts(ours)] == [hasattr(p, "get") for p in _parts(theirs)]
            _same(ours, theirs, rtol=1e-5, atol=1e-6)
        except Exception as error:
            problems[name] = f"{type(error).__name__}: {error}"
    assert problems == {}
