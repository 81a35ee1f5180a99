"""Capture and graphs without a GPU: what is taken down, what is refused, and what a launch of it does."""

import pytest

from course_lib import standin as cp
from course_lib.emulator.errors import HazardWarning
from course_lib.graphs import captured
from course_lib.standin.ledger import stream_hazards
from tests.standin.stream_tools import N, arrays, double, pinned, run, stream


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

    def test_a_refused_copy_says_what_to_do(self):
        (a,) = arrays(0)
        with stream() as s:
            s.begin_capture()
            with pytest.raises(RuntimeError, match=r"H2D transfers are disallowed: .* before or after"):
                a.set(pinned(1))
            with pytest.raises(RuntimeError, match="D2H transfers are disallowed"):
                a.get(out=pinned(), blocking=False)
            s.end_capture()
        assert float(a[0]) == 0

    @pytest.mark.parametrize("refused", [False, True])
    def test_an_error_in_what_is_captured_ends_the_capture(self, refused):
        def work():
            if refused:
                with pytest.raises(Exception, match="StreamCaptureUnsupported"):
                    s.synchronize()  # breaks the capture
            raise KeyError("mine")

        s = stream()
        with pytest.raises(KeyError, match="mine"):
            captured(s, work)
        assert not s.is_capturing()
        s.synchronize()
        cp.cuda.Device().synchronize()

    def test_launches_of_one_graph_are_in_order(self):
        a, b = arrays(1, 0)
        first, second = stream(), stream()
        with first:
            first.begin_capture()
            run(b, a)
            run(a, b)
            graph = first.end_capture()
        with stream_hazards() as hazards:
            graph.launch(first)
            graph.launch(second)
            second.synchronize()
            assert float(a[0]) == 16
        assert not hazards

    def test_a_question_about_a_captured_event_moves_no_data(self):
        (a,) = arrays(3)
        out, s = pinned(-1), stream()
        a.get(s, out=out, blocking=False)
        with s:
            s.begin_capture()
            for _ in range(3):
                a.fill(1)
            event = s.record()
            s.end_capture()
        assert not event.done
        assert not event.done
        assert out[0] == -1

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
            lambda a: a.copy(),
            lambda a: cp.zeros(3),
            lambda a: cp.empty(3),
            lambda a: cp.empty_like(a),
            lambda a: cp.asarray([1]),
            lambda a: cp.add(a, 1, out=a),
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
        with pytest.raises(cp.cuda.runtime.CUDARuntimeError, match="Invalidated"):
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
