"""Addresses as base and offset, the address space, and generic addresses."""

import itertools

import numpy as np
import pytest

from course_lib.emulator.access import resolve
from course_lib.emulator.address import Address, AddressBase, add_address, address, lanes
from course_lib.emulator.faults import ScatteredError
from course_lib.emulator.memory import (
    ALIGNMENT,
    GUARD,
    LOCAL_WINDOW,
    SHARED_WINDOW,
    STATIC_START,
    GlobalMemory,
    Region,
    behind,
    poisoned,
)

from .cuda import run

U32, U64 = np.uint32, np.uint64


def of(values: list[int], offset: int = 0, dtype: type = U64) -> Address:
    return Address(AddressBase(np.array(values, dtype)), offset)


# -- base and offset ---------------------------------------------------------------


def test_facts_of_a_base() -> None:
    base = AddressBase(np.array([[120, 100, 108]], U64))
    assert (base.low, base.span, base.bits & 7) == (100, 20, 4)
    assert base.indices(2).tolist() == [[5, 0, 2]]


def test_uniform_numbers_change_the_offset_only() -> None:
    start = of([0, 4, 8])
    moved = add_address(add_address(start, U64(16)), U64(2**64 - 4))
    assert moved.base is start.base
    assert moved.offset == 12
    assert moved.lanes().tolist() == [12, 16, 20]
    assert add_address(U64(16), start).base is start.base


def test_lane_values_make_a_new_base() -> None:
    total = add_address(of([0, 4, 8], 100), np.array([1, 2, 3], U64))
    assert total.lanes().tolist() == [101, 106, 111]
    assert add_address(of([1, 2], 1), of([3, 4], 2)).lanes().tolist() == [7, 9]


def test_shapes_broadcast() -> None:
    total = add_address(np.array([[0], [100]], U64), np.array([[1, 2, 3]], U64))
    assert total.lanes().tolist() == [[1, 2, 3], [101, 102, 103]]


def test_scalars_stay_scalars() -> None:
    assert add_address(U64(2**64 - 1), U64(2)) == 1
    assert address(U64(5)) == 5
    assert lanes(U64(5)) == 5


