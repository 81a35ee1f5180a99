"""What one load or store instruction costs: sectors in global memory, wavefronts in shared memory.

Pure functions over byte addresses; they know nothing of the emulator and keep no state. One call takes the
addresses of one memory instruction executed by any number of warps, as an array of shape (warps, 32).

The rules were found on an H200 with Nsight Compute; `tests/data/h200` holds the evidence. A caller may keep
results: nothing changes when all addresses of a warp move by one multiple of 128 bytes (32 bytes are enough
for all of `GlobalCount` but `tags`).

How counting stays cheap: addresses are narrowed to 32 bits; distinct values are found as the places where a
row in order changes; rows are sorted only if out of order (NumPy sorts short rows in vector registers).
Shared memory needs a histogram of banks, so there one warp is counted for all warps that show the same
pattern.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

WARP = 32
SECTOR_SHIFT = 5  # 32-byte sectors
LINE_SHIFT = 7  # 128-byte cache lines; one row of all 32 banks of shared memory is as long
_WIDTHS = (1, 2, 4, 8, 16)
_ALL_LANES = np.uint32(0xFFFFFFFF)
_LANE = np.arange(WARP, dtype=np.uint32)
_LOWER_PARTNERS = {step: np.uint32(sum(1 << i for i in range(WARP) if not i & step)) for step in (1, 2)}
_SLOT_SHIFT = np.uint32(25)  # sort key of shared memory: slot (group and bank) above, row of the bank below


@dataclass(frozen=True)
class GlobalCount:
    """Sums over the warps of one global load or store. `tags` are distinct 128-byte lines per request."""

    requests: int = 0
    sectors: int = 0
    sectors_ideal: int = 0
    tags: int = 0


@dataclass(frozen=True)
class SharedCount:
    """Sums over the warps of one shared load or store; `ways` is the worst n-way bank conflict (1 = none)."""

    requests: int = 0
    wavefronts: int = 0
    conflicts: int = 0
    wavefronts_ideal: int = 0
    ways: int = 0


def count_global(addresses: NDArray, active: NDArray | None, width: int) -> GlobalCount:
    """Count one global-memory instruction.

    `addresses`: integers of shape (warps, 32), the address of each lane's first byte. `active`: booleans of
    the same shape, None when every lane takes part; addresses of inactive lanes are ignored. `width`: bytes
    per lane (1, 2, 4, 8 or 16); active addresses must be aligned to it, as the hardware demands (else
    ValueError).

    A warp with at least one active lane makes one request. Its sectors are the distinct `address >> 5`. Its
    ideal is ceil(active lanes * width / 32), or its sectors if these are fewer (a broadcast: 1). Summed over
    all global accesses of a launch, atomics too, this is Nsight Compute's
    `memory_l2_theoretical_sectors_global_ideal`. Lanes that share elements within a request do not lower it:
    Nsight Compute's histogram of 64 bins (case `hist_global`) has 4 for 32 atomics on some 25 bins.
    """
    rows, masks = _prepare(addresses, active, width)
    if not len(rows):
        return GlobalCount()
    rows = _in_order(rows)
    sectors = np.bitwise_count(_pack(_starts(rows >> SECTOR_SHIFT)))
    full = (np.bitwise_count(masks).astype(np.int64) * width + 31) >> SECTOR_SHIFT
    tags = np.count_nonzero(_starts(rows >> LINE_SHIFT))
    return GlobalCount(len(rows), int(sectors.sum()), int(np.minimum(sectors, full).sum()), int(tags))


def count_shared(addresses: NDArray, active: NDArray | None, width: int, store: bool) -> SharedCount:
    """Count one shared-memory instruction; arguments as in `count_global`, `store` tells a store from a load.

    A bank is 4 bytes wide; lanes that touch the same word share it. Lanes are served in groups: of 32 for
    up to 4 bytes, 16 for 8 bytes, 8 for 16 bytes. A load of 8 or 16 bytes joins neighbouring groups (8:
    both; 16: the two quarters of each half) if in the whole warp every active lane's partner `i ^ 1` is
    inactive or at the same address, or if that holds for `i ^ 2`. Wavefronts are the largest number of
    distinct words in one bank, summed over the groups with an active lane; conflicts are wavefronts minus
    those groups. The ideal is ceil(active lanes * width / 128), with 256 for 128 in an 8- or 16-byte load
    whose active lanes are pairs `i`, `i ^ 1` at one address. All addresses lie within 4 GB.
    """
    rows, masks = _prepare(addresses, active, width)
    if not len(rows):
        return SharedCount()
    requests = len(rows)
    rows, masks, weights = _distinct_patterns(rows.astype(np.uint32, copy=False), masks)
    joined, paired = np.zeros((2, len(rows)), bool)
    if width > 4 and not store:
        differ = _differing_partners(rows, 1)
        joined = _agree(differ, masks, 1) | _agree(_differing_partners(rows, 2), masks, 2)
        paired = _agree(differ, masks, 1) & (_alone(masks, 1) == 0)
    ways = _ways(rows, masks, width, joined)
    wavefronts = int(ways.sum(axis=0, dtype=np.int64) @ weights)
    conflicts = wavefronts - int(np.count_nonzero(ways, axis=0) @ weights)
    unit = np.where(paired, 256, 128)
    ideal = (np.bitwise_count(masks).astype(np.int64) * width + unit - 1) // unit
    return SharedCount(requests, wavefronts, conflicts, int(ideal @ weights), int(ways.max()))


# --- rows of addresses, one per warp ---


def _prepare(addresses: NDArray, active: NDArray | None, width: int):
    """(rows, masks): narrow addresses of the warps that make a request, and their active lanes as bits.

    Inactive lanes hold an address of their warp that is in use anyhow.
    """
    addresses = np.asarray(addresses)
    if width not in _WIDTHS:
        raise ValueError(f"width {width} is not one of {_WIDTHS} bytes")
    if addresses.ndim != 2 or addresses.shape[1] != WARP:
        raise ValueError(f"addresses have shape {addresses.shape}, expected (warps, {WARP})")
    if active is not None and active.shape != addresses.shape:
        raise ValueError(f"active has shape {active.shape}, addresses have {addresses.shape}")
    masks = np.full(len(addresses), _ALL_LANES) if active is None else _pack(active)
    if not masks.all():
        used = masks != 0
        addresses, active, masks = addresses[used], active[used], masks[used]
    partial = np.flatnonzero(masks != _ALL_LANES)
    if 0 < partial.size == len(masks):
        addresses = _fill_inactive(addresses, active)
    elif partial.size:
        addresses = addresses.copy()
        addresses[partial] = _fill_inactive(addresses[partial], active[partial])
    rows = _narrow(addresses)
    _require_aligned(rows, width)
    return rows, masks


def _fill_inactive(addresses: NDArray, active: NDArray) -> NDArray:
    """Inactive lanes get the address of their warp's first active lane: distinct values stay as they are."""
    first = addresses[np.arange(len(addresses)), active.argmax(axis=1)]
    return np.where(active, addresses, first[:, None])


