"""`cp.cuda` without a GPU: streams, events, graphs and pinned memory, and an H200's properties.

The emulator has no clock, so events order work and cannot time it (`streams`). The device's properties and
attributes are those an H200 reported (`data/recorded/h200/device.json`).
"""

import json
from functools import cache
from pathlib import Path

from . import work
from .names import lacking
from .pinned import PinnedMemoryPointer, alloc_pinned_memory
from .streams import CUDARuntimeError, Event, Graph, Stream, get_current_stream

__all__ = [
    "Device", "Event", "Graph", "PinnedMemoryPointer", "Stream", "alloc_pinned_memory", "get_current_stream",
    "get_elapsed_time", "is_available", "runtime",
]  # fmt: skip

_RECORDED = Path(__file__).parents[2] / "data" / "recorded" / "h200" / "device.json"


class Device:
    """The one emulated GPU."""

    def __init__(self, device: "int | Device | None" = None) -> None:
        self.id = int(device or 0)
        if self.id != 0:
            raise ValueError(f"there is one emulated GPU, number 0, and no number {self.id}")

    @property
    def attributes(self) -> dict[str, int]:
        """CUDA's device attributes by name, as an H200 gives them."""
        return dict(_recorded()["attributes"])

    @property
    def compute_capability(self) -> str:
        """ "90", as CuPy writes 9.0."""
        return _recorded()["compute_capability"]

    def synchronize(self) -> None:
        """Let the host wait for every stream."""
        work.device_synchronize()

    def use(self) -> "Device":
        """Make this the current device, which it always is."""
        return self

    def __int__(self) -> int:
        return self.id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device)

    def __hash__(self) -> int:
        return 0

    def __enter__(self) -> "Device":
        return self

    def __exit__(self, *error) -> None:
        pass

    def __repr__(self) -> str:
        return "<CUDA Device 0 (emulated)>"


class _Runtime:
    """`cp.cuda.runtime`: the few calls that mean something without a driver."""

    CUDARuntimeError = CUDARuntimeError
    streamCaptureModeGlobal, streamCaptureModeThreadLocal, streamCaptureModeRelaxed = 0, 1, 2  # noqa: N815

    def getDeviceCount(self) -> int:  # noqa: N802
        """One emulated GPU."""
        return 1

    def getDevice(self) -> int:  # noqa: N802
        """Its number."""
        return 0

    def setDevice(self, device: int) -> None:  # noqa: N802
        """Choose a GPU; there is one."""
        Device(device)

    def deviceSynchronize(self) -> None:  # noqa: N802
        """Let the host wait for every stream."""
        work.device_synchronize()

    def getDeviceProperties(self, device: int) -> dict:  # noqa: N802
        """What an H200 reports; the name says that it is emulated, and its `uuid` is empty."""
        Device(device)
        properties = {name: b"" if v is None else v for name, v in _recorded()["properties"].items()}
        return {**properties, "name": b"emulated NVIDIA H200"}

    def __getattr__(self, name: str):
        raise lacking(f"cp.cuda.runtime.{name}")


runtime = _Runtime()


def get_elapsed_time(start_event: Event, end_event: Event) -> float:
    """Refused: the emulator counts, it does not measure.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError(
        "the emulator has no clock: time between events can be measured on a GPU only. "
        "course_lib.benchmark works on both: it measures on a GPU and models the time from counts here"
    )


def is_available() -> bool:
    """Whether there is a GPU: never, here."""
    return False


def __getattr__(name: str):
    raise lacking(f"cp.cuda.{name}")


@cache
def _recorded() -> dict:
    return json.loads(_RECORDED.read_text(encoding="utf-8"))
