"""Loads of which each lane takes some bytes only, as cp.async with a source size makes them."""

from __future__ import annotations

import numpy as np

from .address import Plain, Value, lanes
from .fragment import Fragment
from .lanes import Selector
from .matrix import as_address
from .request import Request

WORD, BYTE = np.dtype(np.uint32), np.dtype(np.uint8)


def ragged_load(
    fragment: Fragment, source: Value, offset: int, size: int, amount: Plain | None, site: int
) -> np.ndarray:
    """The first `amount` (None: all) of `size` bytes a lane of global memory, then zeros: (lanes, words).

    Lanes that take nothing do not touch memory, so their addresses may be anything.
    """
    shape, words = fragment.lanes.shape, size // 4
    taken = np.full(shape, size) if amount is None else np.minimum(np.broadcast_to(amount, shape), size)
    if (taken == size).all():
        loaded = fragment.load("global", source, offset, WORD, words, site)
        return np.stack(_full(loaded, words, shape), axis=-1).reshape(-1, words)
    values = np.zeros((*shape, words), WORD)
    if taken.any():
        some, selector = _part(fragment, taken > 0)
        addresses = selector.take(np.broadcast_to(lanes(source), shape))
        found = _bytes(some, addresses, offset, size, selector.take(taken), site).view(WORD)
        for k in range(words):
            selector.put(values[..., k], found[..., k])
    return values.reshape(-1, words)


def _part(fragment: Fragment, mask: np.ndarray) -> tuple[Fragment, Selector]:
    part, selector = fragment.lanes.subset(mask)
    return Fragment(fragment.chunk, part, [], fragment.pc), selector


def _full(loaded: Plain | list[Plain], count: int, shape: tuple[int, ...]) -> list[np.ndarray]:
    return [np.broadcast_to(value, shape) for value in (loaded if count > 1 else [loaded])]


def _bytes(
    part: Fragment, addresses: np.ndarray, offset: int, size: int, taken: np.ndarray, site: int
) -> np.ndarray:
    """Lanes that take `size` bytes load them at once, the others a byte at a time: (..., size)."""
    observe = not _observed(part, addresses, offset, size, site)
    found = np.zeros((*part.lanes.shape, size), BYTE)
    steps = [(taken == size, 0, WORD)] + [((taken < size) & (taken > k), k, BYTE) for k in range(size - 1)]
    for mask, first, dtype in steps:
        if mask.any():
            some, selector = _part(part, mask)
            at, count = as_address(selector.take(addresses)), size // 4 if dtype is WORD else 1
            loaded = some.load("global", at, offset + first, dtype, count, site, observe and first == 0)
            words = np.stack(_full(loaded, count, some.lanes.shape), axis=-1)
            for k, byte in enumerate(np.moveaxis(words.view(BYTE), -1, 0), first):
                selector.put(found[..., k], byte)
    return found


def _observed(part: Fragment, addresses: np.ndarray, offset: int, size: int, site: int) -> bool:
    """Count and check all lanes as one load of `size` bytes; False where they do not point into one array."""
    low, high = int(addresses.min()) + offset, int(addresses.max()) + offset
    region = part.chunk.launch.memory.find(low)
    odd = (int(np.bitwise_or.reduce(addresses, axis=None)) | offset) % size
    if region is None or high + size > region.end or odd:
        return False
    if part.chunk.observer is not None:
        request = Request("global", as_address(addresses), offset, size, site, False, None, region)
        part.chunk.observer.access(part, request)
    return True
