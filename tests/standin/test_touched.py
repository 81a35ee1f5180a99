"""Which bytes two streams touch: what a kernel did counts, not the view it was given."""

import numpy as np
import pytest

from course_lib import standin as cp
from course_lib.emulator.errors import HazardWarning
from tests.standin.stream_tools import N, pinned, run, stream


def fresh(*sizes):
    made = [cp.zeros(size, cp.float32) for size in sizes]
    cp.cuda.Device().synchronize()
    return made


def test_a_race_beyond_the_view():
    a, b = fresh(2 * N, N)
    with stream():
        a[1 : N + 1].set(pinned(1))
    with stream(), pytest.warns(HazardWarning, match="kernel 'twice' .* reads `in`, which a copy to the GPU"):
        run(b, a[:1])


def test_writes_beyond_the_view():
    a, b = fresh(2 * N, N)
    with stream():
        run(a[:1], b)
    with stream(), pytest.warns(HazardWarning, match="which kernel 'twice' in stream .* writes"):
        a[N - 1 : N].get()


@pytest.mark.filterwarnings("error")
class TestApart:
    def test_views_to_the_end(self):
        (a, b) = fresh(2 * N, 2 * N)
        for low in (0, N):
            with stream():
                a[low : low + N].set(pinned(1))
                run(b[low:], a[low:])

    def test_every_other_element(self):
        (a,) = fresh(2 * N)
        for first in (0, 1):
            with stream():
                a[first::2] = first + 1
        cp.cuda.Device().synchronize()
        np.testing.assert_array_equal(a.get()[:4], [1, 2, 1, 2])

    def test_two_columns(self):
        a = cp.zeros((4, 2), cp.float32)
        cp.cuda.Device().synchronize()
        for column in (0, 1):
            with stream():
                a[:, column] = 1


def test_every_other_element_and_all():
    (a,) = fresh(2 * N)
    with stream():
        a[::2] = 1
    with stream(), pytest.warns(HazardWarning):
        a[:] = 2