def _narrow(addresses: NDArray) -> NDArray:
    """The same addresses as contiguous uint32 (low halves) if all high halves agree, else as uint64."""
    if addresses.dtype == np.uint32 or not addresses.size:
        return np.ascontiguousarray(addresses, np.uint32)
    same_high_half = int(addresses.min()) >> 32 == int(addresses.max()) >> 32
    return addresses.astype(np.uint32 if same_high_half else np.uint64, order="C")


def _require_aligned(rows: NDArray, width: int) -> None:
    if width > 1 and int(np.bitwise_or.reduce(rows, axis=None)) & (width - 1):
        raise ValueError(f"an address is not a multiple of the access width, {width} bytes")


def _in_order(rows: NDArray) -> NDArray:
    """Rows in nondecreasing order; sorts only if one of them is not yet so."""
    ordered = _with_previous(np.greater_equal, rows)
    return rows if ordered.all() else np.sort(rows, axis=1)


def _starts(rows: NDArray) -> NDArray[np.bool_]:
    """Where in each row a new value starts; in ordered rows this marks every distinct value once."""
    return _with_previous(np.not_equal, rows)


def _with_previous(compare: np.ufunc, rows: NDArray) -> NDArray[np.bool_]:
    """Each value compared with the one before it in its row, True for the first; one flat pass is fastest."""
    result = np.empty(rows.shape, bool)
    flat = rows.reshape(-1)
    compare(flat[1:], flat[:-1], out=result.reshape(-1)[1:])
    result[:, 0] = True
    return result