@pytest.mark.parametrize(("dtype", "bits"), [(U32, 32), (U64, 64)])
def test_additions_wrap_at_the_registers_width(dtype: type, bits: int) -> None:
    rng = np.random.default_rng(bits)
    values = [
        int(rng.integers(2**bits, dtype=np.uint64) if bits == 64 else rng.integers(2**32)) for _ in range(20)
    ]
    with np.errstate(over="ignore"):
        for number in (1, 2**bits - 1, 2 ** (bits - 1), 2**bits // 3):
            moved = add_address(np.array(values, dtype), dtype(number))
            assert lanes(moved).tolist() == [(value + number) % 2**bits for value in values]


# -- the address space -------------------------------------------------------------


def test_regions_are_aligned_and_apart() -> None:
    memory = GlobalMemory()
    regions = [memory.add(f"r{k}", np.zeros(size, np.uint8)) for k, size in enumerate((1, 513, 4096, 7))]
    assert all(region.start % ALIGNMENT == 0 for region in regions)
    assert all(b.start - a.end >= GUARD for a, b in itertools.pairwise(regions))
    assert memory.find(regions[1].start + 512) is regions[1]
    assert memory.find(regions[1].end) is None
    assert memory.find(0) is None
    assert memory.nearest(regions[2].start - 3) is regions[2]


def test_views_of_one_array_keep_their_distance() -> None:
    memory, array = GlobalMemory(), np.zeros((8, 16), np.float32)
    first, row, column = (memory.add_array("a", view) for view in (array, array[3:], array[:, 5:]))
    assert (row - first, column - first) == (3 * 64, 20)
    assert len(memory.regions) == 1


def test_the_memory_of_a_region_is_the_arrays() -> None:
    memory, array = GlobalMemory(), np.arange(6, dtype=np.int32).reshape(2, 3)
    start = memory.add_array("a", array)
    memory.find(start).view(np.dtype(np.int32))[4] = 99
    assert array[1, 1] == 99


def test_an_array_of_size_0() -> None:
    memory = GlobalMemory()
    assert memory.find(memory.add_array("empty", np.zeros(0, np.float32))) is None


def test_module_variables_lie_below_all_arrays() -> None:
    memory = GlobalMemory()
    memory.add_variables([Region("v", STATIC_START, np.zeros(4, np.uint8), False, "const")])
    start = memory.add_array("a", np.zeros(1))
    assert STATIC_START < behind(STATIC_START + 4) < start
    assert not memory.find(STATIC_START).writable


def test_poison_is_a_nan_in_every_float_type() -> None:
    memory = poisoned((64,))
    for dtype in (np.float16, np.float32, np.float64):
        assert np.isnan(memory.view(dtype)).all()
    assert (memory.view(np.uint32) == 0x7FFF7FFF).all()


# -- generic addresses -------------------------------------------------------------


def test_generic_addresses_resolve_by_window() -> None:
    space, inside = resolve(of([SHARED_WINDOW + 16, SHARED_WINDOW + 4], 8))
    assert (space, lanes(inside).tolist()) == ("shared", [24, 12])
    space, inside = resolve(U64(LOCAL_WINDOW + 40))
    assert (space, int(inside)) == ("local", 40)
    assert resolve(of([2**47]))[0] == "global"


def test_lanes_in_different_spaces_scatter() -> None:
    with pytest.raises(ScatteredError):
        resolve(of([SHARED_WINDOW, 2**47]))


def test_is_in() -> None:
    memory = GlobalMemory()
    memory.add_variables([Region("c", STATIC_START, np.zeros(8, np.uint8), False, "const")])
    start = memory.add_array("a", np.zeros(4))
    asked = np.array([start, STATIC_START + 4, SHARED_WINDOW + 1, LOCAL_WINDOW], U64)
    assert memory.is_in("global", asked).tolist() == [True, False, False, False]
    assert memory.is_in("const", asked).tolist() == [False, True, False, False]
    assert memory.is_in("global", U64(start))


def test_a_pointer_that_is_shared_here_and_global_there() -> None:
    body = """
      __shared__ int s[32];
      int i = threadIdx.x;
      s[i] = 100 + i; __syncwarp();
      int *p = (i % 3 == 0) ? s : (i % 3 == 1) ? out : other;
      int mine = p[31 - i];
      p[i] = -i;
      int back = p[i];
      out[32 + i] = mine; out[64 + i] = back;"""
    out = np.arange(96, dtype=np.int32)
    other = 1000 + np.arange(32, dtype=np.int32)
    run(body, out, other, parameters="int *out, int *other")
    i = np.arange(32)
    wanted = np.choose(i % 3, [100 + 31 - i, 31 - i, 1000 + 31 - i])
    np.testing.assert_array_equal(out[32:64], wanted)
    np.testing.assert_array_equal(out[64:], -i)
    np.testing.assert_array_equal(other, np.where(i % 3 == 2, -i, 1000 + i))


def test_isspacep() -> None:
    before = "__device__ int g; __constant__ int c[2];"
    body = """
      __shared__ int s; int l[2]; l[threadIdx.x & 1] = 1; s = 0;
      const void *p[5] = {out, &g, &s, &l[0], &c[1]};
      const void *q = p[threadIdx.x % 5];
      out[threadIdx.x] = __isGlobal(q) + 2 * __isShared(q) + 4 * __isLocal(q) + 8 * __isConstant(q);"""
    out = run(body, np.zeros(32, np.int32), before=before)
    np.testing.assert_array_equal(out, np.array([1, 1, 2, 4, 8])[np.arange(32) % 5])
