"""Launch checks: every limit, just inside and just outside."""

import numpy as np
import pytest

from course_lib.emulator.cubin import Resources
from course_lib.emulator.errors import LaunchError
from course_lib.emulator.limits import (
    check_launch,
    check_max_dynamic_shared,
    default_dynamic_shared,
    dimensions,
    max_threads,
    resident_blocks,
)

OPT_IN = 227 * 1024


def launch(grid=(1, 1, 1), block=(32, 1, 1), registers=16, static=0, bounds=1024, **shared):
    check_launch("k", grid, block, Resources(registers, static, 0, 0, bounds), **shared)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ((4,), (4, 1, 1)),
        ((4, 5), (4, 5, 1)),
        ((4, 5, 6), (4, 5, 6)),
        ((0,), (1, 1, 1)),  # as in CuPy
        ((3, 0, 2), (3, 1, 2)),
        ((np.int32(7), np.uint64(2)), (7, 2, 1)),
    ],
)
def test_dimensions_as_cupy_takes_them(value, expected):
    sizes = dimensions(value, "grid")
    assert sizes == expected
    assert all(type(size) is int for size in sizes)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (4, r"must be a tuple, not int 4: write \(4,\)"),
        ([4, 5], r"write \(4, 5\)"),
        ((), "0 dimensions"),
        ((1, 2, 3, 4), "4 dimensions"),
        ((-1,), "grid dimension x is -1"),
        ((1, 2.0), r"dimension y must be an integer, not float 2.0; divide with //"),
        (("1",), "not str '1'"),
        ((None,), "not NoneType"),
    ],
)
def test_dimensions_that_make_no_sense(value, words):
    with pytest.raises(LaunchError, match=words):
        dimensions(value, "grid")


@pytest.mark.parametrize("grid", [(65536, 1, 1), (2**31 - 1, 1, 1), (1, 65535, 65535)])
def test_largest_grids(grid):
    launch(grid)


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ((2**31, 1, 1), "grid dimension x is 2147483648; the limit is 2147483647"),
        ((1, 65536, 1), "grid dimension y is 65536; the limit is 65535"),
        ((1, 1, 65536), "grid dimension z is 65536; the limit is 65535"),
    ],
)
def test_grids_too_large(grid, words):
    with pytest.raises(LaunchError, match=words):
        launch(grid)


@pytest.mark.parametrize("block", [(1024, 1, 1), (1, 1024, 1), (4, 4, 64)])
def test_largest_blocks(block):
    launch(block=block)


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ((1025, 1, 1), "block dimension x is 1025; the limit is 1024"),
        ((1, 1025, 1), "block dimension y is 1025; the limit is 1024"),
        ((1, 1, 65), "block dimension z is 65; the limit is 64"),
        ((32, 33, 1), "32 x 33 x 1 = 1056 threads; the limit is 1024 threads per block"),
    ],
)
def test_blocks_too_large(block, words):
    with pytest.raises(LaunchError, match=words):
        launch(block=block)


def test_launch_bounds():
    launch(block=(256, 1, 1), bounds=256)
    with pytest.raises(
        LaunchError, match=r"288 threads, but the kernel's __launch_bounds__ promises at most 256"
    ):
        launch(block=(288, 1, 1), bounds=256)


def test_dynamic_shared_memory_needs_asking():
    launch(dynamic_shared=48 * 1024)
    launch(dynamic_shared=98304, max_dynamic_shared=98304)
    words = "98304 bytes of shared memory.*Set kernel.max_dynamic_shared_size_bytes = 98304"
    with pytest.raises(LaunchError, match=words):
        launch(dynamic_shared=98304)
    with pytest.raises(LaunchError, match=r"1024 static \+ 48640 dynamic = 49664 bytes"):
        launch(static=1024, dynamic_shared=48640)


def test_dynamic_shared_memory_has_an_end():
    launch(dynamic_shared=OPT_IN, max_dynamic_shared=OPT_IN)
    with pytest.raises(LaunchError, match=r"H200 has at most 232448 bytes \(227 KB\)"):
        launch(dynamic_shared=OPT_IN + 1)
    assert check_max_dynamic_shared("k", 1024, OPT_IN - 1024) == OPT_IN - 1024
    with pytest.raises(LaunchError, match="allows at most 231424"):
        check_max_dynamic_shared("k", 1024, OPT_IN)
    with pytest.raises(LaunchError, match="not float"):
        check_max_dynamic_shared("k", 0, 1e5)
    assert default_dynamic_shared(1024) == 47 * 1024


def test_162_registers_by_512_threads():
    # 162 * 32 = 5184 registers a warp, in units of 256: 5376; 16 warps of them are 86016
    with pytest.raises(
        LaunchError, match=r"registers: 162 .* 5376 per warp.*needs 86016 of 65536. 0 blocks fit"
    ):
        launch(block=(512, 1, 1), registers=162)
    launch(block=(384, 1, 1), registers=162)
    assert max_threads(Resources(162, 0, 0, 0)) == 384


@pytest.mark.parametrize(("registers", "threads"), [(64, 1024), (128, 512), (255, 256), (16, 1024)])
def test_registers_that_just_fit(registers, threads):
    launch(block=(threads, 1, 1), registers=registers)
    assert max_threads(Resources(registers, 0, 0, 0)) == threads


@pytest.mark.parametrize(("registers", "threads"), [(65, 1024), (129, 512), (255, 288)])
def test_registers_that_just_do_not_fit(registers, threads):
    with pytest.raises(LaunchError, match="registers"):
        launch(block=(threads, 1, 1), registers=registers)


@pytest.mark.parametrize(
    ("threads", "registers", "shared", "per_sm"),
    [
        (256, 16, 0, 8),  # 64 warps
        (32, 16, 0, 32),  # 32 blocks
        (224, 92, 0, 2),  # registers: 20 warps of 96 * 32, blocks of 7
        (256, 32, 32 * 1024, 6),  # 33 KB of 228 KB with the reserved one
    ],
)
def test_resident_blocks(threads, registers, shared, per_sm):
    assert resident_blocks(threads, Resources(registers, shared, 0, 0), 0) == per_sm * 132
