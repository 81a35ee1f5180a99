"""Streams, events, graphs and pinned memory without a GPU: CUDA's order, and what it does not promise."""

import numpy as np
import pytest

from course_lib import standin as cp
from course_lib.emulator.errors import HazardWarning
from course_lib.standin.ledger import operations, stream_hazards

N = 64
double = cp.RawKernel(
    'extern "C" __global__ void twice(float* out, const float* in) {'
    " out[threadIdx.x] = 2.0f * in[threadIdx.x]; }",
    "twice",
)


def run(out, given):
    double((1,), (N,), (out, given))


def stream():
    return cp.cuda.Stream(non_blocking=True)


def arrays(*values):
    made = [cp.full(N, value, cp.float32) for value in values]
    cp.cuda.Device().synchronize()
    return made


def pinned(value=0.0):
    memory = np.frombuffer(cp.cuda.alloc_pinned_memory(4 * N), np.float32, N)
    memory[:] = value
    return memory


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


class TestCapture:
    def test_what_is_captured_runs_when_the_graph_is_launched(self):
        a, b = arrays(1, 0)
        with stream() as s:
            s.begin_capture()
            assert s.is_capturing()
            run(b, a)
            graph = s.end_capture()
        assert not s.is_capturing()
        assert (b.get() == 0).all()
        graph.launch(s)
        s.synchronize()
        assert (b.get() == 2).all()
        a.fill(5)
        cp.cuda.Device().synchronize()
        graph.upload()
        graph.launch(stream=s)
        s.synchronize()
        assert (b.get() == 10).all()

    def test_numbers_are_frozen_and_arrays_are_not(self):
        scale = cp.RawKernel(
            'extern "C" __global__ void scale(float* x, float by) { x[threadIdx.x] *= by; }', "scale"
        )
        (x,) = arrays(1)
        by = cp.float32(3)
        with stream() as s:
            s.begin_capture()
            scale((1,), (N,), (x, by))
            graph = s.end_capture()
            by = cp.float32(100)
            graph.launch()
            graph.launch()
            s.synchronize()
        assert float(x[0]) == 9

    def test_copies_are_captured(self):
        (a,) = arrays(0)
        source, out = pinned(1), pinned(0)
        with stream() as s:
            s.begin_capture()
            a.set(source, stream=s)
            a.get(stream=s, out=out, blocking=False)
            graph = s.end_capture()
        for value in (4, 7):
            source[:] = value
            graph.launch(s)
            s.synchronize()
            assert (out == value).all()

    def test_another_stream_joins_and_is_joined(self):
        a, b, c, d = arrays(1, 0, 0, 0)
        first, second = stream(), stream()
        with first:
            first.begin_capture()
            run(b, a)
            second.wait_event(first.record())
            with second:
                run(c, b)
            run(d, b)
            first.wait_event(second.record())
            graph = first.end_capture()
        assert not second.is_capturing()
        graph.launch(first)
        first.synchronize()
        assert float(c[0]) == float(d[0]) == 4

    def test_a_stream_that_is_not_joined(self):
        a, b = arrays(1, 0)
        first, second = stream(), stream()
        first.begin_capture()
        second.wait_event(first.record())
        with second:
            run(b, a)
        with pytest.raises(cp.cuda.runtime.CUDARuntimeError, match="cudaErrorStreamCaptureUnjoined"):
            first.end_capture()
        assert not first.is_capturing()
        assert not second.is_capturing()

    def test_no_order_within_a_graph(self):
        a, b, c = arrays(1, 0, 0)
        first, second = stream(), stream()
        first.begin_capture()
        fork = first.record()
        with first:
            run(b, a)
        second.wait_event(fork)
        with second, pytest.warns(HazardWarning, match="nothing orders"):
            run(c, b)
        first.wait_event(second.record())
        first.end_capture()

    def test_waiting_spoils_a_capture(self):
        for own in (True, False):
            s = stream()
            s.begin_capture()
            with pytest.raises(cp.cuda.runtime.CUDARuntimeError, match="cudaErrorStreamCaptureUnsupported"):
                (s if own else cp.cuda.Device()).synchronize()
            with pytest.raises(cp.cuda.runtime.CUDARuntimeError, match="cudaErrorStreamCaptureInvalidated"):
                s.end_capture()
            s.synchronize()

    @pytest.mark.parametrize(
        "look",
        [
            lambda a: a.get(),
            lambda a: float(a[0]),
            lambda a: a.tolist(),
            lambda a: print(a),
            lambda a: a.sum(),
            lambda a: a.fill(1),
            lambda a: a.copy(),
            lambda a: cp.zeros(3),
            lambda a: cp.empty(3),
            lambda a: cp.empty_like(a),
            lambda a: cp.asarray([1]),
            lambda a: cp.add(a, 1, out=a),
            lambda a: a.__setitem__(0, 1),
        ],
    )
    def test_what_cannot_be_captured_says_so_and_the_capture_goes_on(self, look):
        (a,) = arrays(1)
        with stream() as s:
            s.begin_capture()
            with pytest.raises(RuntimeError, match="is capturing"):
                look(a)
            s.end_capture()
        assert float(a[0]) == 1

    def test_the_default_stream_cannot_capture(self):
        with pytest.raises(RuntimeError, match="default"):
            cp.cuda.Stream.null.begin_capture()
        blocking = cp.cuda.Stream()
        blocking.begin_capture()
        with pytest.raises(cp.cuda.runtime.CUDARuntimeError, match="StreamCaptureImplicit"):
            cp.zeros(1)
        blocking.end_capture()

    def test_other_mistakes(self):
        s, other = stream(), stream()
        with pytest.raises(cp.cuda.runtime.CUDARuntimeError, match="IllegalState"):
            s.end_capture()
        s.begin_capture()
        with pytest.raises(cp.cuda.runtime.CUDARuntimeError, match="IllegalState"):
            s.begin_capture()
        event = s.record()
        with pytest.raises(cp.cuda.runtime.CUDARuntimeError, match="CapturedEvent"):
            event.synchronize()
        with pytest.raises(cp.cuda.runtime.CUDARuntimeError, match="StreamCaptureIsolation"):
            s.wait_event(other.record())
        with pytest.raises(cp.cuda.runtime.CUDARuntimeError, match="Invalidated"):
            s.end_capture()
        with pytest.raises(NotImplementedError):
            cp.cuda.Graph()

    def test_a_launch_that_cannot_be_is_refused_at_capture(self):
        a, b = arrays(1, 0)
        with stream() as s:
            s.begin_capture()
            with pytest.raises(Exception, match="1024"):
                double((1,), (2048,), (b, a))
            s.end_capture()


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
    from course_lib.standin import streams

    before = len(streams._order._touched)
    for _ in range(20):
        with stream():
            cp.zeros(8, cp.float32)
    assert len(streams._order._touched) <= before + 1
