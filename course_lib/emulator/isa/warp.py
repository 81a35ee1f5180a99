"""Instructions across the 32 lanes of a warp: shfl, vote, match, redux, activemask.

Operands have shape (warps, 32) or are scalars; ``active`` is a (warps, 32) bool
array. Results end with ``undefined``: a (warps, 32) bool array that marks active lanes whose value
hardware leaves open (source lane inactive or outside the member mask), or None.
"""

from collections.abc import Callable

import numpy as np

from .arrays import Lanes
from .table import instruction

LANE = np.arange(32, dtype=np.uint32)
ALL = np.uint32(2**32 - 1)


def lane_bits(p: Lanes) -> np.ndarray:
    """(warps, 32) bools -> (warps, 1) words, bit i from lane i."""
    return np.packbits(p, axis=1, bitorder="little").view("<u4").astype(np.uint32)


def _outsiders(active, members):
    """Active lanes that their own member mask leaves out; None if there are none."""
    outside = active & (members >> LANE & 1 == 0)
    return outside if outside.any() else None


def _up(lane, b, segment, clamp):
    return lane - b, lambda source: source >= clamp


def _down(lane, b, segment, clamp):
    return lane + b, lambda source: source <= clamp


def _butterfly(lane, b, segment, clamp):
    return lane ^ b, lambda source: source <= clamp


def _index(lane, b, segment, clamp):
    return (lane & segment) | (b & ~segment), lambda source: source <= clamp


def shuffle(find_source: Callable) -> Callable:
    """shfl.sync of one mode: (active, a, b, c, members) -> (value, in range, undefined)."""

    def move(active, a, b, c, members):
        segment, cut = (c >> 8 & 31).astype(np.int32), (c & 31).astype(np.int32)
        lane = LANE.view(np.int32)
        limit = (lane & segment) | (cut & ~segment)
        source, allowed = find_source(lane, (b & 31).astype(np.int32), segment, limit)
        inside = allowed(source)
        source = np.where(inside, source, lane)
        a, inside = np.broadcast_to(a, active.shape), np.broadcast_to(inside, active.shape)
        value = _gather(a, source)
        if active.all() and np.all(members == ALL):
            return value, inside, None
        members = np.broadcast_to(members, active.shape)
        source = np.broadcast_to(source, active.shape)
        member = (members >> source.astype(np.uint32)) & (members >> LANE) & 1 == 1
        undefined = active & ~(_gather(active, source) & member)
        return value, inside, undefined if undefined.any() else None

    return move


def _gather(a, source):
    """Per warp, the values of the lanes ``source``: (32,) for all warps alike or (warps, 32)."""
    if source.ndim == 1:
        return a.take(source, axis=1)
    first = np.arange(0, a.size, 32)[:, None]
    return np.ascontiguousarray(a).ravel().take(source + first)


for _name, _source in (("up", _up), ("down", _down), ("bfly", _butterfly), ("idx", _index)):
    _move = shuffle(_source)
    instruction(f"shfl.sync.{_name}.b32|", "u32 pred <- u32 u32 u32 u32", kind="warp")(_move)
    instruction(f"shfl.sync.{_name}.b32", "u32 <- u32 u32 u32 u32", kind="warp")(
        lambda *operands, move=_move: move(*operands)[::2]
    )


@instruction("vote.sync.ballot.b32", "u32 <- pred u32", kind="warp")
def ballot(active: np.ndarray, p: Lanes, members: Lanes) -> tuple:
    """Bit i: lane i is active, a member, and its predicate holds."""
    votes = np.broadcast_to(lane_bits(active & p) & members, active.shape)
    return votes, _outsiders(active, members)


def _vote(decide):
    def vote(active, p, members):
        yes = lane_bits(active & p) & members
        result = np.broadcast_to(decide(yes, lane_bits(active) & members), active.shape)
        return result, _outsiders(active, members)

    return vote


for _name, _decide in (
    ("all", lambda yes, voters: yes == voters),
    ("any", lambda yes, voters: yes != 0),
    ("uni", lambda yes, voters: (yes == voters) | (yes == 0)),
):
    instruction(f"vote.sync.{_name}.pred", "pred <- pred u32", kind="warp")(_vote(_decide))


def match_any(active: np.ndarray, a: Lanes, members: Lanes) -> tuple:
    """Members whose value equals the lane's own, as a lane mask."""
    a = np.broadcast_to(a, active.shape)
    equal = [lane_bits((a == a[:, lane : lane + 1]) & active) for lane in range(32)]
    return np.concatenate(equal, axis=1) & members, _outsiders(active, members)


def match_all(active: np.ndarray, a: Lanes, members: Lanes) -> tuple:
    """(mask, agreed): the active members if all hold one value, else 0."""
    same, outsiders = match_any(active, a, members)
    voters = lane_bits(active) & members
    agreed = same == voters
    return np.where(agreed, voters, np.uint32(0)), agreed, outsiders


for _bits in (32, 64):
    _operands = f"u{_bits} u32"
    instruction(f"match.any.sync.b{_bits}", f"u32 <- {_operands}", kind="warp")(match_any)
    instruction(f"match.all.sync.b{_bits}|", f"u32 pred <- {_operands}", kind="warp")(match_all)
    instruction(f"match.all.sync.b{_bits}", f"u32 <- {_operands}", kind="warp")(
        lambda active, a, members: match_all(active, a, members)[::2]
    )


def reduce_members(operation: np.ufunc, identity: int) -> Callable:
    """redux.sync: one value over the active members of each lane's mask."""

    def reduce(active, a, members):
        a, members = np.broadcast_to(a, active.shape), np.broadcast_to(members, active.shape)
        voters = lane_bits(active) & members
        result = np.empty(active.shape, a.dtype)
        leaders = LANE[:1] if (voters == voters[:, :1]).all() else LANE
        for leader in leaders:
            inside = voters[:, leader : leader + 1] >> LANE & 1 == 1
            result[:, leader] = operation.reduce(np.where(inside, a, a.dtype.type(identity)), axis=1)
        return result[:, :1] + np.zeros_like(a) if len(leaders) == 1 else result, _outsiders(active, members)

    return reduce


for _name, _code, _operation, _identity in (
    ("add", "u32", np.add, 0),
    ("add", "s32", np.add, 0),
    ("min", "u32", np.minimum, 2**32 - 1),
    ("min", "s32", np.minimum, 2**31 - 1),
    ("max", "u32", np.maximum, 0),
    ("max", "s32", np.maximum, -(2**31)),
    ("and", "b32", np.bitwise_and, 2**32 - 1),
    ("or", "b32", np.bitwise_or, 0),
    ("xor", "b32", np.bitwise_xor, 0),
):
    _word = _code.replace("b", "u")
    instruction(f"redux.sync.{_name}.{_code}", f"{_word} <- {_word} u32", kind="warp")(
        reduce_members(_operation, _identity)
    )


@instruction("elect.sync|", "u32 pred <- u32", kind="warp")
def elect(active: np.ndarray, members: Lanes) -> tuple:
    """(lane number of the leader, whether this lane leads): the lowest active member leads."""
    voters = np.broadcast_to(lane_bits(active) & members, active.shape)
    lowest = voters & (~voters + np.uint32(1))
    leader = np.bitwise_count(lowest - np.uint32(1)).astype(np.uint32)
    return leader, leader == LANE, _outsiders(active, members)


@instruction("activemask.b32", "u32 <- ", kind="warp")
def active_mask(active: np.ndarray) -> tuple:
    """The active lanes as bits."""
    return np.broadcast_to(lane_bits(active), active.shape), None
