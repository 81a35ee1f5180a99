"""wmma.load and wmma.store at run time: fragments between registers and memory.

Each is carried out, and counted, as the loads and stores that ptxas makes of it for sm_90. A tile is one
access when memory is contiguous along its rows; tiles of 16-bit elements are else accessed the other way
round and transposed between registers; other elements are accessed one by one. Multiplicands of 8 or 16
bits that are read from shared memory by that name, and can be, are read as ldmatrix does.
"""

from __future__ import annotations

import numpy as np

from .address import Plain, Value, lanes
from .fragment import Fragment
from .isa.matrix_form import Access, register_code
from .isa.matrix_layout import transpose
from .isa.table import DTYPES
from .matrix import Values, as_address, load_matrices, on_whole_warps

Step = int | np.ndarray
_RAW = {8: "u8", 16: "u16", 32: "u32", 64: "u64"}


def load_fragment(
    fragment: Fragment, access: Access, space: str, address: Value, offset: int, stride: Plain, site: int
) -> Values:
    """wmma.load: the registers of a fragment. `stride`: elements from row to row (column) in memory."""

    def operation(whole: Fragment, operands: list) -> Values:
        base, step = np.asarray(operands[0]), _uniform(operands[1])
        layout = access.layout
        if (
            space == "shared"
            and access.operand in "ab"
            and (layout.bits == 16 or (layout.bits == 8 and access.along_columns))
        ):
            return _load_rows(whole, access, base, offset, step, site) * layout.copies
        code = register_code(access.element)
        found: Values = []
        for tile in layout.tiles:
            found += _load_tile(whole, access, space, base, offset, step, tile, site)
        return [value.view(DTYPES[code]) for value in found] * layout.copies

    codes = [register_code(access.element)] * access.layout.registers
    return on_whole_warps(fragment, site, [lanes(address), stride], codes, operation)


def store_fragment(
    fragment: Fragment,
    access: Access,
    space: str,
    address: Value,
    offset: int,
    values: list,
    stride: Plain,
    site: int,
) -> None:
    """wmma.store: the inverse of wmma.load."""

    def operation(whole: Fragment, operands: list) -> Values:
        base, step = np.asarray(operands[0]), _uniform(operands[1])
        each = access.layout.distinct // len(access.layout.tiles)
        registers = [np.broadcast_to(value, whole.lanes.shape) for value in operands[2:]]
        for k, tile in enumerate(access.layout.tiles):
            _store_tile(
                whole, access, space, base, offset, registers[k * each : (k + 1) * each], step, tile, site
            )
        return []

    on_whole_warps(fragment, site, [lanes(address), stride, *values], [], operation)


def _uniform(stride: Plain) -> int | np.ndarray:
    flat = np.asarray(stride)
    first = flat.ravel()[0]
    return int(first) if (flat == first).all() else flat


def _lanes_of(whole: Fragment) -> tuple[np.ndarray, np.ndarray]:
    """groupID and threadID_in_group of every lane."""
    lane = np.asarray(whole.special("laneid"))
    return lane // 4, lane % 4


def _addresses(access: Access, base: np.ndarray, first: tuple, along: bool, step: Step) -> Value:
    """Byte addresses of elements at (row, column) = `first` of the fragment, numbers or lane arrays."""
    row, column = first
    distance = row * step + column if along else column * step + row
    wide = np.asarray(distance).astype(base.dtype) * base.dtype.type(access.layout.bits // 8)
    return as_address(base + wide)


def _load_tile(
    whole: Fragment,
    access: Access,
    space: str,
    base: np.ndarray,
    offset: int,
    step: Step,
    tile: tuple,
    site: int,
) -> Values:
    layout, (group, place) = access.layout, _lanes_of(whole)
    row, column = tile
    if access.along_columns or layout.bits == 16:
        code, count = ("u64", layout.per) if layout.bits == 64 else ("u32", layout.width // 4)
        if access.along_columns:
            first = (row + group, column + layout.per * place)
        else:
            first = (row + layout.per * place, column + group)
        address = _addresses(access, base, first, access.along_columns, step)
        loaded = whole.load(space, address, offset, DTYPES[code], count, site)
        found = [np.broadcast_to(value, whole.lanes.shape) for value in (loaded if count > 1 else [loaded])]
        return found if access.along_columns else [_exchanged(whole, found[0])]
    single = DTYPES[_RAW[layout.bits]]
    elements = []
    for k in range(layout.per):
        address = _addresses(access, base, (row + group, column + layout.per * place + k), False, step)
        elements.append(
            np.broadcast_to(whole.load(space, address, offset, single, 1, site), whole.lanes.shape)
        )
    if layout.bits >= 32:
        return elements
    return [np.stack(elements, axis=-1).view(np.uint32)[..., 0]]


def _exchanged(whole: Fragment, word: np.ndarray) -> np.ndarray:
    return whole.lanes.from_warps(transpose(whole.lanes.to_warps(word)))


def _load_rows(
    whole: Fragment, access: Access, base: np.ndarray, offset: int, step: Step, site: int
) -> Values:
    """Tiles in groups of four (two, one) as ldmatrix reads them."""
    layout, lane = access.layout, np.asarray(whole.special("laneid"))
    found: Values = []
    size = min(4 if layout.bits == 16 else 2, len(layout.tiles))
    for start in range(0, len(layout.tiles), size):
        rows, columns = np.array(layout.tiles[start : start + size]).T
        which, inside = (lane // 8) % size, lane % 8
        down, right = (inside, 0) if access.along_columns else (0, inside)
        address = _addresses(
            access, base, (rows[which] + down, columns[which] + right), access.along_columns, step
        )
        found += load_matrices(whole, "shared", address, offset, size, not access.along_columns, site)
    return found


def _store_tile(
    whole: Fragment,
    access: Access,
    space: str,
    base: np.ndarray,
    offset: int,
    values: Values,
    step: Step,
    tile: tuple,
    site: int,
) -> None:
    layout, (group, place) = access.layout, _lanes_of(whole)
    row, column = tile
    if access.along_columns or layout.bits == 16:
        if access.along_columns:
            first = (row + group, column + layout.per * place)
        else:
            first = (row + layout.per * place, column + group)
            values = [_exchanged(whole, values[0])]
        address = _addresses(access, base, first, access.along_columns, step)
        whole.store(space, address, offset, values, values[0].dtype, site)
        return
    for k, value in enumerate(values):
        address = _addresses(access, base, (row + group, column + layout.per * place + k), False, step)
        whole.store(space, address, offset, [value], value.dtype, site)
