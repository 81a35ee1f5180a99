"""The recorded kernels compute and count what they should, at small sizes on the emulator."""

import subprocess
import sys

import numpy as np
import pytest

from course_lib import rates
from course_lib import standin as cp
from course_lib.agreement import modelled_sweep
from course_lib.chapters import bank_sweeps as banks
from course_lib.chapters import coalescing_sweeps as coalescing
from course_lib.model import modelled_time, scaled
from course_lib.points import Call, Point
from course_lib.profile import profile
from course_lib.record import time_point
from course_lib.sweeps import all_sweeps, sweep

LOADED = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"


def run(point: Point) -> list[np.ndarray]:
    """The arguments after the launch, as NumPy arrays; the output comes first."""
    arguments = point.arguments(cp)
    point.compiled(cp)(point.grid, point.block, arguments, shared_mem=point.shared)
    return [np.asarray(argument) for argument in arguments]


def test_offset_copies_the_shifted_elements():
    for point in coalescing.offset(1000)[::8]:
        out, given, n, shift = run(point)
        np.testing.assert_array_equal(out[shift:], given[shift : shift + n])
        assert not out[:shift].any()


def test_stride_takes_every_nth():
    for point in coalescing.stride(500)[::10]:
        out, given, _, stride = run(point)
        np.testing.assert_array_equal(out, given[::stride])


def test_layouts_read_the_same_fields():
    aos3, soa3, aos1, soa1 = (run(point) for point in coalescing.layout(300))
    np.testing.assert_array_equal(aos3[0], aos3[1].reshape(-1, 3).sum(axis=1, dtype=np.float32))
    np.testing.assert_allclose(soa3[0], soa3[1].reshape(3, -1).sum(axis=0), rtol=1e-6)
    np.testing.assert_array_equal(aos1[0], 2 * aos1[1].reshape(-1, 3)[:, 0])
    np.testing.assert_array_equal(soa1[0], 2 * soa1[1][:300])


def test_vector_copies():
    for point in coalescing.vector(1024):
        out, given, _ = run(point)
        np.testing.assert_array_equal(out, given)


def test_both_matrix_products():
    for point in coalescing.matmul(64):
        out, a, b, n = run(point)
        assert out.shape == (n, n)
        np.testing.assert_allclose(out, a.astype(float) @ b, rtol=1e-5)


def test_every_transpose():
    for point in [*banks.transpose(64), *banks.padding(32)]:
        out, given, _ = run(point)
        expected = given if point.columns.get("variant") == "copy" else given.T
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize(
    ("offset", "ways"), [(0, 1), (1, 1), (2, 2), (8, 8), (31, 1), (32, 32), (33, 1), (64, 16)]
)
def test_bank_offsets_conflict_as_they_should(offset, ways):
    """t * 64 mod 1024 has 16 different words, all in bank 0, so OFFSET 64 is 16-way."""
    load, store = banks.banks(16)[offset], banks.banks(16)[65 + offset]
    for point, kind in ((load, "ld"), (store, "st")):
        counts = profile(point.kernel.compile(cp), (1,), point.block, point.arguments(cp))
        wavefronts = counts[f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{kind}.sum"]
        setup = 32 * (kind == "st")  # one store or load per warp outside the loop, conflict-free or not
        assert wavefronts == pytest.approx(32 * 16 * ways + setup, abs=32 * ways)


def test_bank_kernels_return_what_was_in_shared_memory():
    load = banks.banks(16)[3]
    out = run(load)[0]
    np.testing.assert_array_equal(out[:1024], 16 * (np.arange(1024) * 3 % 1024))
    assert (run(banks.banks(16)[65 + 3])[0] == 15).all()


def test_lines_touch_as_many_lines_as_they_say():
    for point in rates.lines(16):
        counts = profile(point.kernel.compile(cp), (1,), (32,), point.arguments(cp))
        assert counts[LOADED] == pytest.approx(16 * point.columns["lines"], abs=16)


def test_l2_is_asked_for_as_many_lines_and_sectors_as_they_say():
    asked = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
    for point in rates.l2_lines(16):
        counts = profile(point.kernel.compile(cp), (1,), (256,), point.arguments(cp))
        lines, sectors = point.columns["lines"], point.columns["sectors"]
        stored = 2 * 8  # a line each warp
        assert counts["course__l2_pairs_global.sum"] == counts[asked] * lines * -(-sectors // 2) + stored
        assert counts[LOADED] == counts[asked] * lines * sectors


def test_copies_in_flight_differ_in_their_rounds_alone():
    for point in rates.in_flight(1 << 13):
        out, given = run(point)
        np.testing.assert_array_equal(out, given)
        counts, loads = counts_of(point), point.columns["loads"]
        rounds = loads if point.columns["order"] == "series" else 1
        assert counts["course__load_rounds.sum"] == rounds * (1 << 13) / 32 / loads


def test_the_working_set_is_read_pass_after_pass():
    point = rates.working_set(2 << 20)[0]
    assert point.columns == {"megabytes": 1, "passes": 2}
    out, given, _, _ = run(point)
    assert out.sum() == pytest.approx(2 * given.sum(dtype=float), rel=1e-4)


@pytest.mark.parametrize("name", [s.name for s in all_sweeps() if s.small])
def test_scaled_counts_are_those_of_the_larger_launch(name):
    """Twice the small size, counted, against the small size, scaled: the last launch of every sweep."""
    chosen = sweep(name)
    small, large = chosen.points(chosen.small)[-1], chosen.points(2 * chosen.small)[-1]
    grown = scaled(counts_of(small), *(2.0**power for power in chosen.growth))
    direct = counts_of(large)
    assert grown["launch__grid_size"] == direct["launch__grid_size"]
    assert modelled_time(grown).seconds == pytest.approx(modelled_time(direct).seconds, rel=0.1)


def counts_of(point: Point):
    return profile(point.compiled(cp), point.grid, point.block, point.arguments(cp), point.shared)


def test_modelled_sweeps_order_the_variants_of_both_chapters():
    mapping = {(p.columns["mapping"], p.columns["size"]): m.ms for p, m in modelled("coalescing_matmul")}
    assert mapping["naive", 2048] > 3 * mapping["coalesced", 2048]
    ways = {p.columns["variant"]: m.ms for p, m in modelled("bank_transpose")}
    assert ways["padded"] == pytest.approx(ways["swizzled"], rel=0.01)
    assert ways["tiled"] > 1.5 * ways["padded"]
    assert ways["naive"] > 1.5 * ways["padded"]


def modelled(name: str) -> list:
    chosen = sweep(name)
    return list(zip(chosen.points(chosen.size), modelled_sweep(name), strict=True))


def test_an_unknown_sweep_lists_the_known_ones():
    with pytest.raises(KeyError, match="bank_offset"):
        sweep("nothing")


def test_a_library_call_is_a_row_after_the_points_and_left_out_where_it_is_missing():
    assert time_point(None, Call({"variant": "library"}, lambda cp: None), None, 1) is None
    assert sweep("coalescing_offset").calls(1) == []


def test_what_is_described_knows_nothing_of_the_list():
    """A fresh interpreter imports every description, and has not loaded the list."""
    modules = sorted({found.points.__module__ for found in all_sweeps()})
    code = f"import {', '.join(modules)}, sys; print('course_lib.sweeps' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (len(modules) > 10, done.stdout.split()) == (True, ["False"])
