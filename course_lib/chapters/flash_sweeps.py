"""Chapter 08, flash attention: the launches that are timed on a GPU.

With 50 launches per row: about 10 s for `flash_attention`, 2 s for `flash_tiles`. Neither is modelled from a
smaller size by `course_lib.agreement`: the three naive kernels and the fused one grow differently with the
sequence. `flash_views.modelled` does it per kernel instead, and `tests/test_flash_attention.py` compares.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..kernels import Kernel
from ..points import LINEAR, Arguments, Call, Point, Sweep, floats
from . import flash_kernels as k

WIDTH = 64  # floats of a row of Q, K and V
QUERIES, KEYS = 128, 16  # of a block, of a tile
SEQUENCES = 6  # the longest, a half, a quarter ...
TOKENS = 4  # heads times sequence, in units of the longest sequence
TILES = ((32, 16), (64, 16), (128, 16), (128, 8), (128, 32))


def built(kernel: Kernel, queries: int = QUERIES, keys: int = KEYS) -> Kernel:
    """A kernel with its macros."""
    return kernel.define(D=WIDTH, BR=queries, BC=keys)


def lengths(size: int) -> list[tuple[int, int]]:
    """(sequence, heads) of the rows of the table, shortest first; heads x sequence is the same for all."""
    found = [max(1, size >> half) for half in reversed(range(SEQUENCES))]
    return [(s, TOKENS * size // s) for s in found]


def matrices(cp: Any, s: int, heads: int, count: int = 3) -> list:
    """Q, K and V, or fewer, with elements from -1 to 1."""
    return [
        (2 * floats(cp, heads * s * WIDTH) - 1).astype(cp.float32).reshape(heads, s, WIDTH)
        for _ in range(count)
    ]


# -- one point each ----------------------------------------------------------------


def flash(
    s: int, heads: int, columns: dict, tile: tuple[int, int] = (QUERIES, KEYS), causal: bool = False
) -> Point:
    """Attention in one kernel."""

    def arguments(cp: Any) -> tuple:
        out, lse = cp.zeros((heads, s, WIDTH), cp.float32), cp.zeros((heads, s), cp.float32)
        return (out, lse, *matrices(cp, s, heads), *sizes(s), np.int32(0 if causal else s), scale())

    grid = (-(-s // tile[0]), heads)
    flops = 4 * s * s * WIDTH * heads // (2 if causal else 1)
    return Point(columns, built(k.FLASH, *tile), grid, (tile[0],), arguments, _bytes(4, s, heads), flops)


def naive(s: int, heads: int) -> list[Point]:
    """The same in three kernels, with the matrix of scores between them."""
    wide, matrix = _bytes(1, s, heads), 4 * s * s * heads
    grid, flops = (-(-s // QUERIES), heads), 2 * s * s * WIDTH * heads

    def scores(cp: Any) -> tuple:
        return (stored(cp, s, heads), *matrices(cp, s, heads, 2), *sizes(s), np.int32(s), scale())

    def apply(cp: Any) -> tuple:
        out = cp.zeros((heads, s, WIDTH), cp.float32)
        return (out, stored(cp, s, heads), *matrices(cp, s, heads, 1), *sizes(s))

    parts: list[tuple[Kernel, tuple, tuple, Arguments, int, int]] = [
        (built(k.SCORES), grid, (QUERIES,), scores, 2 * wide + matrix, flops),
        (k.SOFTMAX, (-(-s // 32), heads), (32, 8), softmax_of(s, heads), 2 * matrix, 0),
        (built(k.APPLY), grid, (QUERIES,), apply, 2 * wide + matrix, flops),
    ]
    return [Point(_columns(part[0].name, s, heads), *part) for part in parts]


def online(s: int, heads: int) -> Point:
    """Softmax with the maximum and the sum in one pass."""
    columns, matrix = _columns("online", s, heads), 4 * s * s * heads
    return Point(columns, k.ONLINE, (-(-s // 32), heads), (32, 8), softmax_of(s, heads), 2 * matrix)


def softmax_of(s: int, heads: int) -> Arguments:
    """The matrix, and its sides."""
    return lambda cp: (stored(cp, s, heads), np.int32(s), np.int32(s))


def stored(cp: Any, s: int, heads: int) -> Any:
    """A matrix of scores per head."""
    return cp.zeros((heads, s, s), cp.float32)


def sizes(s: int) -> tuple:
    """nq, nk and d."""
    return np.int32(s), np.int32(s), np.int32(WIDTH)


def scale() -> np.float32:
    """What scores are multiplied by."""
    return np.float32(WIDTH**-0.5)


def _columns(variant: str, s: int, heads: int) -> dict[str, int | str]:
    return {"variant": variant, "sequence": s, "heads": heads}


def _bytes(arrays: int, s: int, heads: int) -> int:
    return 4 * arrays * s * WIDTH * heads


# -- the sweeps --------------------------------------------------------------------


def attention(size: int) -> list[Point]:
    """The three kernels, the online softmax, the fused kernel without and with a causal mask."""
    found: list[Point] = []
    for s, heads in lengths(size):
        found += [*naive(s, heads), online(s, heads), flash(s, heads, _columns("flash", s, heads))]
        found.append(flash(s, heads, _columns("flash causal", s, heads), causal=True))
    return found


def library(size: int) -> list[Call]:
    """PyTorch's memory-efficient attention in fp32, without a mask."""
    return [
        Call(
            _columns("PyTorch", s, heads),
            torch_attention(s, heads),
            _bytes(4, s, heads),
            4 * s * s * WIDTH * heads,
        )
        for s, heads in lengths(size)
    ]


def torch_attention(s: int, heads: int) -> Callable[[Any], Callable[[], object] | None]:
    """The launcher of `scaled_dot_product_attention` on CuPy's arrays and in CuPy's current stream."""

    def launcher(cp: Any) -> Callable[[], object] | None:
        try:
            import torch
            from torch.nn.attention import SDPBackend, sdpa_kernel
        except ImportError:
            return None
        pointer = cp.cuda.get_current_stream().ptr
        stream = torch.cuda.ExternalStream(pointer) if pointer else torch.cuda.default_stream()
        q, k_, v = (torch.from_dlpack(a)[None] for a in matrices(cp, s, heads))
        attend = torch.nn.functional.scaled_dot_product_attention

        def run() -> object:
            with torch.no_grad(), torch.cuda.stream(stream), sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):
                return attend(q, k_, v)

        try:
            run()
        except RuntimeError as error:  # a library that refuses must not end a recording
            print(f"PyTorch: {error}")
            return None
        return run

    return launcher


def tiles(size: int) -> list[Point]:
    """The fused kernel for five tiles, with 8 heads."""
    return [flash(size, 8, {"queries": br, "keys": bc, "sequence": size}, (br, bc)) for br, bc in TILES]


SWEEPS = (
    Sweep("flash_attention", "tokens of the longest sequence", 16384, attention, 0, LINEAR, library),
    Sweep("flash_tiles", "tokens", 4096, tiles, 0, LINEAR),
)
