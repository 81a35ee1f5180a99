"""cp.async from CUDA source: zero fill, groups, pipelines right and wrong, and what copies cost."""

import numpy as np
import pytest

from course_lib.emulator import RawKernel
from course_lib.emulator.errors import MemoryAccessError
from course_lib.profile import profile

from . import tensor_cases as cases
from .async_sources import COPIES, MATMUL, pipeline

NOT_WAITED = "asynchronous copy not waited for"


# -- one copy -------------------------------------------------------------------------


@pytest.mark.parametrize(("cache", "size"), [("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16)])
def test_zeros_behind_the_source_size(cache, size):
    data, out, amounts = cases.copy_arguments(size)
    RawKernel(COPIES, f"copy_{cache}_{size}")((1,), (64,), (data, out, amounts))
    wanted = np.where(np.arange(size) < amounts[:, None], data.reshape(64, size), 0)
    np.testing.assert_array_equal(out.reshape(64, size), wanted[::-1])


def test_ignored_sources_are_not_touched():
    values, out = np.arange(1, 41, dtype=np.float32), np.ones(64, np.float32)
    kernel = RawKernel(COPIES, "ignore")
    kernel((1,), (64,), (values, out, np.int32(40)))
    np.testing.assert_array_equal(out, np.r_[np.zeros(24), values[::-1]])
    with pytest.raises(MemoryAccessError, match=r"copy at global address .* lies outside every array"):
        kernel((1,), (64,), (values, out, np.int32(41)))


def test_source_size_zero_takes_any_address_but_one_byte_too_many_does_not():
    data, out, amounts = cases.copy_arguments(16)
    kernel = RawKernel(COPIES, "copy_cg_16")
    amounts[:] = np.where(np.arange(64) < 10, 16, 0)
    amounts[9] = 7
    kernel((1,), (64,), (data[:151].copy(), out, amounts))
    assert out[54 * 16 :][:7].tolist() == data[144:151].tolist()
    with pytest.raises(MemoryAccessError, match="copy at global address"):
        kernel((1,), (64,), (data[:150].copy(), out, amounts))


# -- groups ---------------------------------------------------------------------------

GROUPS = """
extern "C" __global__ void groups(const float* in, float* out)
{
    __shared__ __align__(16) float s[4][32];
    int t = threadIdx.x;
    for (int i = 0; i < 3; ++i)
    {
        unsigned at = __cvta_generic_to_shared(&s[i][t]);
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(at), "l"(in + i * 32 + t) : "memory");
        COMMIT
    }
    asm volatile("cp.async.WAIT;" ::: "memory");
    for (int i = 0; i < 3; ++i) out[i * 32 + t] = s[i][t];
}"""
EACH, NEVER = 'asm volatile("cp.async.commit_group;");', ""
HALF = 'if (t < 16 || i == 0) asm volatile("cp.async.commit_group;");'


@pytest.mark.parametrize(
    ("commit", "wait", "arrived"),
    [
        (EACH, "wait_group 0", [32, 32, 32]),
        (EACH, "wait_group 1", [32, 32, 0]),
        (EACH, "wait_group 2", [32, 0, 0]),
        (EACH, "wait_group 3", [0, 0, 0]),
        (NEVER, "wait_group 0", [0, 0, 0]),
        (NEVER, "wait_all", [32, 32, 32]),
        (EACH, "wait_all", [32, 32, 32]),
        (HALF, "wait_group 0", [32, 16, 16]),  # half of the lanes committed the first copy only
        (HALF, "wait_group 1", [16, 16, 0]),
    ],
)
def test_each_thread_waits_for_its_own_groups(commit, wait, arrived):
    kernel = RawKernel(GROUPS.replace("COMMIT", commit).replace("WAIT", wait), "groups")
    values, out = np.arange(96, dtype=np.float32), np.zeros(96, np.float32)
    kernel((1,), (32,), (values, out))
    same = (out == values).reshape(3, 32)
    assert same.sum(1).tolist() == arrived
    assert np.isnan(out.reshape(3, 32)[~same]).all()  # poison
    found = profile(kernel, (1,), (32,), (values, out)).hazards
    assert sum(h.occurrences for h in found if h.kind == NOT_WAITED) == 96 - sum(arrived)
    assert {h.kind for h in found} <= {NOT_WAITED}


def test_lanes_of_a_branch_copy_by_themselves():
    source = """
extern "C" __global__ void odd(const float* in, float* out)
{
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = -1;
    if (t % 2)
    {
        unsigned at = __cvta_generic_to_shared(&s[t]);
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4; cp.async.wait_all;"
                     :: "r"(at), "l"(in + t) : "memory");
    }
    out[blockIdx.x * 64 + t] = s[t];
}"""
    values, out = np.arange(64, dtype=np.float32), np.zeros(128, np.float32)
    kernel = RawKernel(source, "odd")
    kernel((2,), (64,), (values, out))
    np.testing.assert_array_equal(out, np.tile(np.where(np.arange(64) % 2, values, -1), 2))
    assert not profile(kernel, (2,), (64,), (values, out)).hazards


# -- pipelines, right and wrong --------------------------------------------------------


def running(source, blocks=4, tiles=5):
    """(whether the answer is right, kinds of findings with their lines' text)."""
    values, out, count = cases.running_arguments(blocks, tiles)
    kernel = RawKernel(source, "running")
    kernel((blocks,), (64,), (values, out, count))
    wanted = np.cumsum(values.reshape(blocks, tiles, 64)[:, :, ::-1], axis=1, dtype=np.float32)
    p = profile(kernel, (blocks,), (64,), (values, out, count))
    text = {line.line: line.text for line in p.lines}
    return np.array_equal(out, wanted.ravel()), {
        (h.kind, text[h.line].split("(")[0].split(" ")[0]) for h in p.hazards
    }


def test_the_pipeline_is_right():
    assert running(pipeline()) == (True, set())


@pytest.mark.parametrize("wait", ["", "__pipeline_wait_prior(2)"])
def test_a_missing_wait_is_told_and_never_looks_right(wait):
    right, found = running(pipeline(wait=wait))
    assert not right
    assert (NOT_WAITED, "sum") in found
    assert {kind for kind, _ in found} == {NOT_WAITED}


def test_a_missing_barrier_after_the_wait_is_a_race():
    assert running(pipeline(barrier=""))[1] == {("shared race", "sum")}


def test_a_missing_barrier_before_the_next_copy_is_a_race():
    assert running(pipeline(last=""))[1] == {("shared race", "if")}


def test_the_message_says_what_to_do():
    values, out, count = cases.running_arguments()
    found = profile(RawKernel(pipeline(wait=""), "running"), (4,), (64,), (values, out, count)).hazards
    message = next(h.message for h in found if "reads" in h.message)
    assert "thread 0 reads s + 252 bytes (shared byte 252), to which thread 63 copies" in message
    assert "__pipeline_wait_prior" in message
    assert "__syncthreads()" in message


@pytest.mark.parametrize("shape", [(64, 64, 64), (70, 72, 40), (1, 8, 8), (130, 136, 104)])
def test_a_pipelined_matrix_product(shape):
    m, n, k = shape
    a, b, c, *sizes = cases.matmul_arguments(m, n, k)
    kernel, grid = RawKernel(MATMUL, "matmul"), (-(-n // 64), -(-m // 64))
    kernel(grid, (128,), (a, b, c, *sizes))
    exact = a.astype(np.float64) @ b.astype(np.float64)
    size = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64))
    assert (np.abs(c - exact) <= size * 2.0**-21).all()
    assert not profile(kernel, grid, (128,), (a, b, c, *sizes)).hazards


def test_cooperative_groups_copy():
    source = """
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
extern "C" __global__ void together(const float* in, float* out)
{
    __shared__ __align__(16) float s[256];
    auto block = cooperative_groups::this_thread_block();
    cooperative_groups::memcpy_async(block, s, in, sizeof(s));
    cooperative_groups::wait(block);
    for (int i = threadIdx.x; i < 256; i += 64) out[i] = s[255 - i];
}"""
    values, out = np.arange(256, dtype=np.float32), np.zeros(256, np.float32)
    kernel = RawKernel(source, "together")
    kernel((1,), (64,), (values, out))
    np.testing.assert_array_equal(out, values[::-1])
    assert not profile(kernel, (1,), (64,), (values, out)).hazards


# -- counts -----------------------------------------------------------------------------


def test_a_copy_is_one_load_and_one_store():
    """64 threads, 16 bytes each: 2 requests of 16 sectors and 4 wavefronts each; no loads, no stores."""
    data, out, amounts = cases.copy_arguments(16)
    amounts[:] = 16
    p = profile(RawKernel(COPIES, "copy_cg_16"), (1,), (64,), (data, out, amounts))
    assert p["smsp__inst_executed_op_ldgsts.sum"] == 2
    assert p["sm__sass_l1tex_t_requests_pipe_lsu_mem_global_op_ldgsts_cache_bypass.sum"] == 2
    assert p["sm__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_bypass.sum"] == 32
    assert p["sm__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_access.sum"] == 0
    assert p["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum"] == 8
    assert p["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts.sum"] == 0
    assert p["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"] == 2  # the amounts
    assert p["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"] == 0
    assert p["course__unique_dram_bytes_ld"] == 64 * 16 + 64 * 4


def test_lanes_that_copy_nothing_read_no_sector():
    data, out, amounts = cases.copy_arguments(16)
    amounts[:] = np.where(np.arange(64) < 33, 16, 0)
    amounts[32] = 5
    p = profile(RawKernel(COPIES, "copy_cg_16"), (1,), (64,), (data, out, amounts))
    assert p["sm__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_bypass.sum"] == 17
    assert p["smsp__inst_executed_op_ldgsts.sum"] == 2
    assert p["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum"] == 8


def test_bank_conflicts_of_a_copy():
    source = """
extern "C" __global__ void spread(const float* in, float* out, int stride)
{
    __shared__ float s[32 * 32];
    unsigned at = __cvta_generic_to_shared(&s[threadIdx.x * stride]);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4; cp.async.wait_all;"
                 :: "r"(at), "l"(in + threadIdx.x) : "memory");
    out[threadIdx.x] = s[threadIdx.x * stride];
}"""
    kernel = RawKernel(source, "spread")
    for stride, wavefronts in ((1, 1), (2, 2), (8, 8), (31, 1), (32, 32)):
        p = profile(kernel, (1,), (32,), (np.ones(32, np.float32), np.ones(32, np.float32), np.int32(stride)))
        assert p["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum"] == wavefronts
        assert p["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts.sum"] == wavefronts - 1


def test_bytes_in_flight_while_a_tile_is_read():
    """Two buffers: a tile of 256 bytes comes while the other is read; waiting for everything leaves none."""
    values, out, count = cases.running_arguments()

    def in_flight(source):
        p = profile(RawKernel(source, "running"), (4,), (64,), (values, out, count))
        assert p["course__barriers.sum"] == 4 * 2 * 5 * 2  # blocks, warps, tiles, barriers
        return p["course__async_bytes_in_flight.max"]

    assert in_flight(pipeline()) == 256
    assert in_flight(pipeline(wait="__pipeline_wait_prior(0)")) == 0
