"""Sets of lanes: products and irregular sets, subsets, unions, warps."""

import numpy as np
import pytest

from course_lib.emulator.lanes import Geometry, LaneSet

GEOMETRY = Geometry((3, 2, 1), (8, 4, 3))  # 6 blocks of 96 threads


def whole() -> LaneSet:
    return LaneSet(GEOMETRY, np.arange(6), np.arange(96), True)


def irregular(pairs: list[tuple[int, int]]) -> LaneSet:
    blocks, threads = (np.array(column) for column in zip(*sorted(pairs), strict=True))
    return LaneSet(GEOMETRY, blocks, threads, False)


def pairs_of(lanes: LaneSet) -> list[tuple[int, int]]:
    return list(zip(lanes.lane_blocks.tolist(), lanes.lane_threads.tolist(), strict=True))


def full(lanes: LaneSet, name: str) -> np.ndarray:
    return np.broadcast_to(lanes.special(name), lanes.shape)


def test_geometry() -> None:
    assert (GEOMETRY.threads, GEOMETRY.blocks) == (96, 6)
    assert GEOMETRY.thread_index(8 * 4 * 2 + 8 * 3 + 5) == (5, 3, 2)
    assert GEOMETRY.block_index(5) == (2, 1, 0)


# -- special registers -------------------------------------------------------------


def test_thread_and_block_indices_against_numpy() -> None:
    lanes = whole()
    z, y, x = np.unravel_index(np.arange(96), (3, 4, 8))
    for axis, wanted in zip("xyz", (x, y, z), strict=True):
        np.testing.assert_array_equal(full(lanes, f"tid.{axis}"), np.tile(wanted, (6, 1)))
    z, y, x = np.unravel_index(np.arange(6), (1, 2, 3))
    for axis, wanted in zip("xyz", (x, y, z), strict=True):
        np.testing.assert_array_equal(full(lanes, f"ctaid.{axis}"), np.repeat(wanted[:, None], 96, 1))


def test_values_are_as_narrow_as_they_can_be() -> None:
    lanes = whole()
    assert np.shape(lanes.special("tid.x")) == (1, 96)
    assert np.shape(lanes.special("ctaid.x")) == (6, 1)
    assert np.ndim(lanes.special("ctaid.z")) == 0  # the same for all
    assert lanes.special("ntid.y") == 4
    assert lanes.special("nctaid.x") == 3
    assert all(
        lanes.special(name).dtype == np.uint32 for name in ("tid.x", "laneid", "ntid.x", "lanemask_lt")
    )


@pytest.mark.parametrize(
    ("name", "mask"),
    [("lanemask_eq", lambda lane: 1 << lane), ("lanemask_lt", lambda lane: (1 << lane) - 1),
     ("lanemask_le", lambda lane: (2 << lane) - 1), ("lanemask_gt", lambda lane: 2**32 - (2 << lane)),
     ("lanemask_ge", lambda lane: 2**32 - (1 << lane))],
)  # fmt: skip
def test_lane_masks(name: str, mask: object) -> None:
    np.testing.assert_array_equal(full(whole(), name)[0], [mask(thread % 32) for thread in range(96)])


# -- subsets -----------------------------------------------------------------------


def masks() -> dict[str, np.ndarray]:
    """Masks over (6, 96) lanes, of the shapes that registers have."""
    rng = np.random.default_rng(1)
    one = np.zeros((6, 96), np.bool_)
    one[4, 17] = True
    return {
        "some threads of all blocks": (np.arange(96) % 5 == 0)[None, :],
        "all threads of some blocks": np.array([1, 0, 0, 1, 1, 0], np.bool_)[:, None],
        "threads, written out": np.tile(np.arange(96) < 40, (6, 1)),
        "blocks, written out": np.repeat(np.arange(6) > 3, 96).reshape(6, 96),
        "any lanes": rng.random((6, 96)) < 0.3,
        "one lane": one,
    }


@pytest.mark.parametrize("mask", masks().values(), ids=masks())
def test_subset_takes_and_puts_the_right_lanes(mask: np.ndarray) -> None:
    lanes = whole()
    part, selector = lanes.subset(mask)
    wanted = np.argwhere(np.broadcast_to(mask, lanes.shape))
    assert pairs_of(part) == [tuple(pair) for pair in wanted.tolist()]
    values = np.arange(6 * 96).reshape(6, 96)
    np.testing.assert_array_equal(
        np.broadcast_to(selector.take(values), part.shape).ravel(), values[tuple(wanted.T)]
    )
    for narrow in (values[:1], values[:, :1], values[:1, :1]):
        taken = np.broadcast_to(selector.take(narrow), part.shape).ravel()
        np.testing.assert_array_equal(taken, np.broadcast_to(narrow, (6, 96))[tuple(wanted.T)])
    target = np.zeros((6, 96), np.int64)
    selector.put(target, np.broadcast_to(selector.take(values), part.shape))
    np.testing.assert_array_equal(target, np.where(mask, values, 0))


