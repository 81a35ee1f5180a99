"""Accesses whose lanes point into different arrays or state spaces: each group of lanes is served alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from .address import Address, AddressBase, Plain, Value, lanes
from .lanes import LaneSet, Selector
from .memory import LOCAL_WINDOW, SHARED_WINDOW, WINDOW_SIZE

if TYPE_CHECKING:
    from .fragment import Fragment

WINDOW_BORDERS = 4


def _parts(
    fragment: Fragment, address: Value, offset: int, site: int
) -> Iterator[tuple[Fragment, Selector, Address]]:
    """Lanes grouped by the memory they point into: (fragment, selector, addresses) of each group."""
    plain = lanes(address)
    full = np.broadcast_to(plain + plain.dtype.type(offset % (1 << 64)), fragment.lanes.shape)
    borders = [LOCAL_WINDOW, LOCAL_WINDOW + WINDOW_SIZE, SHARED_WINDOW, SHARED_WINDOW + WINDOW_SIZE]
    borders += fragment.chunk.launch.memory.starts
    group = np.searchsorted(np.array(borders, np.uint64), full, side="right")
    in_global = []
    for number in np.unique(group):
        part, selector = fragment.lanes.subset(group == number)
        chosen = Address(AddressBase(selector.take(full)), 0)
        if number >= WINDOW_BORDERS:
            in_global.append(part)
        yield type(fragment)(fragment.chunk, part, [], fragment.pc), selector, chosen
    _count_once(fragment, in_global, site)


def _count_once(fragment: Fragment, parts: list[LaneSet], site: int) -> None:
    """A warp that reads several arrays with one instruction makes one request."""
    tally = fragment.chunk.launch.tally
    if tally is not None and site in tally.sites and len(parts) > 1:
        counted = sum(part.warp_count for part in parts)
        tally.sites[site].requests -= counted - LaneSet.union(parts).warp_count


def load_parts(fragment: Fragment, space: str, address: Value, offset: int, dtype: np.dtype, count: int,
               site: int) -> Plain | list[Plain]:  # fmt: skip
    """As `MemoryAccess.load`."""
    results = [np.empty(fragment.lanes.shape, dtype) for _ in range(count)]
    for part, selector, chosen in _parts(fragment, address, offset, site):
        loaded = part.load(space, chosen, 0, dtype, count, site)
        for result, value in zip(results, loaded if count > 1 else [loaded], strict=True):
            selector.put(result, np.broadcast_to(value, part.lanes.shape))
    return results[0] if count == 1 else results


def store_parts(fragment: Fragment, space: str, address: Value, offset: int, values: list[Plain],
                dtype: np.dtype, site: int) -> None:  # fmt: skip
    """As `MemoryAccess.store`."""
    for part, selector, chosen in _parts(fragment, address, offset, site):
        taken = [selector.take(np.broadcast_to(value, fragment.lanes.shape)) for value in values]
        part.store(space, chosen, 0, taken, dtype, site)


def atomic_parts(fragment: Fragment, space: str, address: Value, offset: int, function: Callable,
                 operands: list[Plain], dtype: np.dtype, site: int) -> np.ndarray:  # fmt: skip
    """As `MemoryAccess.atomic`."""
    old = np.empty(fragment.lanes.shape, dtype)
    for part, selector, chosen in _parts(fragment, address, offset, site):
        taken = [selector.take(np.broadcast_to(value, fragment.lanes.shape)) for value in operands]
        got = part.atomic(space, chosen, 0, function, taken, dtype, site)
        selector.put(old, np.broadcast_to(got, part.lanes.shape))
    return old
