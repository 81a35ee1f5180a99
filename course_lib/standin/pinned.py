"""Pinned host memory without a GPU: ordinary memory that is known to have been asked for as pinned."""

import numpy as np

from ..emulator.memory import owner_of

_UNIT = 512  # CuPy's pool rounds sizes up


class PinnedMemoryPointer(bytearray):
    """What `alloc_pinned_memory` gives: a buffer of at least the size asked for."""

    def size(self) -> int:
        """Bytes of the buffer."""
        return len(self)


def alloc_pinned_memory(size: int) -> PinnedMemoryPointer:
    """Host memory that a copy can use directly; `np.frombuffer(it, dtype, count)` makes it an array."""
    return PinnedMemoryPointer(-(-max(int(size), 1) // _UNIT) * _UNIT)


def is_pinned(array: np.ndarray) -> bool:
    """Whether the array's memory came from `alloc_pinned_memory`."""
    base = owner_of(array).base
    return isinstance(base.obj if isinstance(base, memoryview) else base, PinnedMemoryPointer)
