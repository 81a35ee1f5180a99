"""Small programs with streams and graphs, for CuPy and the stand-in: what comes out, or the error's name."""

from collections.abc import Callable
from typing import Any

import numpy as np

N = 64
TWICE = (
    'extern "C" __global__ void twice(float* out, const float* in) {'
    " out[threadIdx.x] = 2.0f * in[threadIdx.x]; }"
)


def outcome(program: Callable[[Any], object], cp: Any) -> str:
    """What the program returns, as text, or the first words of its error."""
    cp.cuda.Device().synchronize()
    try:
        return str(program(cp))
    except Exception as error:
        return name_of(error)


def name_of(error: Exception) -> str:
    """`cudaError...`, or the kind of error where CUDA has no say in it."""
    first = str(error).split(":")[0]
    return first if first.startswith("cudaError") else type(error).__name__


def said(call: Callable[[], object]) -> str:
    """ "fine", or the name of the error."""
    try:
        call()
    except Exception as error:
        return name_of(error)
    return "fine"


def stream(cp: Any) -> Any:
    return cp.cuda.Stream(non_blocking=True)


def run(cp: Any, out: Any, given: Any) -> None:
    cp.RawKernel(TWICE, "twice")((1,), (N,), (out, given))


def arrays(cp: Any, *values: float) -> list:
    made = [cp.full(N, value, cp.float32) for value in values]
    run(cp, made[0].copy(), made[0])  # compiled and loaded before any capture
    cp.cuda.Device().synchronize()
    return made


def pinned(cp: Any, value: float) -> np.ndarray:
    memory = np.frombuffer(cp.cuda.alloc_pinned_memory(4 * N), np.float32, N)
    memory[:] = value
    return memory


def wait_in_capture(cp):
    s = stream(cp)
    s.begin_capture()
    return said(s.synchronize), said(s.end_capture), s.is_capturing(), said(s.synchronize)


def device_wait_in_capture(cp):
    s = stream(cp)
    s.begin_capture()
    return said(cp.cuda.Device().synchronize), said(s.end_capture)


def ask_in_capture(cp):
    s = stream(cp)
    s.begin_capture()
    return s.done, said(s.end_capture)


def begun_twice_ended_twice(cp):
    s = stream(cp)
    s.begin_capture()
    return said(s.begin_capture), said(s.end_capture), said(s.end_capture)


def default_stream(cp):
    return said(cp.cuda.Stream.null.begin_capture)


def blocking_stream(cp):
    a, b = arrays(cp, 1, 0)
    s = cp.cuda.Stream()
    s.begin_capture()
    return said(cp.cuda.Stream.null.is_capturing), said(lambda: run(cp, b, a)), said(s.end_capture)


def captured_event(cp):
    s = stream(cp)
    s.begin_capture()
    event = s.record()
    return said(event.synchronize), said(s.end_capture)


def event_after_its_capture(cp):
    s = stream(cp)
    s.begin_capture()
    event = s.record()
    s.end_capture()
    return said(lambda: stream(cp).wait_event(event)), said(event.synchronize)


def wait_for_outside(cp):
    s, other = stream(cp), stream(cp)
    event = other.record()
    s.begin_capture()
    return said(lambda: s.wait_event(event)), said(s.end_capture)


def end_in_another(cp):
    first, second = stream(cp), stream(cp)
    first.begin_capture()
    second.wait_event(first.record())
    return said(second.end_capture), said(first.end_capture), second.is_capturing()


def not_joined(cp):
    a, b = arrays(cp, 1, 0)
    first, second = stream(cp), stream(cp)
    first.begin_capture()
    second.wait_event(first.record())
    with second:
        run(cp, b, a)
    return said(first.end_capture), first.is_capturing(), second.is_capturing()


def two_captures(cp):
    first, second = stream(cp), stream(cp)
    first.begin_capture()
    second.begin_capture()
    event = first.record()
    return said(lambda: second.wait_event(event)), said(second.end_capture), said(first.end_capture)


def look_in_capture(cp):
    (a,) = arrays(cp, 1)
    s = stream(cp)
    with s:
        s.begin_capture()
        found = said(a.get), said(lambda: float(a[0])), said(lambda: str(a))
        return *found, said(s.end_capture)


def replay(cp):
    a, b = arrays(cp, 1, 0)
    s = stream(cp)
    with s:
        s.begin_capture()
        run(cp, b, a)
        graph = s.end_capture()
    found = [float(b[0])]
    for value in (1, 5):
        a.fill(value)
        cp.cuda.Device().synchronize()
        graph.launch(s)
        s.synchronize()
        found.append(float(b[0]))
    return found


def copies_in_a_capture(cp):
    (a,) = arrays(cp, 0)
    source, out, s, other = pinned(cp, 1), pinned(cp, 0), stream(cp), stream(cp)
    s.begin_capture()
    found = [said(lambda value=value: a.set(value, stream=s)) for value in (source, source.copy())]
    found += [said(lambda: a.get(stream=s, out=out, blocking=False))]
    found += [said(lambda: a.set(source, stream=other)), said(lambda: a.get(stream=other))]
    return *found, said(s.end_capture)


def fill_in_a_graph(cp):
    a, b = arrays(cp, 1, 5)
    s = stream(cp)
    with s:
        s.begin_capture()
        a.fill(3)
        a[:4] = b[:4]
        a[4] = 7
        graph = s.end_capture()
    found = [float(a[0])]
    graph.launch(s)
    s.synchronize()
    return *found, float(a[0]), float(a[4]), float(a[5])


