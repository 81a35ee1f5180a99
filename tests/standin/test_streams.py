"""Streams and events without a GPU: CUDA's order, and what it does not promise."""

import pytest

from course_lib import standin as cp
from course_lib.emulator.errors import HazardWarning
from course_lib.standin.ledger import operations, stream_hazards
from tests.standin.stream_tools import N, arrays, pinned, run, stream


@pytest.mark.filterwarnings("error")
class TestOrdered:
    """No finding, where something orders the two."""

    def test_one_stream(self):
        a, b, c = arrays(1, 0, 0)
        with stream():
            run(b, a)
            run(c, b)
            assert (c.get() == 4).all()

    def test_an_event(self):
        a, b, c = arrays(1, 0, 0)
        first, second = stream(), stream()
        with first:
            run(b, a)
        second.wait_event(first.record())
        with second:
            run(c, b)
        second.synchronize()
        assert float(c[0]) == 4

    def test_the_host_waits_in_between(self):
        a, b, c = arrays(1, 0, 0)
        for out, given in ((b, a), (c, b)):
            with stream() as s:
                run(out, given)
            s.synchronize()

    def test_the_host_waits_for_an_event(self):
        a, b = arrays(1, 0)
        with stream():
            run(b, a)
            event = cp.cuda.Event()
            event.record()
        event.synchronize()
        assert float(b[0]) == 2

    def test_the_default_stream_and_a_blocking_one_wait_for_each_other(self):
        a, b, c = arrays(1, 0, 0)
        with cp.cuda.Stream():
            run(b, a)
        run(c, b)
        with cp.cuda.Stream():
            run(b, c)

    def test_two_readers(self):
        a, b, c = arrays(1, 0, 0)
        for out in (b, c):
            with stream():
                run(out, a)

    def test_halves_of_an_array(self):
        (a,) = arrays(1)
        both = cp.zeros(2 * N, cp.float32)
        cp.cuda.Device().synchronize()
        for half in (both[:N], both[N:]):
            with stream():
                run(half, a)


class TestUnordered:
    """A HazardWarning that names both."""

    def test_read_after_write(self):
        a, b, c = arrays(1, 0, 0)
        first, second = stream(), stream()
        with first:
            run(b, a)
        expected = r"'twice' in stream \d+ reads `in`, which kernel 'twice'"
        with second, pytest.warns(HazardWarning, match=expected):
            run(c, b)

    def test_write_after_read(self):
        a, b, c = arrays(1, 0, 0)
        with stream():
            run(b, a)
        with stream(), pytest.warns(HazardWarning, match="writes `out`, which .* reads, and nothing orders"):
            run(a, c)

    def test_a_copy_out_in_another_stream(self):
        a, b = arrays(1, 0)
        with stream():
            run(b, a)
        with pytest.warns(HazardWarning, match="a copy to the host in the default stream reads"):
            b.get()

    def test_looking_at_an_array_too_early(self):
        a, b = arrays(1, 0)
        with stream():
            run(b, a)
        with pytest.warns(HazardWarning, match="the host in the default stream"):
            float(b[0])

    def test_the_default_stream_does_not_hold_up_a_non_blocking_one(self):
        (a,) = arrays(1)
        b = cp.zeros(N, cp.float32)
        with stream(), pytest.warns(HazardWarning, match="zeros in the default stream"):
            run(b, a)

    def test_an_array_function(self):
        a, b = arrays(1, 0)
        with stream():
            run(b, a)
        with stream(), pytest.warns(HazardWarning, match="add in stream"):
            b += 1

    def test_a_missing_order_is_reported_once(self):
        a, b, c = arrays(1, 0, 0)
        with stream():
            run(b, a)
        with stream(), stream_hazards() as hazards:
            with pytest.warns(HazardWarning):
                run(c, b)
            run(c, b)
        assert len(hazards) == 1

    def test_an_event_recorded_too_early(self):
        a, b, c = arrays(1, 0, 0)
        first, second = stream(), stream()
        event = first.record()
        with first:
            run(b, a)
        second.wait_event(event)
        with second, pytest.warns(HazardWarning):
            run(c, b)


def test_the_ledger_has_every_call():
    a, b = arrays(1, 0)
    out, s = pinned(), stream()
    with operations() as done, s:
        a.set(pinned(2), stream=s)
        run(b, a)
        b.get(stream=s, out=out, blocking=False)
        event = s.record()
        stream().wait_event(event)
        event.synchronize()
        s.begin_capture()
        run(b, a)
        graph = s.end_capture()
        graph.launch()
        s.synchronize()
    kinds = "copy in, kernel, copy out, record, wait, synchronise, capture, graph, synchronise"
    assert ", ".join(one.kind for one in done) == kinds
    copy = done[0]
    assert (copy.bytes, copy.pinned, copy.blocking, copy.stream) == (4 * N, True, False, s.ptr)
    assert [node.name for node in done[7].nodes] == ["twice"]


def test_freed_memory_is_forgotten():
    from course_lib.standin import work

    before = len(work.order._touched)
    for _ in range(20):
        with stream():
            cp.zeros(8, cp.float32)
    assert len(work.order._touched) <= before + 1
