"""Applying one atomic operation to many lanes, in lane order where they share a word.

Lanes that share no word are done together. Where fewer words than lanes are involved (a counter, a lock,
a small histogram), each word's chain of operations is computed as a whole: sums and the like by NumPy's
`accumulate`, exchanges by shifting, compare-and-swap by looking for the next lane that succeeds.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .isa import TABLE

Chain = Callable[[np.generic, list[np.ndarray]], np.ndarray | None]
"""(value in memory, operands in lane order) -> the value before each lane and after the last, or None."""


def serialise(
    view: np.ndarray, places: np.ndarray, function: Callable, operands: list[np.ndarray]
) -> np.ndarray:
    """`view[place] = function(view[place], *operands)` lane after lane; returns the old values, (lanes,)."""
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    sizes = np.diff(np.r_[starts, len(places)])
    old = np.empty(len(places), view.dtype)
    chain = _chain(function) if len(starts) < sizes.max() else None
    if chain is None:
        rank = np.arange(len(places)) - np.repeat(starts, sizes)
        _by_rank(view, places, order, rank, function, operands, old)
        return old
    for start, size in zip(starts, sizes, strict=True):
        lanes, word = order[start : start + size], ordered[start]
        values = chain(view[word], [operand[lanes] for operand in operands])
        if values is None:
            _by_rank(view, places, lanes, np.arange(size), function, operands, old)
        else:
            old[lanes], view[word] = values[:-1], values[-1]
    return old


def _by_rank(view: np.ndarray, places: np.ndarray, order: np.ndarray, rank: np.ndarray, function: Callable,
             operands: list[np.ndarray], old: np.ndarray) -> None:  # fmt: skip
    """First the first lane of every word, then the second ones, and so on."""
    by_rank = order[np.argsort(rank, kind="stable")]
    at = 0
    for size in np.bincount(rank):
        chosen = by_rank[at : at + size]
        at += size
        before = view[places[chosen]]
        old[chosen] = before
        view[places[chosen]] = function(before, *(value[chosen] for value in operands))


# -- chains on one word ------------------------------------------------------------


def _chain(function: Callable) -> Chain | None:
    if isinstance(function, np.ufunc):
        return lambda first, operands: _accumulated(function, first, operands[0])
    return _CHAINS.get(function)


def _accumulated(function: np.ufunc, first: np.generic, values: np.ndarray) -> np.ndarray:
    return function.accumulate(np.concatenate([first[None], values]), dtype=values.dtype)


def _added(first: np.generic, operands: list[np.ndarray]) -> np.ndarray | None:
    """Sums of floats, rounded one by one; None where some must be flushed to zero or are no numbers."""
    sums = _accumulated(np.add, first, operands[0])
    tiny = np.finfo(sums.dtype).tiny
    values = np.abs(np.concatenate([sums, operands[0]]))
    plain = np.isfinite(values).all() and ((values == 0) | (values >= tiny)).all()
    return sums if plain else None


def _exchanged(first: np.generic, operands: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([first[None], operands[0]])


def _swapped(first: np.generic, operands: list[np.ndarray]) -> np.ndarray:
    """compare-and-swap: look for the next lane that expects the present value."""
    expected, new = operands
    values = np.empty(len(expected) + 1, first.dtype)
    at, present = 0, first
    while at < len(expected):
        hits = expected[at:] == present
        lane = at + int(np.argmax(hits)) if hits.any() else len(expected)
        values[at : lane + 1] = present
        if lane < len(expected):
            present = new[lane]
        at = lane + 1
    values[-1] = present
    return values


def _counted_up(first: np.generic, operands: list[np.ndarray]) -> np.ndarray | None:
    """inc: 0 .. limit in turn; None where the lanes' limits differ."""
    limit = int(operands[0][0])
    if int(first) > limit or (operands[0] != limit).any():
        return None
    return ((int(first) + np.arange(len(operands[0]) + 1)) % (limit + 1)).astype(first.dtype)


_CHAINS: dict[Callable, Chain] = {
    TABLE["atom.add.f32"].function: _added,
    TABLE["atom.global.add.f32"].function: _added,
    TABLE["atom.add.f64"].function: _added,
    TABLE["atom.inc.u32"].function: _counted_up,
    **{TABLE[f"atom.exch.b{bits}"].function: _exchanged for bits in (32, 64)},
    **{TABLE[f"atom.cas.b{bits}"].function: _swapped for bits in (16, 32, 64)},
}