def test_subset_of_threads_or_blocks_stays_a_product() -> None:
    shapes = {name: whole().subset(mask)[0].product for name, mask in masks().items()}
    assert shapes == {"some threads of all blocks": True, "all threads of some blocks": True,
                      "threads, written out": True, "blocks, written out": True,
                      "any lanes": False, "one lane": False}  # fmt: skip


def test_subset_of_an_irregular_set() -> None:
    lanes = irregular([(0, 3), (2, 5), (2, 90), (5, 0)])
    part, selector = lanes.subset(np.array([True, False, True, True]))
    assert pairs_of(part) == [(0, 3), (2, 90), (5, 0)]
    assert selector.take(np.array([10, 11, 12, 13])).tolist() == [10, 12, 13]
    target = np.zeros(4, np.int64)
    selector.put(target, np.array([1, 2, 3]))
    assert target.tolist() == [1, 0, 2, 3]


# -- unions ------------------------------------------------------------------------


@pytest.mark.parametrize("mask", masks().values(), ids=masks())
def test_union_of_the_parts_is_the_whole(mask: np.ndarray) -> None:
    lanes = whole()
    yes, no = lanes.subset(mask)[0], lanes.subset(~mask)[0]
    joined = LaneSet.union([no, yes])
    assert pairs_of(joined) == pairs_of(lanes)
    for part in (yes, no):
        selector = joined.selector_of(part)
        taken = np.broadcast_to(
            selector.take(np.broadcast_to(joined.ids.reshape(joined.shape), joined.shape)), part.shape
        )
        np.testing.assert_array_equal(taken.ravel(), part.ids)


def test_union_of_products_stays_a_product() -> None:
    for name in ("some threads of all blocks", "all threads of some blocks"):
        mask = masks()[name]
        parts = [whole().subset(mask)[0], whole().subset(~mask)[0]]
        assert LaneSet.union(parts).product


def test_union_of_three_pieces_with_gaps() -> None:
    parts = [irregular([(1, 4)]), irregular([(0, 95), (3, 0)]), irregular([(1, 3)])]
    assert pairs_of(LaneSet.union(parts)) == [(0, 95), (1, 3), (1, 4), (3, 0)]


# -- warps -------------------------------------------------------------------------


def test_whole_warps_are_rows_of_32() -> None:
    lanes = whole()
    assert lanes.whole_warps
    assert lanes.warp_count == 18
    values = np.arange(6 * 96).reshape(6, 96)
    rows = lanes.to_warps(values)
    assert rows.shape == (18, 32)
    assert rows[4].tolist() == list(range(128, 160))
    np.testing.assert_array_equal(lanes.from_warps(rows), values)


def test_parts_of_warps() -> None:
    lanes = irregular([(0, 1), (0, 31), (0, 32), (2, 40)])
    assert not lanes.whole_warps
    assert lanes.warps.tolist() == [0, 1, 7]  # three warps a block
    assert [np.flatnonzero(row).tolist() for row in lanes.active] == [[1, 31], [0], [8]]
    rows = lanes.to_warps(np.array([10, 20, 30, 40]))
    assert (rows[0, 1], rows[0, 31], rows[1, 0], rows[2, 8], rows.sum()) == (10, 20, 30, 40, 100)
    assert lanes.from_warps(rows).tolist() == [10, 20, 30, 40]


def test_a_block_that_ends_within_a_warp() -> None:
    lanes = LaneSet(Geometry((2, 1, 1), (40, 1, 1)), np.arange(2), np.arange(40), True)
    assert not lanes.whole_warps
    assert lanes.warp_count == 4
    assert lanes.active.sum(1).tolist() == [32, 8, 32, 8]
    values = np.arange(80).reshape(2, 40)
    np.testing.assert_array_equal(lanes.from_warps(lanes.to_warps(values)), values)


def test_warps_of_lanes_that_only_look_whole() -> None:
    """32 lanes, but of two warps."""
    lanes = LaneSet(Geometry((1, 1, 1), (64, 1, 1)), np.arange(1), np.arange(16, 48), True)
    assert not lanes.whole_warps
    assert lanes.warp_count == 2
