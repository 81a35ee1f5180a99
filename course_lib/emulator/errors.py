"""Every error and warning the emulator raises on purpose."""

import traceback
from collections.abc import Sequence
from pathlib import Path

_LIBRARY = str(Path(__file__).resolve().parents[1])


class EmulatorError(Exception):
    """Base of all errors that a kernel, a launch or an argument can cause."""

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: the reader's own lines and the message, without the library's frames."""
        frames = traceback.extract_tb(self.__traceback__)
        foreign = (_LIBRARY, "site-packages")
        own = [f for f in frames if f.line and not any(folder in f.filename for folder in foreign)]
        places = [("in " + f.name).replace("in <module>", "this cell") for f in own]
        lines = [f"{place}, line {f.lineno}: {f.line}" for place, f in zip(places, own, strict=True)]
        return [*lines, f"{type(self).__name__}: {self}"]


class CompileError(EmulatorError):
    """NVRTC refused the source; the message carries its log."""


class UnsupportedError(EmulatorError):
    """The PTX uses something that is not emulated (textures, clusters, TMA, wgmma, ...)."""


class LaunchError(EmulatorError):
    """Grid, block, shared memory or registers exceed what the GPU allows."""


class ArgumentError(EmulatorError, TypeError):
    """A kernel argument cannot be passed at all (wrong count, unsupported object)."""


class MemoryAccessError(EmulatorError):
    """A load or store outside every allocation, or not aligned to its width."""


class _StuckError(EmulatorError):
    """A kernel that does not end; `hazards`: what was found before."""

    def __init__(self, message: str, hazards: Sequence = ()) -> None:
        super().__init__(f"{message} Before that: {hazards[0]}." if hazards else message)
        self.hazards = list(hazards)


class DeadlockError(_StuckError):
    """Threads wait at barriers that can never complete; `whole`: at one that all of the block must reach."""

    def __init__(self, message: str, hazards: Sequence = (), *, whole: bool = True) -> None:
        super().__init__(message, hazards)
        self.whole = whole


class StepBudgetError(_StuckError):
    """The kernel ran past its step budget: it probably never ends."""


class ArgumentWarning(UserWarning):
    """An argument's type, size or layout is probably not what the author meant."""


class HazardWarning(UserWarning):
    """The kernel ran, but a race, an uninitialised read or a similar hazard was seen."""
