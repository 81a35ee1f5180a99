"""What one load or store instruction costs: sectors in global memory, wavefronts in shared memory.

Pure functions over byte addresses. They know nothing of the emulator and keep no state. Each call takes the
addresses of one memory instruction, executed by any number of warps, as an array of shape (warps, 32).

The rules were found on an H200 with Nsight Compute; `tests/data/h200` holds the evidence. Two facts let a caller
keep results: `count_global` and `count_shared` give the same numbers when all addresses of a warp move by a
multiple of 128 bytes (for requests, sectors and ideals of global memory 32 bytes are enough).

How the counting stays cheap: addresses are narrowed to 32 bits, distinct values are found as the places where a
row of addresses in order changes, and a row is sorted only if it is out of order. Shared memory needs a histogram
of banks, so there one warp is counted for all warps that show the same pattern.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

WARP = 32
SECTOR_SHIFT = 5  # 32-byte sectors
LINE_SHIFT = 7  # 128-byte cache lines; all 32 banks of shared memory span as many bytes
_WIDTHS = (1, 2, 4, 8, 16)
_FULL = 0xFFFFFFFF
_BANK_SHIFT = 25  # sort key of shared memory: bank above, row of the bank below


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

    `addresses`: integers of shape (warps, 32), the address of each lane's first byte. `active`: booleans of the
    same shape, None when every lane takes part; addresses of inactive lanes are ignored. `width`: bytes per lane
    (1, 2, 4, 8 or 16), to which active addresses must be aligned, as the hardware demands (else ValueError).

    A warp with at least one active lane makes one request. Its sectors are the distinct `address >> 5`. The ideal is
    ceil(distinct addresses * width / 32) per request: lanes that read the same element count once, so a broadcast
    has an ideal of one sector, and 32 scattered floats one of four. This equals Nsight Compute's
    `memory_l2_theoretical_sectors_global_ideal` in every recorded case, partial warps included.
    """
    rows, lanes, _ = _prepare(addresses, active, width)
    if not len(rows):
        return GlobalCount()
    if lanes is not None:
        rows = _fill_inactive(rows, lanes)
    _require_aligned(rows, width)
    rows = _in_order(rows)
    sectors = np.count_nonzero(_starts(rows >> SECTOR_SHIFT))
    tags = np.count_nonzero(_starts(rows >> LINE_SHIFT))
    return GlobalCount(len(rows), int(sectors), _ideal_sectors(_starts(rows), width), int(tags))


def count_shared(addresses: NDArray, active: NDArray | None, width: int, store: bool) -> SharedCount:
    """Count one shared-memory instruction; arguments as in `count_global`, `store` tells a store from a load.

    A bank is 4 bytes wide, lanes that touch the same word share it. Lanes are served in groups: 32 lanes up to
    4 bytes, 16 for 8 bytes, 8 for 16 bytes. A load of 8 or 16 bytes joins neighbouring groups (8: both,
    16: the two quarters of each half) if in the whole warp every active lane's partner `i ^ 1` is inactive or at the
    same address, or if that holds for `i ^ 2`. Wavefronts: over all groups with an active lane, the sum of the largest
    number of distinct words in one bank. Conflicts: wavefronts minus those groups. Ideal: ceil(active lanes * width
    / 128), half of it for an 8- or 16-byte load whose active lanes are pairs `i`, `i ^ 1` at one address.
    """
    rows, lanes, masks = _prepare(addresses, active, width)
    if not len(rows):
        return SharedCount()
    requests = len(rows)
    if lanes is not None:
        rows = _fill_inactive(rows, lanes)
    _require_aligned(rows, width)
    rows, masks, weights = _distinct_patterns(rows.astype(np.uint32, copy=False), masks)
    lanes = None if masks is None else _unpack(masks)
    ways, groups = _wavefronts_of_groups(rows, lanes, width, store)
    wavefronts = int(ways.sum(axis=1) @ weights)
    ideal = int(_ideal_wavefronts(rows, lanes, width, store) @ weights)
    return SharedCount(requests, wavefronts, wavefronts - int(groups @ weights), ideal, int(ways.max()))