def _pack(lanes: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """Each row of 32 booleans as one number; bit i is lane i."""
    lanes = np.ascontiguousarray(lanes).reshape(-1)
    return np.packbits(lanes, bitorder="little").view(np.uint32)


def _unpack(masks: NDArray[np.uint32]) -> NDArray[np.bool_]:
    lanes = np.unpackbits(masks.view(np.uint8), bitorder="little")
    return lanes.view(bool).reshape(-1, WARP)


# --- shared memory ---


def _distinct_patterns(rows: NDArray[np.uint32], masks: NDArray[np.uint32]):
    """Fewer rows that stand for all: (rows, masks, weights), weights counting the warps of each row.

    Warps whose addresses are those of one picked warp plus a constant are counted once for each remainder
    of that constant by 128; the other warps stay as they are. The picked warp is away from the ends and
    mostly from powers of two, because warps at an edge are the ones that differ.
    """
    picked = len(rows) // 3
    pattern = rows[picked] - rows[picked, 0]
    probe = rows[:: max(1, len(rows) // 16)]
    if len(rows) < 64 or np.count_nonzero(_match(probe, pattern)) < 4:
        return rows, masks, np.ones(len(rows), np.int64)
    same = _match(rows, pattern) & (masks == masks[picked])
    counts = np.bincount(rows[same, 0] & 127, minlength=128)
    remainders = np.flatnonzero(counts)
    other = np.flatnonzero(~same)
    return (
        np.concatenate([remainders.astype(np.uint32)[:, None] + pattern, rows[other]]),
        np.concatenate([np.full(len(remainders), masks[picked]), masks[other]]),
        np.concatenate([counts[remainders], np.ones(len(other), np.int64)]),
    )


def _match(rows: NDArray[np.uint32], pattern: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Which rows are `pattern` plus a constant."""
    return _pack(rows - rows[:, :1] == pattern) == _ALL_LANES


def _differing_partners(rows: NDArray[np.uint32], step: int) -> NDArray[np.uint32]:
    """Bit i of each row: lanes i and i + step hold different addresses (of use where i + step = i ^ step)."""
    differ = np.empty(rows.size, bool)
    flat = rows.reshape(-1)
    np.not_equal(flat[step:], flat[:-step], out=differ[:-step])
    differ[-step:] = False
    return _pack(differ)


def _agree(differ: NDArray[np.uint32], masks: NDArray[np.uint32], step: int) -> NDArray[np.bool_]:
    """Rows where every active lane's partner `i ^ step` is inactive or at the same address."""
    return differ & masks & (masks >> np.uint32(step)) & _LOWER_PARTNERS[step] == 0


def _alone(masks: NDArray[np.uint32], step: int) -> NDArray[np.uint32]:
    """Bits of the pairs `i`, `i ^ step` of which exactly one lane is active."""
    return (masks ^ (masks >> np.uint32(step))) & _LOWER_PARTNERS[step]


def _ways(rows: NDArray[np.uint32], masks: NDArray[np.uint32], width: int, joined: NDArray[np.bool_]):
    """Largest number of distinct words in one bank, shape (groups, rows); 0 for a group with no active lane.

    Aligned accesses wider than a word fill a fixed set of banks, so they are counted as wide words in wide
    banks. 4 groups of 8 banks, 2 of 16 or 1 of 32 make 32 slots in all; a row with joined groups leaves
    some empty.
    """
    size = max(width, 4)
    banks = 128 // size
    words = rows >> (size.bit_length() - 1)
    group = _LANE // banks
    if joined.any():
        group = np.where(joined[:, None], group // 2, group)
    key = words & (banks - 1)
    key += group * banks
    key <<= _SLOT_SHIFT
    key |= words >> (banks.bit_length() - 1)
    if (masks != _ALL_LANES).any():
        np.copyto(key, WARP << _SLOT_SHIFT, where=~_unpack(masks))
    key.sort(axis=1)
    slot = key >> _SLOT_SHIFT
    np.copyto(slot, WARP, where=~_starts(key))  # slot 32 takes repeated words and inactive lanes
    slot += np.arange(0, slot.size // WARP * (WARP + 1), WARP + 1, np.uint32)[:, None]
    counts = np.bincount(slot.reshape(-1).astype(np.int64), minlength=len(rows) * (WARP + 1))
    counts = counts.reshape(-1, WARP + 1).T.astype(np.uint8, order="C")[:WARP]
    return counts.reshape(-1, banks, len(rows)).max(axis=1)
