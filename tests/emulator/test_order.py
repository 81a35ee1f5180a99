"""What the checks know of the order of accesses, without a kernel."""

import numpy as np
import pytest

from course_lib.emulator import order as module
from course_lib.emulator.lanes import Geometry, LaneSet
from course_lib.emulator.order import FULL_MASK, Order, site_of
from course_lib.emulator.shadow import Access, Shadow

BLOCKS, THREADS = 3, 96


def ordered(order: Order, stamp: int, other: int, thread: int, row: int = 1) -> bool:
    """Whether an access of `other` at `stamp` comes before one that `thread` makes now."""
    asked = order.unordered(np.array([row]), np.array([thread]), np.array([other]), np.array([stamp]))
    return not asked[0]


@pytest.fixture
def order() -> Order:
    return Order(10, BLOCKS, THREADS)


def test_a_stamp_holds_the_time_and_the_instruction(order: Order) -> None:
    early, late = order.stamp(900), order.stamp(7)
    order.barrier(None)
    assert site_of(early) == 900
    assert site_of(late) == 7
    assert order.stamp(0) > early


def test_a_barrier_of_all_blocks(order: Order) -> None:
    before = order.stamp(1)
    assert not ordered(order, before, 3, 80)
    order.barrier(None)
    assert ordered(order, before, 3, 80)
    assert not ordered(order, order.stamp(1), 3, 80)
    assert order.uniform


def test_a_barrier_of_some_blocks(order: Order) -> None:
    before = order.stamp(1)
    order.barrier(np.array([0, 2]))
    assert not order.uniform
    assert ordered(order, before, 3, 80, row=2)
    assert not ordered(order, before, 3, 80, row=1)


def test_syncwarp_orders_lanes_of_one_warp(order: Order) -> None:
    before = order.stamp(1)
    every = LaneSet(Geometry((20, 1, 1), (THREADS, 1, 1)), np.arange(10, 13), np.arange(THREADS), True)
    order.warp_barrier(every.warps, np.full(9, FULL_MASK, np.uint32))
    assert order.uniform
    assert ordered(order, before, 3, 31)
    assert not ordered(order, before, 3, 32)


def test_syncwarp_with_a_mask(order: Order) -> None:
    before = order.stamp(1)
    order.warp_barrier(np.array([34]), np.array([0b1111], np.uint32))  # warp 1 of block 11
    assert ordered(order, before, 32, 35)
    assert not ordered(order, before, 32, 36)
    assert not ordered(order, before, 0, 3)
    assert not ordered(order, before, 32, 35, row=0)


def test_no_more_than_a_few_masks_are_kept(order: Order, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_MASKS", 4)
    for mask in range(3, 20):
        before = order.stamp(1)
        order.warp_barrier(np.array([33]), np.array([mask], np.uint32))
    assert len(order.masks) == 4
    assert ordered(order, before, 0, 1)


def test_a_barrier_of_two_warps(order: Order) -> None:
    arrived = order.tick()
    late = order.stamp(1)
    order.group_barrier(1, np.arange(0, 64), [(np.arange(64, 96), arrived)])
    assert ordered(order, late, 3, 40)
    assert not ordered(order, late, 70, 40)  # after it had arrived
    assert ordered(order, arrived, 70, 40)
    assert not ordered(order, arrived, 3, 70)  # who only arrives learns nothing


def test_a_fence_speaks_for_its_thread(order: Order) -> None:
    before = order.stamp(1)
    lanes = LaneSet(Geometry((20, 1, 1), (THREADS, 1, 1)), np.array([11]), np.array([5]), True)
    order.fence(lanes)
    assert ordered(order, before, 5, 80)
    assert not ordered(order, before, 6, 80)
    assert not ordered(order, order.stamp(1), 5, 80)


# -- the shadow ----------------------------------------------------------------------


def access(
    order: Order, kind: str, threads: list[int], words: list[int], values: list[int] | None = None
) -> Access:
    """Threads of one block at words of its memory; everything was 0 before."""
    who, place = np.array(threads, np.int32), np.array([words])
    made = Access(kind, who, who, 0, place, order, order.stamp(1))
    if values is not None:
        made.new, made.old = (lambda: np.array([[values]])), (lambda: np.zeros((1, 1, len(words)), int))
    return made


def test_any_of_several_readers_races_with_a_store() -> None:
    order, shadow = Order(0, 1, 96), Shadow(8, 96)
    assert not shadow.enter(access(order, "load", [3, 50, 70], [4, 4, 4]))
    (conflict,) = shadow.enter(access(order, "store", [50], [4], [1]))
    assert conflict.earlier == "load"
    assert int(conflict.other[0, 0]) in (3, 70)


def test_a_thread_never_races_with_itself() -> None:
    order, shadow = Order(0, 1, 96), Shadow(8, 96)
    for kind in ("load", "store", "load", "atomic", "store"):
        assert not shadow.enter(access(order, kind, [50], [4], [1] if kind == "store" else None))


def test_of_one_instruction_only_different_values_clash() -> None:
    order, shadow = Order(0, 1, 96), Shadow(8, 96)
    assert not shadow.enter(access(order, "store", [1, 2, 3], [4, 4, 5], [7, 7, 8]))
    order.barrier(None)
    (conflict,) = shadow.enter(access(order, "store", [1, 2, 3], [4, 4, 4], [7, 9, 9]))
    assert conflict.when is None
    assert conflict.mask.tolist() == [[True, False, False]]
    assert conflict.other.tolist() == [[3, 3, 3]]


def test_storing_what_is_there_is_harmless() -> None:
    order, shadow = Order(0, 1, 96), Shadow(8, 96)
    shadow.enter(access(order, "store", [1], [4], [0]))
    assert not shadow.enter(access(order, "store", [2], [4], [0]))
    assert shadow.enter(access(order, "store", [3], [4], [5]))


def test_atomics_race_with_plain_accesses_only() -> None:
    order, shadow = Order(0, 1, 96), Shadow(8, 96)
    assert not shadow.enter(access(order, "atomic", [1, 2], [4, 4]))
    assert not shadow.enter(access(order, "atomic", [3], [4]))
    assert [c.earlier for c in shadow.enter(access(order, "load", [3], [4]))] == ["atomic"]
    assert {c.earlier for c in shadow.enter(access(order, "store", [3], [4], [1]))} == {"atomic"}
