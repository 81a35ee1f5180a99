"""Chapter 08, flash attention: launches of its kernels for one head, and their errors against float64."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .flash_attention import attention64


def rows(cp: Any, n: int, d: int = 32, seed: int = 0) -> Any:
    """n rows of d normally distributed floats."""
    return cp.asarray(np.random.default_rng(seed).normal(0, 1, (n, d)).astype(np.float32))


def launch(cp: Any, q: Any, k: Any, v: Any, shift: int | None = None, queries: int = 64) -> tuple:
    """Grid, block and arguments of the kernel `flash` for one head: q is (nq, d), k and v are (nk, d).

    The output is the first argument, filled with NaN before. Query i sees key j <= i + shift; None: all.
    """
    (nq, d), nk = q.shape, len(k)
    out, lse = cp.full((nq, d), cp.nan, cp.float32), cp.full(nq, cp.nan, cp.float32)
    numbers = (nq, nk, d, nk if shift is None else shift)
    args = (out, lse, q, k, v, *map(np.int32, numbers), np.float32(d**-0.5))
    return (-(-nq // queries), 1), (queries,), args


def naive_launches(cp: Any, kernels: tuple, q: Any, k: Any, v: Any) -> dict[str, tuple]:
    """Kernel, grid, block and arguments of `scores`, `softmax` and `apply` for one head without a mask.

    In blocks of 64 queries. The output is the first argument of the last.
    """
    scores, softmax, apply = kernels
    (nq, d), nk = q.shape, len(k)
    s, grid, numbers = cp.zeros((nk, nq), cp.float32), (-(-nq // 64), 1), tuple(map(np.int32, (nq, nk, d)))
    masked = (np.int32(nk), np.float32(d**-0.5))
    return {
        "scores": (scores, grid, (64,), (s, q, k, *numbers, *masked)),
        "softmax": (softmax, (-(-nq // 32), 1), (32, 8), (s, *numbers[:2])),
        "apply": (apply, grid, (64,), (cp.zeros((nq, d), cp.float32), s, v, *numbers)),
    }


def run(launches: Mapping[str, tuple]) -> Any:
    """Make the launches of `naive_launches` in order; the output of the last."""
    for kernel, grid, block, args in launches.values():
        kernel(grid, block, args)
    return args[0]


def error(out: Any, q: Any, k: Any, v: Any, shift: int | None = None) -> float:
    """Largest difference from attention in float64."""
    return float(abs(_host(out) - attention64(*map(_host, (q, k, v)), shift)).max())


def flash_error(cp: Any, kernel: Any, nq: int, nk: int, shift: int | None = None, **sizes: int) -> float:
    """Largest error of a flash kernel on random rows; `d` (32) and `queries` of a block (64) may be given."""
    d = sizes.get("d", 32)
    given = [rows(cp, n, d, seed) for seed, n in enumerate((nq, nk, nk))]
    grid, block, args = launch(cp, *given, shift, sizes.get("queries", 64))
    kernel(grid, block, args)
    return error(args[0], *given, shift)


def logits_error(cp: Any, kernel: Any, around: float, nq: int = 33, nk: int = 64) -> float:
    """Largest error where all scores lie near `around`."""
    q, k, v = (rows(cp, n, seed=seed) for seed, n in enumerate((nq, nk, nk)))
    q[:, 0], k[:, 0] = abs(around) * 32**0.5, np.sign(around)
    grid, block, args = launch(cp, q, k, v)
    kernel(grid, block, args)
    return error(args[0], q, k, v)


def grad_error(cp: Any, flash: Any, grad_q: Any, n: int = 70) -> float:
    """Largest error of the gradient of Q, causal, over its largest element; the reference is in float64."""
    q, k, v, dout = (rows(cp, n, seed=seed) for seed in range(4))
    grid, block, args = launch(cp, q, k, v, shift=0)
    flash(grid, block, args)
    dq = cp.full((n, 32), cp.nan, cp.float32)
    grad_q(grid, block, (dq, dout, *args))
    q, k, v, dout = (_host(a).astype(float) for a in (q, k, v, dout))
    eye = np.eye(n)
    p = attention64(q, k, eye, shift=0)  # the weights themselves: what mixes the unit vectors
    dp = dout @ v.T
    expected = 32**-0.5 * (p * (dp - (p * dp).sum(axis=1, keepdims=True))) @ k
    return float(abs(_host(dq) - expected).max() / abs(expected).max())


def _host(array: Any) -> np.ndarray:
    return array.get() if hasattr(array, "get") else np.asarray(array)
