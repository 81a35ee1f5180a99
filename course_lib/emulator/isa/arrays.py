"""Moving whole arrays of lanes cheaply: choosing by a mask, working in chunks."""

from collections.abc import Callable
from functools import wraps

import numpy as np

Lanes = np.ndarray | np.generic  # one element per lane, or the same value in all lanes


def blend(p: Lanes, a: Lanes, b: Lanes) -> Lanes:
    """``a`` where ``p`` holds, else ``b``; both of one dtype.

    With bit operations: ``numpy.where`` is ten times slower once the mask is irregular.
    """
    if not p.ndim:
        return np.where(p, a, b)[()]
    size = a.dtype.itemsize
    mask = np.negative(p.view(np.int8)).astype(f"i{size}").view(f"u{size}")
    bits = (a.view(mask.dtype) ^ b.view(mask.dtype)) & mask
    bits ^= b.view(mask.dtype)
    return bits.view(a.dtype)


def in_chunks(lanes: int) -> Callable:
    """Run an elementwise function on at most ``lanes`` lanes at a time.

    Its temporary arrays then stay in the cache, and the allocator keeps reusing them
    instead of returning them to the system, which costs more than the arithmetic.
    """

    def decorate(function):
        @wraps(function)
        def run(*operands, **options):
            shape = np.broadcast_shapes(*(x.shape for x in operands))
            size = int(np.prod(shape))
            if size <= lanes:
                return function(*operands, **options)
            flat = [x if x.ndim == 0 else np.broadcast_to(x, shape).reshape(-1) for x in operands]
            parts = [
                function(*(x if x.ndim == 0 else x[i : i + lanes] for x in flat), **options)
                for i in range(0, size, lanes)
            ]
            return np.concatenate(parts).reshape(shape)

        return run

    return decorate
