"""Instructions across a warp: what each lane gets, and which lanes get nothing defined."""

import numpy as np
import pytest

from course_lib.emulator.isa import TABLE

FULL = np.uint32(0xFFFFFFFF)
LANES = np.arange(32, dtype=np.uint32)[None, :]
EVERYONE = np.ones((1, 32), bool)


def first(count):
    """Only the first ``count`` lanes active."""
    return count > LANES


def call(opcode, active, *operands):
    *results, undefined = TABLE[opcode].function(active, *operands)
    return (*(x[0].tolist() for x in results), None if undefined is None else undefined[0].tolist())


@pytest.mark.parametrize(
    ("mode", "b", "c", "source"),
    [
        ("idx", 5, 31, lambda i: 5),
        ("idx", 37, 31, lambda i: 5),
        ("up", 1, 0, lambda i: max(i - 1, 0)),
        ("down", 4, 31, lambda i: i + 4 if i < 28 else i),
        ("bfly", 16, 31, lambda i: i ^ 16),
        ("down", 2, 0x181F, lambda i: i + 2 if i % 8 < 6 else i),
        ("up", 3, 0x1800, lambda i: i - 3 if i % 8 >= 3 else i),
        ("bfly", 4, 0x181F, lambda i: i ^ 4),
        ("idx", 6, 0x181F, lambda i: i - i % 8 + 6),
        ("idx", 9, 0x1803, lambda i: i - i % 8 + 1),
        ("bfly", 31, 7, lambda i: i ^ 31 if i ^ 31 <= 7 else i),
    ],
)
def test_shuffles(mode, b, c, source):
    """c holds the segment mask in bits 8-12 and the clamp in bits 0-4."""
    values = LANES * np.uint32(100)
    expected = [source(i) for i in range(32)]
    for b_operand in (np.uint32(b), np.full((1, 32), b, np.uint32)):
        value, inside, undefined = call(
            f"shfl.sync.{mode}.b32|", EVERYONE, values, b_operand, np.uint32(c), FULL
        )
        assert value == [100 * s for s in expected]
        assert undefined is None
        moved = [s != i for i, s in enumerate(expected)]
        assert all(p or not m for p, m in zip(inside, moved, strict=True))
        assert call(f"shfl.sync.{mode}.b32", EVERYONE, values, b_operand, np.uint32(c), FULL)[0] == value


def test_shuffle_predicate_is_false_where_the_source_lies_outside():
    _, inside, _ = call("shfl.sync.down.b32|", EVERYONE, LANES, np.uint32(16), np.uint32(31), FULL)
    assert inside == [True] * 16 + [False] * 16


def test_shuffle_from_an_inactive_lane_is_undefined():
    """A block of 20 threads: shfl_down by 16 reads lanes that do not exist."""
    active, members = first(20), np.uint32(0xFFFFF)
    _, undefined = call("shfl.sync.down.b32", active, LANES, np.uint32(16), np.uint32(31), members)
    assert undefined == [4 <= i < 16 for i in range(32)]


def test_shuffle_from_a_lane_outside_the_mask_is_undefined():
    members = np.uint32(0x7FFFFFFF)
    _, undefined = call("shfl.sync.bfly.b32", EVERYONE, LANES, np.uint32(1), np.uint32(31), members)
    assert undefined == [i >= 30 for i in range(32)]


def test_lane_dependent_sources():
    values = LANES + np.uint32(1000)
    value, _, _ = call("shfl.sync.idx.b32|", EVERYONE, values, LANES[:, ::-1], np.uint32(31), FULL)
    assert value == [1031 - i for i in range(32)]


@pytest.mark.parametrize(
    ("predicate", "everyone", "anyone", "uniform"),
    [(LANES < 0, False, False, True), (LANES < 1, False, True, False), (LANES < 40, True, True, True)],
)
def test_votes(predicate, everyone, anyone, uniform):
    for name, expected in (("all", everyone), ("any", anyone), ("uni", uniform)):
        assert call(f"vote.sync.{name}.pred", EVERYONE, predicate, FULL) == ([expected] * 32, None)


def test_votes_count_active_members_only():
    active, members = first(8), np.uint32(0xFF)
    assert call("vote.sync.all.pred", active, LANES < 8, members)[0][:8] == [True] * 8
    assert call("vote.sync.ballot.b32", active, LANES % 2 == 0, members)[0][:8] == [0x55] * 8
    assert call("vote.sync.ballot.b32", EVERYONE, np.True_, np.uint32(0xF0))[0][4:8] == [0xF0] * 4


def test_two_halves_with_their_own_masks():
    members = np.where(LANES < 16, 0xFFFF, 0xFFFF0000).astype(np.uint32)
    ballots, undefined = call("vote.sync.ballot.b32", EVERYONE, LANES % 4 == 0, members)
    assert ballots == [0x1111] * 16 + [0x11110000] * 16
    assert undefined is None
    sums, _ = call("redux.sync.add.u32", EVERYONE, LANES, members)
    assert sums == [120] * 16 + [376] * 16


def test_a_lane_outside_its_own_mask_is_undefined():
    _, undefined = call("vote.sync.ballot.b32", EVERYONE, np.True_, np.uint32(0xFFFF))
    assert undefined == [False] * 16 + [True] * 16


@pytest.mark.parametrize("bits", [32, 64])
def test_matches(bits):
    word = np.dtype(f"u{bits // 8}").type
    values = (LANES // np.uint32(16)).astype(word) << word(bits - 1)
    assert call(f"match.any.sync.b{bits}", EVERYONE, values, FULL)[0] == [0xFFFF] * 16 + [0xFFFF0000] * 16
    mask, agreed, _ = call(f"match.all.sync.b{bits}|", EVERYONE, values, FULL)
    assert (mask, agreed) == ([0] * 32, [False] * 32)
    mask, agreed, _ = call(f"match.all.sync.b{bits}|", first(16), values, np.uint32(0xFFFF))
    assert (mask[:16], agreed[:16]) == ([0xFFFF] * 16, [True] * 16)


@pytest.mark.parametrize(
    ("opcode", "expected"),
    [
        ("add.u32", 496), ("min.u32", 0), ("max.u32", 31), ("and.b32", 0), ("or.b32", 31), ("xor.b32", 0),
        ("add.s32", 496), ("min.s32", 0), ("max.s32", 31),
    ],
)  # fmt: skip
def test_reductions(opcode, expected):
    values = LANES.astype(np.int32) if opcode.endswith("s32") else LANES
    assert call(f"redux.sync.{opcode}", EVERYONE, values, FULL) == ([expected] * 32, None)


def test_reduction_of_signed_numbers_over_some_lanes():
    values = LANES.astype(np.int32) - 20
    members = np.uint32(0x0000FF00)
    active = (LANES >= 8) & (LANES < 16)
    assert call("redux.sync.max.s32", active, values, members)[0][8:16] == [-5] * 8
    assert call("redux.sync.min.s32", active, values, members)[0][8:16] == [-12] * 8


def test_active_mask():
    assert call("activemask.b32", first(5))[0][:5] == [0b11111] * 5


def test_warps_do_not_mix():
    active = np.ones((3, 32), bool)
    values = np.arange(96, dtype=np.uint32).reshape(3, 32)
    result, undefined = TABLE["shfl.sync.idx.b32"].function(active, values, np.uint32(0), np.uint32(31), FULL)
    assert result[:, 7].tolist() == [0, 32, 64]
    assert undefined is None
    total, _ = TABLE["redux.sync.add.u32"].function(active, values, FULL)
    assert total[:, 0].tolist() == values.sum(axis=1).tolist()
