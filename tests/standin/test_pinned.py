"""Pinned memory without a GPU: copies arrive when the host waits for them, not before."""

import numpy as np
import pytest

from course_lib.emulator.errors import HazardWarning
from course_lib.standin.ledger import operations
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


def test_asking_again_is_waiting():
    a, b = arrays(1, 0)
    out = pinned(-1)
    with stream() as s:
        run(b, a)
        b.get(out=out, blocking=False)
    assert not s.done
    assert out[0] == -1  # one answer was "no"
    assert s.done
    assert out[0] == 2
    event = s.record()
    assert event.done


def test_a_wait_by_asking_is_counted_as_one():
    (a,) = arrays(1)
    with operations() as done, stream() as s:
        a.fill(2)
        while not s.done:
            pass
    assert [one.kind for one in done] == ["array function", "synchronise"]


@pytest.mark.filterwarnings("error")
def test_a_later_copy_of_the_stream_sees_what_is_on_its_way():
    a, b, c = arrays(1, 0, 0)
    there, s, other = pinned(9), stream(), stream()
    a.get(s, out=there, blocking=False)
    b.set(there, s)
    other.wait_event(s.record())
    c.set(there, other)
    assert (there == 9).all()
    other.synchronize()
    assert (b.get() == 1).all()
    assert (c.get() == 1).all()
    assert (there == 1).all()


def test_the_later_of_two_copies_stays():
    a, b = arrays(1, 2)
    out, s = pinned(), stream()
    a.get(s, out=out, blocking=False)
    b.get(s, out=out)
    assert (out == 2).all()
    s.synchronize()
    assert (out == 2).all()


def test_two_streams_that_copy_into_one_buffer():
    a, b = arrays(1, 2)
    out = pinned()
    a.get(stream(), out=out, blocking=False)
    with pytest.warns(HazardWarning, match="writes pinned memory, which a copy to the host in stream"):
        b.get(stream(), out=out, blocking=False)
