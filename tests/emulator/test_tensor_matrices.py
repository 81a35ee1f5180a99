"""ldmatrix, stmatrix and movmatrix against NumPy's transposes."""

import numpy as np
import pytest

from course_lib.emulator import RawKernel
from course_lib.emulator.errors import MemoryAccessError
from course_lib.profile import profile

from . import tensor_cases as cases
from .tensor_sources import MATRICES

ROWS = np.arange(32) * 7 % 32  # row of shared memory whose address a lane gives
each = pytest.mark.parametrize(("n", "transposed"), [(n, t) for n in (1, 2, 4) for t in (False, True)])


def as_matrices(words, transposed):
    """(…, 4) words -> 8x8 matrices of 16-bit elements, transposed or not, as words again."""
    tiles = np.ascontiguousarray(words).view(np.uint16).reshape(-1, 8, 8)
    return np.ascontiguousarray(tiles.swapaxes(1, 2) if transposed else tiles).view(np.uint32)


@each
def test_ldmatrix(n, transposed):
    data, out = cases.words(384, 32 * n)
    RawKernel(MATRICES, f"ldmatrix_{n}{'_trans' * transposed}")((1,), (32,), (data, out))
    rows = data.reshape(32, 12)[ROWS[: 8 * n], :4]
    np.testing.assert_array_equal(out, as_matrices(rows, transposed).ravel())


@each
def test_stmatrix(n, transposed):
    data, out = cases.words(32 * n, 384)
    RawKernel(MATRICES, f"stmatrix_{n}{'_trans' * transposed}")((1,), (32,), (data, out))
    wanted = np.full((32, 12), 7, np.uint32)
    wanted[ROWS[: 8 * n], :4] = as_matrices(data, transposed).reshape(-1, 4)
    np.testing.assert_array_equal(out.reshape(32, 12), wanted)


def test_movmatrix():
    data, out = cases.words(32, 32)
    RawKernel(MATRICES, "movmatrix")((1,), (32,), (data, out))
    np.testing.assert_array_equal(out, as_matrices(data, True).ravel())


SWEEP = """
extern "C" __global__ void sweep(unsigned* out, int stride, int shift)
{
    __shared__ __align__(16) unsigned char s[32 * 256 + 16];
    int lane = threadIdx.x;
    for (int i = lane; i < 32 * 256; i += 32) s[i] = i;
    __syncwarp();
    unsigned r[4];
    unsigned at = __cvta_generic_to_shared(s) + lane * stride + shift;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at) : "memory");
    out[lane] = r[0] + r[1] + r[2] + r[3];
}"""


@pytest.mark.parametrize(
    ("stride", "wavefronts"), [(16, 4), (32, 8), (64, 16), (128, 32), (144, 4), (80, 4), (256, 32)]
)
def test_wavefronts_of_eight_rows_at_a_time(stride, wavefronts):
    """8 rows of 16 bytes fill the 32 banks once if their starts differ modulo 128."""
    kernel = RawKernel(SWEEP, "sweep")
    p = profile(kernel, (1,), (32,), (np.zeros(32, np.uint32), np.int32(stride), np.int32(0)))
    assert p["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"] == wavefronts
    assert p["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"] == wavefronts - 4
    assert not p.hazards


def test_rows_must_be_aligned_to_16_bytes():
    with pytest.raises(MemoryAccessError, match=r"sweep, line 11: load at shared .* multiple of 16"):
        RawKernel(SWEEP, "sweep")((1,), (32,), (np.zeros(32, np.uint32), np.int32(16), np.int32(8)))


def test_rows_of_other_warps_need_a_barrier():
    source = """
extern "C" __global__ void shared_rows(unsigned* out)
{
    __shared__ __align__(16) unsigned s[64 * 4];
    for (int i = 0; i < 4; ++i) s[threadIdx.x * 4 + i] = threadIdx.x;
    BARRIER;
    unsigned r, at = __cvta_generic_to_shared(s + (63 - threadIdx.x) * 4);
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r) : "r"(at) : "memory");
    out[threadIdx.x] = r;
}"""
    for barrier, kinds in (("__syncthreads()", []), ("__syncwarp()", ["shared race"])):
        kernel = RawKernel(source.replace("BARRIER", barrier), "shared_rows")
        out = np.zeros(64, np.uint32)
        assert [h.kind for h in profile(kernel, (1,), (64,), (out,)).hazards] == kinds
        kernel((1,), (64,), (out,))
        np.testing.assert_array_equal(
            out, np.r_[np.repeat(np.arange(63, 55, -1), 4), np.repeat(np.arange(31, 23, -1), 4)]
        )
