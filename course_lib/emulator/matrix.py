"""Matrix instructions of a warp at run time: mma, wmma.mma, ldmatrix, stmatrix, movmatrix.

All 32 lanes of a warp must take part (PTX ISA: `.sync.aligned`). A warp of which some are missing
gets poison as its result, and the launch a finding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .address import Address, AddressBase, Plain, Value, lanes
from .fragment import Fragment
from .isa.matrix_form import Form, register_code
from .isa.matrix_layout import transpose
from .isa.matrix_multiply import multiply
from .isa.table import DTYPES
from .lanes import WARP
from .memory import POISON

WORD = np.dtype(np.uint32)
Values = list[np.ndarray]


def poison(code: str) -> np.generic:
    """The poison value of a register type."""
    return np.full(2, POISON, np.uint32).view(DTYPES[code])[0]


def on_whole_warps(
    fragment: Fragment,
    site: int,
    operands: Sequence,
    codes: Sequence[str],
    operation: Callable[[Fragment, list], Values],
) -> Values:
    """Run `operation(fragment, operands)` for the complete warps of a fragment; the others get poison.

    `operands` are register values; `codes` the types of the results.
    """
    if fragment.lanes.whole_warps:
        return operation(fragment, list(operands))
    everyone = fragment.lanes
    complete = np.broadcast_to(everyone.active.all(1, keepdims=True), everyone.active.shape)
    fragment.chunk.report_inactive(fragment, everyone.active & ~complete, site)
    results = [np.full(everyone.shape, poison(code)) for code in codes]
    mask = everyone.from_warps(complete)
    if mask.any():
        part, selector = everyone.subset(mask)
        taken = [selector.take(np.broadcast_to(lanes(value), everyone.shape)) for value in operands]
        for result, value in zip(
            results, operation(Fragment(fragment.chunk, part, [], fragment.pc), taken), strict=True
        ):
            selector.put(result, np.broadcast_to(value, part.shape))
    return results


def multiply_add(fragment: Fragment, form: Form, a: list, b: list, c: list, site: int) -> Values:
    """mma.sync, wmma.mma: the registers of D, one value per lane each."""
    first, second = len(a), len(a) + len(b)

    def operation(part: Fragment, operands: list) -> Values:
        rows = [part.lanes.to_warps(lanes(value)) for value in operands]
        return [
            part.lanes.from_warps(d) for d in multiply(form, rows[:first], rows[first:second], rows[second:])
        ]

    codes = [register_code(form.types[0])] * form.d.registers
    return on_whole_warps(fragment, site, [*a, *b, *c], codes, operation)


# -- rows of 16 bytes in shared memory -------------------------------------------------


def _row_lanes(fragment: Fragment, address: Value, count: int) -> tuple[Fragment, Value]:
    """The first 8 * count lanes of every warp, which hold the addresses of rows."""
    if count == 4:
        return fragment, as_address(address)
    wanted = fragment.special("laneid") < 8 * count
    part, selector = fragment.lanes.subset(np.asarray(wanted))
    taken = selector.take(np.broadcast_to(lanes(address), fragment.lanes.shape))
    return Fragment(fragment.chunk, part, [], fragment.pc), as_address(taken)


def as_address(value: Value) -> Value:
    """A register value as `Fragment.load` and `store` take it."""
    return Address(AddressBase(value), 0) if isinstance(value, np.ndarray) and value.ndim else value


def load_matrices(
    fragment: Fragment, space: str, address: Value, offset: int, count: int, transposed: bool, site: int
) -> Values:
    """ldmatrix: `count` 8x8 matrices of 16-bit elements; lane i tells where row i % 8 of matrix i // 8 is."""

    def operation(whole: Fragment, operands: list) -> Values:
        part, rows = _row_lanes(whole, operands[0], count)
        loaded = part.load(space, rows, offset, WORD, 4, site)
        words = np.stack([np.broadcast_to(word, part.lanes.shape).ravel() for word in loaded], axis=-1)
        tiles = words.reshape(-1, count, WARP)
        matrices = [np.ascontiguousarray(tiles[:, k]) for k in range(count)]
        return [whole.lanes.from_warps(transpose(m) if transposed else m) for m in matrices]

    return on_whole_warps(fragment, site, [address], ["u32"] * count, operation)


def store_matrices(
    fragment: Fragment, space: str, address: Value, offset: int, values: list, transposed: bool, site: int
) -> None:
    """stmatrix: the inverse of ldmatrix."""
    count = len(values)

    def operation(whole: Fragment, operands: list) -> Values:
        part, rows = _row_lanes(whole, operands[0], count)
        registers = [whole.lanes.to_warps(value) for value in operands[1:]]
        tiles = np.stack([transpose(r) if transposed else r for r in registers], axis=1)
        words = tiles.reshape(-1, 4).T.reshape(4, *part.lanes.shape)
        part.store(space, rows, offset, list(words), WORD, site)
        return []

    on_whole_warps(fragment, site, [address, *values], [], operation)


def transpose_matrix(fragment: Fragment, value: Plain, site: int) -> np.ndarray:
    """movmatrix.trans: exchange rows and columns of an 8x8 matrix of 16-bit elements."""

    def operation(whole: Fragment, operands: list) -> Values:
        return [whole.lanes.from_warps(transpose(whole.lanes.to_warps(operands[0])))]

    return on_whole_warps(fragment, site, [value], ["u32"], operation)[0]
