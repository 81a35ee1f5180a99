"""Memory that nobody has written yet.

`cupy.empty` gives memory that holds anything. The stand-in fills it with a pattern that no
correct program shows, and marks it here: a word of marked memory that still shows the
pattern when a kernel reads it was never written.
"""

from __future__ import annotations

from weakref import WeakValueDictionary

import numpy as np

from .memory import POISON, owner_of

_marked: WeakValueDictionary[int, np.ndarray] = WeakValueDictionary()


def make_undefined(array: np.ndarray) -> None:
    """Fill an array that covers all of its memory with the pattern, and mark that memory."""
    words = np.full(-(-array.nbytes // 4), POISON, "<u4").view(np.uint8)[: array.nbytes]
    array[...] = words.view(array.dtype).reshape(array.shape)
    mark_undefined(array)


def mark_undefined(array: np.ndarray) -> None:
    """Words of this array's memory that show the pattern count as never written."""
    owner = owner_of(array)
    _marked[id(owner)] = owner


def is_undefined(array: np.ndarray) -> bool:
    """Whether the memory behind an array was marked."""
    owner = owner_of(array)
    return _marked.get(id(owner)) is owner
