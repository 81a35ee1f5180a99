"""Streams, events and the device without a GPU."""

import pytest

from course_lib import standin as cp


def test_streams_and_events_order_work():
    start = cp.cuda.Event()
    with cp.cuda.Stream(non_blocking=True) as stream:
        start.record(stream)
        end = stream.record()
        stream.wait_event(start)
    end.synchronize()
    stream.synchronize()
    assert start.done
    assert end.done
    assert cp.cuda.get_current_stream() is cp.cuda.Stream.null


def test_time_is_refused():
    with pytest.raises(RuntimeError, match=r"no clock.*course_lib\.benchmark"):
        cp.cuda.get_elapsed_time(cp.cuda.Event(), cp.cuda.Event())


def test_the_device_is_an_h200():
    """Compute capability 9.0 as in the CUDA programming guide, 132 multiprocessors as in the data sheet."""
    attributes = cp.cuda.Device().attributes
    assert attributes["MultiProcessorCount"] == 132
    assert attributes["WarpSize"] == 32
    assert attributes["MaxSharedMemoryPerBlockOptin"] == 227 * 1024
    assert cp.cuda.Device().compute_capability == "90"


def test_properties_use_cupys_keys():
    properties = cp.cuda.runtime.getDeviceProperties(0)
    assert properties["name"] == b"emulated NVIDIA H200"
    assert properties["multiProcessorCount"] == 132
    assert properties["sharedMemPerMultiprocessor"] == 228 * 1024
    assert properties["regsPerMultiprocessor"] == 65536


def test_one_device_and_no_cuda():
    assert cp.cuda.runtime.getDeviceCount() == 1
    assert not cp.cuda.is_available()
    with pytest.raises(ValueError, match="no number 1"):
        cp.cuda.Device(1)


@pytest.mark.gpu
def test_every_property_is_cupys(cupy):
    assert set(cp.cuda.runtime.getDeviceProperties(0)) == set(cupy.cuda.runtime.getDeviceProperties(0))
    assert set(cp.cuda.Device(0).attributes) == set(cupy.cuda.Device(0).attributes)
