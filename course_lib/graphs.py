"""CUDA graphs of what is given to a stream."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any


def captured(stream: Any, work: Callable[[], object]) -> Any:
    """The graph of what `work()` gives to the stream; what it raises ends the capture, too."""
    with stream:
        stream.begin_capture()
        try:
            work()
        except BaseException:
            with suppress(Exception):  # of a capture that is broken already
                stream.end_capture()
            raise
        return stream.end_capture()