def distinct_sectors(addresses: NDArray, active: NDArray | None, width: int) -> NDArray[np.uint64]:
    """Sorted numbers (`address >> 5`) of all sectors touched, each once; arguments as in `count_global`.

    32 times their number is the least a launch must move if nothing is fetched twice.
    """
    addresses = np.asarray(addresses)
    flat = (addresses if active is None else addresses[active]).reshape(-1)
    if not flat.size:
        return np.empty(0, np.uint64)
    _require_aligned(flat, width)
    sectors = flat.astype(np.uint64, copy=False) >> np.uint64(SECTOR_SHIFT)
    low, high = sectors.min(), sectors.max()
    if high - low < 8 * sectors.size:  # dense: mark them on a map
        seen = np.zeros(int(high - low) + 1, bool)
        seen[(sectors - low).view(np.int64)] = True
        return np.flatnonzero(seen).view(np.uint64) + low
    sectors = _in_order(sectors.reshape(1, -1))
    return sectors[_starts(sectors)]


# --- rows of addresses -----------------------------------------------------------------------------------------


def _prepare(addresses: NDArray, active: NDArray | None, width: int):
    """Narrow addresses, active lanes and packed masks of the warps that make a request (None = all lanes)."""
    addresses = np.asarray(addresses)
    if width not in _WIDTHS:
        raise ValueError(f"width {width} is not one of {_WIDTHS} bytes")
    if addresses.ndim != 2 or addresses.shape[1] != WARP:
        raise ValueError(f"addresses have shape {addresses.shape}, expected (warps, {WARP})")
    if active is None:
        return _narrow(addresses), None, None
    if active.shape != addresses.shape:
        raise ValueError(f"active has shape {active.shape}, addresses have {addresses.shape}")
    masks = _pack(active)
    if (masks == _FULL).all():
        return _narrow(addresses), None, None
    alive = masks != 0
    if not alive.all():
        addresses, active, masks = addresses[alive], active[alive], masks[alive]
        if (masks == _FULL).all():
            return _narrow(addresses), None, None
    return _narrow(addresses), active, masks


def _narrow(addresses: NDArray) -> NDArray:
    """The same addresses as contiguous uint32 (low halves) if all high halves agree, else as uint64."""
    if addresses.dtype == np.uint32 or not addresses.size:
        return np.ascontiguousarray(addresses, np.uint32)
    same_high_half = int(addresses.min()) >> 32 == int(addresses.max()) >> 32
    return addresses.astype(np.uint32 if same_high_half else np.uint64, order="C")


def _fill_inactive(rows: NDArray, active: NDArray) -> NDArray:
    """Give inactive lanes the address of their warp's first active lane: distinct values stay the same."""
    first = rows[np.arange(len(rows)), active.argmax(axis=1)]
    return np.where(active, rows, first[:, None])


def _require_aligned(rows: NDArray, width: int) -> None:
    if width > 1 and int(np.bitwise_or.reduce(rows, axis=None)) & (width - 1):
        raise ValueError(f"an address is not a multiple of the access width, {width} bytes")


def _in_order(rows: NDArray) -> NDArray:
    """Rows in nondecreasing order; sorts only if one of them is not yet so."""
    ordered = np.empty(rows.shape, bool)
    flat = rows.reshape(-1)
    np.greater_equal(flat[1:], flat[:-1], out=ordered.reshape(-1)[1:])
    ordered[:, 0] = True
    return rows if ordered.all() else np.sort(rows, axis=1)


def _starts(rows: NDArray) -> NDArray[np.bool_]:
    """Where in each row a new value starts; in ordered rows this marks every distinct value once."""
    starts = np.empty(rows.shape, bool)
    flat = rows.reshape(-1)  # one flat comparison is much faster than one with 31 columns
    np.not_equal(flat[1:], flat[:-1], out=starts.reshape(-1)[1:])
    starts[:, 0] = True
    return starts


def _ideal_sectors(starts: NDArray[np.bool_], width: int) -> int:
    """Sum over warps of ceil(distinct addresses * width / 32)."""
    if np.count_nonzero(starts) == starts.size:
        return len(starts) * width
    distinct = np.bitwise_count(_pack(starts)).astype(np.int64)
    return int(((distinct * width + 31) >> SECTOR_SHIFT).sum())


