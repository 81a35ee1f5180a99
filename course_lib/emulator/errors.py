"""Every error and warning the emulator raises on purpose."""


class EmulatorError(Exception):
    """Base of all errors that a kernel, a launch or an argument can cause."""


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


class DeadlockError(EmulatorError):
    """Threads wait at barriers that can never be completed."""


class StepBudgetError(EmulatorError):
    """The kernel ran past its step budget: it probably never ends."""


class ArgumentWarning(UserWarning):
    """An argument's type, size or layout is probably not what the author meant."""


class HazardWarning(UserWarning):
    """The kernel ran, but a race, an uninitialised read or a similar hazard was seen."""
