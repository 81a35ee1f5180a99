"""The stand-in's arrays: transfers copy, NumPy arrays are refused, fresh memory is not zero."""

import copy
import pickle

import numpy as np
import pytest

from course_lib import standin as cp


def test_asarray_copies_as_a_transfer_would():
    source = np.arange(4)
    moved = cp.asarray(source)
    source[0] = 9
    assert moved[0] == 0


def test_asarray_of_a_gpu_array_is_that_array():
    x = cp.arange(3)
    assert np.shares_memory(cp.asarray(x).view(np.ndarray), x.view(np.ndarray))
    assert not np.shares_memory(cp.array(x).view(np.ndarray), x.view(np.ndarray))


@pytest.mark.parametrize("back", [cp.asnumpy, lambda x: x.get()])
def test_the_way_back_copies_too(back):
    x = cp.arange(3)
    host = back(x)
    x[0] = 9
    assert type(host) is np.ndarray
    assert host[0] == 0


def test_get_and_set_fill_given_arrays():
    x, out = cp.zeros((2, 2)), np.empty((2, 2))
    x.set(np.full((2, 2), 3.0))
    assert x.get(out=out) is out
    assert (out == 3).all()
    with pytest.raises(ValueError, match=r"\(2, 2\) on the GPU, \(4,\) on the host"):
        x.set(np.zeros(4))


@pytest.mark.parametrize(
    "mix",
    [
        lambda x, host: x + host,
        lambda x, host: host * x,
        lambda x, host: cp.maximum(x, host),
        lambda x, host: cp.concatenate([x, host]),
        lambda x, host: np.add(host, x),
    ],
)
def test_numpy_arrays_are_refused(mix):
    with pytest.raises(TypeError, match=r"Unsupported type .*numpy\.ndarray.*cp\.asarray"):
        mix(cp.ones(3), np.ones(3))


def test_a_numpy_array_is_not_written_into_a_slice():
    """A GPU refuses this (CuPy 14.2); a NumPy scalar is fine."""
    x = cp.zeros(3)
    with pytest.raises(ValueError, match="non-scalar"):
        x[:2] = np.ones(2)
    x[:2] = np.float32(4)
    assert x.sum() == 8


def test_a_single_element_is_a_view():
    x = cp.zeros(3)
    element = x[1]
    element[...] = 7
    assert x[1].get() == 7
    assert f"{x[1]:.1f}" == "7.0"


def test_in_place_operators_keep_the_array():
    x = y = cp.ones(3)
    x += 1
    assert x is y
    assert y.sum() == 6


def test_iterating_gives_arrays():
    assert [v.get().item() for v in cp.arange(3)] == [0, 1, 2]


def _empty_like(shape, dtype):
    return cp.empty_like(cp.zeros(shape, dtype))


@pytest.mark.parametrize("make", [cp.empty, _empty_like, cp.ndarray])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.complex64])
def test_fresh_memory_is_nan(make, dtype):
    assert np.isnan(make((3, 5), dtype).get()).all()


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.uint64])
def test_fresh_memory_of_integers_is_not_zero(dtype):
    assert (cp.empty(7, dtype).get() != 0).all()


def test_fresh_memory_in_fortran_order():
    x = cp.empty((3, 2), np.float32, order="F")
    assert x.flags.f_contiguous
    assert np.isnan(x.get()).all()


def test_an_array_over_given_memory():
    memory = np.zeros(16, np.uint8)
    x = cp.ndarray((2, 2), np.float32, memory)
    x[1, 1] = 1
    assert memory.view(np.float32)[3] == 1


@pytest.mark.parametrize("value", [["a"], [object()], np.array(["2026-01-01"], "M8[D]")])
def test_only_numbers_go_to_a_gpu(value):
    with pytest.raises(ValueError, match="Unsupported dtype"):
        cp.asarray(value)


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_are_gpu_arrays(clone):
    x = cp.arange(3)
    assert isinstance(clone(x), cp.ndarray)
    assert (clone(x) == x).all()


def test_looks_like_cupys():
    assert repr(cp.arange(3)) == "array([0, 1, 2])"
    assert str(cp.arange(3)) == "[0 1 2]"
    assert cp.arange(3).device == cp.cuda.Device(0)


def test_it_has_no_pointer():
    with pytest.raises(AttributeError, match=r"no \.data"):
        _ = cp.arange(3).data


def test_division_by_zero_is_silent_as_on_a_gpu():
    assert cp.isinf(cp.ones(1) / cp.zeros(1)).all()


def test_contiguous_and_module_helpers():
    x = cp.arange(6).reshape(2, 3)
    assert cp.ascontiguousarray(x.T).flags.c_contiguous
    assert cp.get_array_module(x) is cp
    assert cp.get_array_module(np.ones(1)) is np
    assert not cp.is_available()


def test_testing_compares_both_sides():
    cp.testing.assert_allclose(cp.ones(3), np.ones(3))
    with pytest.raises(AssertionError):
        cp.testing.assert_array_equal(cp.ones(3), cp.zeros(3))
