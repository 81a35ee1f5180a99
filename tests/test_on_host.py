"""Copies of arguments lie in memory as the originals do: aligned or not, overlapping or not, in any order."""

import numpy as np

from course_lib.profile import on_host


class GpuArray:
    """What `profile` uses of a CuPy array, over a NumPy array."""

    def __init__(self, array: np.ndarray, base: "GpuArray | None" = None) -> None:
        self.array, self.base = array, base
        self.shape, self.dtype, self.strides, self.size = array.shape, array.dtype, array.strides, array.size
        self.flags = array.flags
        self.__cuda_array_interface__ = array.__array_interface__

    def get(self, order: str = "C") -> np.ndarray:
        return np.array(self.array, order=order)


def start(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def test_a_slice_of_a_cupy_array_keeps_its_offset():
    whole = GpuArray(np.arange(8, dtype=np.float32))
    part = GpuArray(whole.array[1:5], whole)
    copy, other = on_host((part, whole))
    assert start(copy) - start(other) == 4
    np.testing.assert_array_equal(copy, [1, 2, 3, 4])
    copy[0] = 9
    assert other[1] == 9
    assert whole.array[1] == 1


def test_a_transposed_cupy_array_keeps_its_memory_order():
    whole = GpuArray(np.arange(4.0).reshape(2, 2))
    (copy,) = on_host((GpuArray(whole.array.T, whole),))
    assert copy.strides == (8, 16)
    np.testing.assert_array_equal(copy, [[0, 2], [1, 3]])


def test_an_array_stored_by_columns_and_an_empty_one():
    by_columns, empty = on_host(
        (GpuArray(np.asfortranarray([[1, 2], [3, 4]])), GpuArray(np.zeros(0)))
    )
    np.testing.assert_array_equal(by_columns.ravel(order="K"), [1, 3, 2, 4])
    assert empty.size == 0