def _pack(lanes: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """32 booleans of each row as the bits of one number, in an order only `_unpack` needs to know."""
    return np.packbits(np.ascontiguousarray(lanes).reshape(-1)).view(np.uint32)


def _unpack(masks: NDArray[np.uint32]) -> NDArray[np.bool_]:
    return np.unpackbits(masks.view(np.uint8)).view(bool).reshape(-1, WARP)


# --- shared memory ---------------------------------------------------------------------------------------------


def _distinct_patterns(rows: NDArray[np.uint32], masks: NDArray[np.uint32] | None):
    """Fewer rows that stand for all: (rows, masks, weights), weights counting the warps of each row.

    Warps whose addresses differ from those of one picked warp by a constant need counting once for each remainder of
    that constant by 128. The others stay as they are. The picked warp is one off the first and off powers of two,
    because warps at an edge of an array are the ones that differ.
    """
    picked = len(rows) // 3
    pattern = rows[picked] - rows[picked, 0]
    probe = rows[:: max(1, len(rows) // 16)]
    if len(rows) < 64 or np.count_nonzero(_match(probe, pattern)) < 4:
        return rows, masks, np.ones(len(rows), np.int64)
    same = _match(rows, pattern)
    if masks is not None:
        same &= masks == masks[picked]
    everyone = same.all()
    weights = np.bincount((rows[:, 0] if everyone else rows[same, 0]) & 127, minlength=128)
    remainders = np.flatnonzero(weights)
    weights = weights[remainders]
    some = remainders.astype(np.uint32)[:, None] + pattern
    some_masks = None if masks is None else np.full(len(some), masks[picked])
    if everyone:
        return some, some_masks, weights
    other = ~same
    rows = np.concatenate([some, rows[other]])
    masks = None if masks is None else np.concatenate([some_masks, masks[other]])
    return rows, masks, np.concatenate([weights, np.ones(len(rows) - len(some), np.int64)])


def _match(rows: NDArray, pattern: NDArray) -> NDArray[np.bool_]:
    """Which rows are `pattern` plus a constant."""
    return _pack(rows - rows[:, :1] == pattern) == _FULL


def _wavefronts_of_groups(rows: NDArray, lanes: NDArray | None, width: int, store: bool):
    """(wavefronts of shape (rows, 4), groups of shape (rows,)); absent and empty groups have 0 wavefronts."""
    size = WARP * 4 // max(width, 4)
    wavefronts = np.zeros((len(rows), 4), np.int64)
    joined = np.zeros(len(rows), bool)
    if width > 4 and not store:
        joined = _partners_agree(rows, lanes, 1) | _partners_agree(rows, lanes, 2)
    for part, lanes_per_group in ((~joined, size), (joined, 2 * size)):
        if part.any():
            chosen = slice(None) if part.all() else part
            ways = _ways(rows[chosen], None if lanes is None else lanes[chosen], width, lanes_per_group)
            wavefronts[chosen, : ways.shape[1]] = ways
    return wavefronts, np.count_nonzero(wavefronts, axis=1)


def _partners_agree(rows: NDArray, lanes: NDArray | None, step: int, both: bool = False) -> NDArray[np.bool_]:
    """Rows where each active lane's partner `i ^ step` is at its address, or (unless `both`) inactive."""
    pairs = rows.reshape(len(rows), -1, 2, step)
    agree = pairs[:, :, 0] == pairs[:, :, 1]
    if lanes is not None:
        pairs = lanes.reshape(len(rows), -1, 2, step)
        one, other = pairs[:, :, 0], pairs[:, :, 1]
        agree = (agree & one & other) | ~((one | other) if both else (one & other))
    return agree.reshape(len(rows), -1).all(axis=1)


def _ways(rows: NDArray, lanes: NDArray | None, width: int, group: int) -> NDArray[np.int64]:
    """Largest number of distinct words in one bank, shape (rows, 32 / group); 0 for a group with no active lane.

    Aligned accesses wider than a word fill a fixed set of banks, so they are counted as wide words in wide banks.
    """
    size = max(width, 4)
    banks = 128 // size
    words = rows >> (size.bit_length() - 1)
    key = ((words & (banks - 1)) << _BANK_SHIFT) | (words >> (banks.bit_length() - 1))
    if lanes is not None:
        key = np.where(lanes, key, np.uint32(banks << _BANK_SHIFT))  # one more bank, for what is not counted
    key = np.sort(key.reshape(-1, group), axis=1)
    bank = np.where(_starts(key), key >> _BANK_SHIFT, banks)
    slot = bank + np.arange(0, len(key) * (banks + 1), banks + 1)[:, None]
    histogram = np.bincount(slot.reshape(-1), minlength=len(key) * (banks + 1)).reshape(-1, banks + 1)
    return histogram[:, :banks].max(axis=1).reshape(len(rows), -1)


def _ideal_wavefronts(rows: NDArray, lanes: NDArray | None, width: int, store: bool) -> NDArray[np.int64]:
    active = np.full(len(rows), WARP) if lanes is None else np.count_nonzero(lanes, axis=1)
    unit = np.full(len(rows), 128)
    if width > 4 and not store:
        unit[_partners_agree(rows, lanes, 1, both=True)] = 256
    return (active * width + unit - 1) // unit
