"""Applying one atomic operation to many lanes, in lane order where they share a word."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .isa import TABLE

_FLOAT_ADDS = {TABLE[key].function for key in ("atom.add.f32", "atom.global.add.f32", "atom.add.f64")}


def serialise(
    view: np.ndarray, places: np.ndarray, function: Callable, operands: list[np.ndarray]
) -> np.ndarray:
    """`view[place] = function(view[place], *operands)` lane after lane; returns the values found, (lanes,).

    Lanes of different words are done together: one pass per rank within a word, or, for operations
    that NumPy can accumulate, one pass per word where there are fewer words than ranks.
    """
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    sizes = np.diff(np.r_[starts, len(places)])
    old = np.empty(len(places), view.dtype)
    accumulate = _accumulator(function)
    if accumulate is not None and len(starts) < sizes.max():
        for start, size in zip(starts, sizes, strict=True):
            lanes = order[start : start + size]
            chain = np.concatenate([view[places[lanes[:1]]], operands[0][lanes]])
            if not _accumulates_exactly(chain):
                _by_rank(view, places, lanes, np.arange(size), function, operands, old)
                continue
            totals = accumulate(chain, dtype=chain.dtype)
            old[lanes] = totals[:-1]
            view[places[lanes[0]]] = totals[-1]
        return old
    rank = np.arange(len(places)) - np.repeat(starts, sizes)
    _by_rank(view, places, order, rank, function, operands, old)
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


def _accumulator(function: Callable) -> Callable | None:
    """The ufunc method that applies `function` along a chain of values, or None."""
    if isinstance(function, np.ufunc):
        return function.accumulate
    return np.add.accumulate if function in _FLOAT_ADDS else None


def _accumulates_exactly(chain: np.ndarray) -> bool:
    """True for integers, and for floats whose sums need neither flushing nor a canonical NaN."""
    if chain.dtype.kind != "f":
        return True
    tiny = np.finfo(chain.dtype).tiny
    values = np.abs(np.concatenate([chain, np.add.accumulate(chain)]))
    return bool(np.isfinite(values).all() and ((values == 0) | (values >= tiny)).all())
