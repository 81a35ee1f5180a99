"""The counters' fast paths against plain Python sets, and their corners."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.emulator.counters import GlobalCount, SharedCount, count_global, count_shared


def plain_global(addresses, active, width):
    requests = sectors = ideal = tags = 0
    for row, lanes in zip(addresses.tolist(), active.tolist(), strict=True):
        data = {a + k for a, on in zip(row, lanes, strict=True) if on for k in range(width)}
        requests += bool(data)
        sectors += len({a >> 5 for a in data})
        tags += len({a >> 7 for a in data})
        ideal += min(len({a >> 5 for a in data}), -(-sum(lanes) * width // 32))
    return GlobalCount(requests, sectors, ideal, tags)


def plain_shared(addresses, active, width, store):
    sums, worst = np.zeros(4, int), 0
    for row, lanes in zip(addresses.tolist(), active.tolist(), strict=True):
        at = {i: row[i] for i in range(32) if lanes[i]}
        if not at:
            continue
        group = {1: 32, 2: 32, 4: 32, 8: 16, 16: 8}[width]
        ideal = -(-len(at) * width // 128)
        if width > 4 and not store:
            if any(all(at.get(i ^ step, at[i]) == at[i] for i in at) for step in (1, 2)):
                group *= 2
            if all(at.get(i ^ 1) == at[i] for i in at):
                ideal = -(-len(at) * width // 256)
        banks = defaultdict(lambda: defaultdict(set))
        for i, a in at.items():
            for byte in range(a, a + width):
                banks[i // group][byte // 4 % 32].add(byte // 4)
        ways = [max(map(len, bank.values())) for bank in banks.values()]
        sums += 1, sum(ways), sum(ways) - len(ways), ideal
        worst = max(worst, *ways)
    return SharedCount(*sums.tolist(), worst)


def lanes_of(kind, warps, rng):
    lane = np.arange(32)
    masks = {
        "all": np.ones((warps, 32), bool),
        "tail": np.arange(warps * 32).reshape(warps, 32) < warps * 32 - 37,
        "same": np.tile(rng.random(32) < 0.4, (warps, 1)),
        "half of the warps": np.tile(rng.random((warps, 1)) < 0.5, (1, 32)),
        "even": np.tile(lane % 2 == 0, (warps, 1)),
        "random": rng.random((warps, 32)) < rng.random(),
        "none": np.zeros((warps, 32), bool),
    }
    return masks[kind]


def elements_of(kind, warps, rng):
    warp, lane = np.arange(warps)[:, None], np.arange(32)
    step, jump = rng.integers(-40, 41), rng.integers(0, 70)
    elements = {
        "affine": warp * jump + lane * step,
        "tile": warp * jump + lane // 8 * step + lane % 8,
        "pairs": warp * jump + lane // 2 * step,
        "every other pair": warp * jump + (lane & ~2) * step,
        "row of a vector": warp + lane // rng.choice([4, 8, 16]),
        "swizzled": (lane ^ (warp % 8)) + 32 * lane,
        "wrapped": (warp * 32 + lane + jump) % (warps * 32),
        "sorted": np.sort(rng.integers(0, 999, (warps, 32)), axis=1),
        "random": rng.integers(0, rng.choice([2, 70, 5000]), (warps, 32)),
    }
    return elements[kind] + np.zeros((warps, 1), int)


PATTERNS = [
    "affine",
    "tile",
    "pairs",
    "every other pair",
    "row of a vector",
    "swizzled",
    "wrapped",
    "sorted",
    "random",
]
MASKS = ["all", "tail", "same", "half of the warps", "even", "random", "none"]
accesses = st.tuples(
    st.sampled_from(PATTERNS),
    st.sampled_from(MASKS),
    st.sampled_from([1, 2, 33, 70]),
    st.sampled_from([1, 2, 4, 8, 16]),
    st.sampled_from([np.uint64, np.int64, np.uint32]),
    st.integers(0, 1 << 32),
)


def build(access, base=1 << 20):
    pattern, mask, warps, width, dtype, seed = access
    rng = np.random.default_rng(seed)
    addresses = base + width * elements_of(pattern, warps, rng)
    active = lanes_of(mask, warps, rng)
    return np.where(active, addresses, rng.integers(0, 1 << 31, addresses.shape)).astype(dtype), active, width


@settings(max_examples=150, deadline=None)
@given(accesses)
def test_global_equals_plain_sets(access):
    addresses, active, width = build(access)
    expected = plain_global(addresses, active, width)
    assert count_global(addresses, active, width) == expected
    if active.all():
        assert count_global(addresses, None, width) == expected


@settings(max_examples=150, deadline=None)
@given(accesses, st.booleans())
def test_shared_equals_plain_sets(access, store):
    addresses, active, width = build(access)
    assert count_shared(addresses, active, width, store) == plain_shared(addresses, active, width, store)


@settings(max_examples=40, deadline=None)
@given(accesses, st.integers(0, 1 << 34))
def test_counts_do_not_change_when_all_addresses_move(access, steps):
    addresses, active, width = build((*access[:4], np.uint64, access[5]))
    moved = addresses + np.uint64(128 * steps)
    assert count_global(moved, active, width) == count_global(addresses, active, width)
    assert count_shared(moved, active, width, False) == count_shared(addresses, active, width, False)


def test_lanes_more_than_4_gb_apart_are_distinct():
    addresses = np.arange(32, dtype=np.uint64)[None] << np.uint64(32)
    assert count_global(addresses, None, 4) == GlobalCount(1, 32, 4, 32)


def test_no_warp_makes_no_request():
    nothing = np.zeros((0, 32), np.uint64)
    assert count_global(nothing, None, 4) == GlobalCount()
    assert count_shared(nothing, None, 4, True) == SharedCount()


def test_ways_and_excess_of_stride_4():
    """`shm[idx * 4]` by 2 warps: a 4-way conflict, 3 excess wavefronts each, 6 in total."""
    addresses = 16 * np.arange(64, dtype=np.uint32).reshape(2, 32)
    count = count_shared(addresses, None, 4, False)
    assert (count.ways, count.conflicts, count.wavefronts) == (4, 6, 8)


@pytest.mark.parametrize("pitch", [(4, 4), (32, 32), (36, 4)])
def test_float4_rows(pitch):
    """32 float4: contiguous, rows of 32 words, rows padded to 36 words."""
    words, wavefronts = pitch
    addresses = 4 * words * np.arange(32, dtype=np.uint32)[None]
    assert count_shared(addresses, None, 16, False).wavefronts == wavefronts


def test_arguments_are_left_alone():
    addresses, active, width = build(("random", "random", 70, 4, np.uint32, 1))
    before = addresses.copy()
    addresses.flags.writeable = active.flags.writeable = False
    count_global(addresses, active, width)
    count_shared(addresses, active, width, False)
    np.testing.assert_array_equal(addresses, before)


@pytest.mark.parametrize(
    ("shape", "width", "message"),
    [((4, 31), 4, "shape"), ((32,), 4, "shape"), ((1, 32), 3, "width 3"), ((1, 32), 8, "not a multiple")],
)
def test_refuses(shape, width, message):
    with pytest.raises(ValueError, match=message):
        count_global(np.full(shape, 4, np.uint64), None, width)
    with pytest.raises(ValueError, match=message):
        count_shared(np.full(shape, 4, np.uint64), None, width, False)
