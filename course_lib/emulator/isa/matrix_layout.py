"""Where the elements of a matrix sit in the registers of a warp.

Every fragment of mma and wmma is made of tiles of 8 rows: lane `l` holds `per` neighbouring
elements of row `l // 4`, from column `per * (l % 4)` on (the groupID and threadID_in_group of
the PTX ISA, "Matrix Fragments for mma.…"). A has its rows along m and its columns along k, B rows
along n and columns along k, the accumulators rows along m and columns along n.

The ISA leaves the fragments of wmma open. Here they are those that ptxas uses for sm_90, read
off its SASS: the tiles of mma, and for f16 repeated until a thread holds 16 elements.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

GROUP = np.arange(32) // 4
PLACE = np.arange(32) % 4


@dataclass(frozen=True)
class Layout:
    """A fragment: extents, bits of an element, elements of a lane in a row of a tile, and the first
    (row, column) of each tile in the order of registers, which follow each other `copies` times."""

    rows: int
    columns: int
    bits: int
    per: int
    tiles: tuple[tuple[int, int], ...]
    copies: int = 1

    @property
    def in_register(self) -> int:
        """Elements in one register."""
        return max(1, 32 // self.bits)

    @property
    def distinct(self) -> int:
        """Registers that hold different elements."""
        return len(self.tiles) * self.per // self.in_register

    @property
    def registers(self) -> int:
        """Registers of a thread."""
        return self.distinct * self.copies

    @property
    def width(self) -> int:
        """Bytes of a lane in a row of a tile."""
        return self.per * self.bits // 8


def fragment(rows: int, columns: int, bits: int, per: int, tall: bool, elements: int = 0) -> Layout:
    """The layout of a matrix. `tall`: tiles go down through blocks of 16 rows, then right; else right first.

    `elements`: how many a thread must hold, repeated if need be.
    """
    across = range(0, columns, 4 * per)
    if tall:
        blocks = range(0, rows, 16)
        tiles = [(r, c) for block in blocks for c in across for r in range(block, min(block + 16, rows), 8)]
    else:
        tiles = [(r, c) for r in range(0, rows, 8) for c in across]
    own = len(tiles) * per
    return Layout(rows, columns, bits, per, tuple(tiles), max(1, elements // own))


@lru_cache(maxsize=256)
def _places(layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """(row, column) of every element, each of shape (distinct registers, 32, elements in a register)."""
    tile, inside = np.divmod(np.arange(len(layout.tiles) * layout.per), layout.per)
    first_row, first_column = np.array(layout.tiles).T
    row = first_row[tile][:, None] + GROUP
    column = (first_column[tile] + inside)[:, None] + layout.per * PLACE
    shape = (layout.distinct, layout.in_register, 32)
    return row.reshape(shape).swapaxes(1, 2), column.reshape(shape).swapaxes(1, 2)


@lru_cache(maxsize=256)
def _orders(layout: Layout) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions of all elements among the registers by rows, the same by columns, and the way back."""
    row, column = (places.ravel() for places in _places(layout))
    number = row * layout.columns + column
    by_row = np.argsort(number)
    return by_row, by_row.reshape(layout.rows, layout.columns).T.ravel(), number


def gather(layout: Layout, registers: Sequence[np.ndarray], by_column: bool = False) -> np.ndarray:
    """Registers of shape (warps, 32) -> the matrix, (rows, columns, warps), or (columns, rows, warps).

    Elements come as unsigned integers of `bits` bits.
    """
    stacked = np.stack(registers[: layout.distinct])
    raw = stacked.view(f"u{layout.bits // 8}").reshape(*stacked.shape, layout.in_register)
    warps = raw.shape[1]
    order = _orders(layout)[1 if by_column else 0]
    flat = np.ascontiguousarray(raw.transpose(0, 2, 3, 1)).reshape(-1, warps)
    first, second = (layout.columns, layout.rows) if by_column else (layout.rows, layout.columns)
    return flat[order].reshape(first, second, warps)


def scatter(layout: Layout, matrix: np.ndarray, register: np.dtype) -> list[np.ndarray]:
    """A matrix (rows, columns, warps) -> registers of dtype `register`, each of shape (warps, 32)."""
    warps = matrix.shape[2]
    flat = matrix.reshape(-1, warps)[_orders(layout)[2]]
    spread = flat.reshape(layout.distinct, 32, layout.in_register, warps).transpose(0, 3, 1, 2)
    words = np.ascontiguousarray(spread).view(register).reshape(layout.distinct, warps, 32)
    return list(words) * layout.copies


def transpose(word: np.ndarray) -> np.ndarray:
    """A register that holds an 8x8 tile of 16-bit elements, (warps, 32), with rows and columns exchanged."""
    tiles = np.ascontiguousarray(word).view(np.uint16).reshape(-1, 8, 8)
    return np.ascontiguousarray(tiles.swapaxes(1, 2)).view(np.uint32).reshape(-1, 32)
