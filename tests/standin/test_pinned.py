"""Pinned memory without a GPU: copies arrive when the host waits for them, not before."""

import numpy as np
import pytest

from course_lib.emulator.errors import HazardWarning
from tests.standin.stream_tools import N, arrays, pinned, run, stream


def test_pinned_memory_is_filled_when_the_host_waits():
    (a,) = arrays(3)
    out, s = pinned(-1), stream()
    assert a.get(stream=s, out=out, blocking=False) is out
    assert (out == -1).all()
    s.synchronize()
    assert (out == 3).all()


def test_ordinary_memory_is_filled_at_once():
    (a,) = arrays(3)
    out = np.zeros(N, np.float32)
    a.get(stream=stream(), out=out, blocking=False)
    assert (out == 3).all()


def test_a_blocking_copy_waits():
    (a,) = arrays(3)
    out = pinned(-1)
    a.get(stream=stream(), out=out)
    assert (out == 3).all()


def test_pinned_memory_changed_under_a_copy():
    (a,) = arrays(0)
    source, s = pinned(1), stream()
    a.set(source, stream=s)
    source[:] = 2
    with pytest.warns(HazardWarning, match="changed pinned memory"):
        s.synchronize()
    ordinary = np.ones(N, np.float32)
    a.set(ordinary, stream=s)
    ordinary[:] = 2
    s.synchronize()
    assert (a.get() == 1).all()


def test_asking_twice_is_waiting():
    a, b = arrays(1, 0)
    with stream() as s:
        run(b, a)
    assert not s.done
    assert s.done
    event = s.record()
    assert event.done
