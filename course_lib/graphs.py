"""CUDA graphs of what is given to a stream."""

from collections.abc import Callable
from typing import Any


def captured(stream: Any, work: Callable[[], object]) -> Any:
    """The graph of what `work()` gives to the stream."""
    with stream:
        stream.begin_capture()
        work()
        return stream.end_capture()
