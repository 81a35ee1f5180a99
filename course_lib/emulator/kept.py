"""Arrays whose address outlives a launch, because a kernel may have stored a pointer to them.

On a GPU an array keeps its address for as long as it lives. Here addresses begin anew with each launch, so
that they are the same on every run; an array to which memory may hold a pointer keeps the one it had.
"""

from __future__ import annotations

from weakref import ref

import numpy as np

_places: dict[int, ref[np.ndarray]] = {}  # address -> the array that owns the memory there


def keep(owner: np.ndarray, address: int) -> None:
    """From now on `owner` is mapped at `address` in every launch."""
    _places[address] = ref(owner)


def kept() -> list[tuple[int, np.ndarray]]:
    """(address, owner) of the arrays that are still alive, in ascending order."""
    alive = [(address, place()) for address, place in sorted(_places.items())]
    for address in [address for address, owner in alive if owner is None]:
        del _places[address]
    return [(address, owner) for address, owner in alive if owner is not None]