def graph_in_a_capture(cp):
    a, b = arrays(cp, 1, 0)
    s = stream(cp)
    with s:
        s.begin_capture()
        run(cp, b, a)
        graph = s.end_capture()
        s.begin_capture()
        return said(graph.launch), said(s.end_capture)


def ask_a_captured_event(cp):
    s = stream(cp)
    s.begin_capture()
    event = s.record()
    found = event.done, said(s.end_capture), event.done
    event.record()
    return *found, said(event.synchronize), event.done


def an_event_never_recorded(cp):
    event = cp.cuda.Event()
    return said(lambda: stream(cp).wait_event(event)), said(event.synchronize), event.done


def set_what_does_not_fit(cp):
    a, strided = cp.zeros(4, cp.float32), cp.zeros(8, cp.float32)[::2]
    given = [1, 2, 3, 4], np.zeros(4), np.zeros(3, np.float32), np.zeros(8, np.float32)[::2]
    found = [said(lambda value=value: a.set(value)) for value in (*given, cp.ones(4, cp.float32))]
    square = cp.zeros((4, 4), cp.float32).T
    found += [said(lambda: square.set(np.zeros((4, 4), np.float32)))]
    return *found, said(lambda: strided.set(np.zeros(4, np.float32)))


def get_into_what_does_not_fit(cp):
    a, strided = cp.zeros(4, cp.float32), cp.zeros(8, cp.float32)[::2]
    given = [0] * 4, np.zeros(4), np.zeros((3, 4), np.float32), np.zeros(8, np.float32)[::2]
    found = [said(lambda value=value: a.get(out=value)) for value in (*given, cp.ones(4, cp.float32))]
    return *found, said(lambda: strided.get(out=np.zeros(4, np.float32)))


def what_is_no_stream(cp):
    (a,) = arrays(cp, 1)
    found = said(lambda: a.get(stream=3)), said(lambda: a.set(np.ones(N, np.float32), stream=3))
    twice = cp.RawKernel(TWICE, "twice")
    found += (said(lambda: twice((1,), (N,), (a, a), stream=7)),)
    return *found, said(lambda: stream(cp).wait_event(None)), said(lambda: cp.cuda.Event().record("s"))


def through_pinned_memory(cp):
    a, b, c = arrays(cp, 1, 0, 0)
    there, s, other = pinned(cp, 9), stream(cp), stream(cp)
    a.get(s, out=there, blocking=False)
    b.set(there, s)
    other.wait_event(s.record())
    c.set(there, other)
    other.synchronize()
    return float(b[0]), float(c[0]), float(there[0])


def join(cp):
    a, b, c = arrays(cp, 1, 0, 0)
    first, second = stream(cp), stream(cp)
    with first:
        first.begin_capture()
        run(cp, b, a)
        second.wait_event(first.record())
        with second:
            run(cp, c, b)
        first.wait_event(second.record())
        graph = first.end_capture()
    graph.launch(first)
    first.synchronize()
    return float(c[0]), second.is_capturing()


PROGRAMS = {
    wait_in_capture: "('cudaErrorStreamCaptureUnsupported', 'cudaErrorStreamCaptureInvalidated', "
    "False, 'fine')",
    device_wait_in_capture: "('cudaErrorStreamCaptureUnsupported', 'cudaErrorStreamCaptureInvalidated')",
    ask_in_capture: "(False, 'cudaErrorStreamCaptureInvalidated')",
    begun_twice_ended_twice: "('cudaErrorIllegalState', 'fine', 'cudaErrorIllegalState')",
    default_stream: "RuntimeError",
    blocking_stream: "('cudaErrorStreamCaptureImplicit', 'CUDADriverError', "
    "'cudaErrorStreamCaptureInvalidated')",
    captured_event: "('cudaErrorCapturedEvent', 'cudaErrorStreamCaptureInvalidated')",
    event_after_its_capture: "('cudaErrorInvalidValue', 'cudaErrorInvalidValue')",
    wait_for_outside: "('cudaErrorStreamCaptureIsolation', 'cudaErrorStreamCaptureInvalidated')",
    end_in_another: "('cudaErrorStreamCaptureUnmatched', 'cudaErrorStreamCaptureInvalidated', False)",
    not_joined: "('cudaErrorStreamCaptureUnjoined', False, False)",
    two_captures: "('cudaErrorStreamCaptureMerge', 'cudaErrorStreamCaptureInvalidated', "
    "'cudaErrorStreamCaptureInvalidated')",
    look_in_capture: "('RuntimeError', 'RuntimeError', 'RuntimeError', 'fine')",
    replay: "[0.0, 2.0, 10.0]",
    copies_in_a_capture: "('RuntimeError', 'RuntimeError', 'RuntimeError', 'fine', 'fine', 'fine')",
    fill_in_a_graph: "(1.0, 5.0, 7.0, 3.0)",
    graph_in_a_capture: "('cudaErrorStreamCaptureUnsupported', 'cudaErrorStreamCaptureInvalidated')",
    ask_a_captured_event: "(False, 'cudaErrorStreamCaptureInvalidated', False, 'fine', True)",
    an_event_never_recorded: "('fine', 'fine', True)",
    set_what_does_not_fit: "('TypeError', 'TypeError', 'ValueError', 'fine', 'TypeError', "
    "'fine', 'RuntimeError')",
    get_into_what_does_not_fit: "('TypeError', 'TypeError', 'ValueError', 'RuntimeError', "
    "'TypeError', 'fine')",
    what_is_no_stream: str(("AttributeError",) * 5),
    through_pinned_memory: "(1.0, 1.0, 1.0)",
    join: "(4.0, False)",
}
