"""nvcuda::wmma from CUDA source: against float64, the fragments that threads see, and what the loads cost."""

import numpy as np
import pytest

from course_lib.emulator import RawKernel
from course_lib.emulator.isa.matrix_form import access_form, multiply_form
from course_lib.profile import profile

from . import tensor_cases as cases
from .tensor_sources import WMMA_FORMS, wmma_source

pytestmark = pytest.mark.filterwarnings("ignore::course_lib.emulator.errors.ArgumentWarning")  # raw bits
every_form = pytest.mark.parametrize("name", WMMA_FORMS)


def launched(name):
    """(arguments after a launch, arguments before)."""
    before = cases.wmma_arguments(name)
    after = [np.array(a) for a in before]
    RawKernel(wmma_source(name), f"wmma_{name}")((len(before[0]),), (32,), tuple(after))
    return after, before


@every_form
def test_twice_the_product_and_sum(name):
    after, before = launched(name)
    got, (exact, size) = cases.values(name, after[3]), cases.wmma_reference(name, before)
    if after[3].dtype == np.int32:
        np.testing.assert_array_equal(got, (exact + 2**31) % 2**32 - 2**31)
        return
    last = {"half": 2.0**-10, "float": 2.0**-23, "double": 2.0**-52}[WMMA_FORMS[name][4]]
    k = WMMA_FORMS[name][2]
    assert (np.abs(got - exact) <= 2 * (k + 1) * size * min(2.0**-25, last) + 2 * last * np.abs(exact)).all()


@pytest.mark.parametrize(("name", "each"), [
    ("f16_m16n16_rcr_half", (16, 16, 8)), ("f16_m32n8_rcr_half", (16, 16, 8)),
    ("f64_m8n8_rcr", (1, 1, 2)), ("s8_m16n16_rcr", (8, 8, 8)), ("s8_m32n8_rcr", (16, 4, 8)),
])  # fmt: skip
def test_every_element_is_in_some_fragment(name, each):
    """The fragments of a warp hold every element of its matrices equally often."""
    after, before = launched(name)
    for matrix, start, count in zip(before, (0, 16, 32), each, strict=False):
        held = np.sort(after[4][0, start : start + count].ravel())
        wanted = np.sort(np.tile(matrix[0], held.size // matrix[0].size))
        np.testing.assert_array_equal(held, wanted.astype(held.dtype))
        assert not after[4][0, start + count : start + 16 if start < 32 else 40].any()


def test_two_threads_of_f16_hold_what_mma_gives_them():
    """Element 2 of thread 5 of A is row 5 // 4 + 8, column 2 * (5 % 4), as in mma; 8 to 15 repeat 0 to 7."""
    after, before = launched("f16_m16n16_rcr_half")
    a = before[0][0].reshape(16, 16)
    fragment = after[4][0, :16, 5]
    assert fragment[[0, 1, 2, 3, 4, 6]].tolist() == a[[1, 1, 9, 9, 1, 9], [2, 3, 2, 3, 10, 10]].tolist()
    np.testing.assert_array_equal(fragment[:8], fragment[8:])


# -- counts: as ptxas's loads and stores for sm_90 --------------------------------------


def cost(name, block):
    """Lines, by text, of a block that uses global memory and, if `block` is 1, one that uses shared."""
    arguments = cases.wmma_arguments(name)
    p = profile(RawKernel(wmma_source(name), f"wmma_{name}"), (1 + block,), (32,), arguments)
    return {line.text: line for line in p.lines if "_sync(" in line.text}, p


def line_of(lines, start):
    """The one line that starts so."""
    (found,) = [line for text, line in lines.items() if text.startswith(start)]
    return found


@pytest.mark.parametrize(("name", "global_loads", "wavefronts", "stores"), [
    ("f16_m16n16_rcr", (4, 4, 4), (4, 4), 4),  # LDG.32 each; LDSM.x4 from shared memory; STG.64
    ("f16_m16n16_crc", (4, 4, 8), (4, 4), 8),  # transposed by MOVM; C by columns: 32-bit accesses
    ("f16_m32n8_rcr", (8, 2, 4), (8, 2), 4),
    ("s8_m16n16_rcr", (2, 2, 4), (4, 4), 4),  # rows 32 bytes apart: two-way conflicts
    ("s8_m16n16_crc", (8, 8, 8), None, 8),  # bytes one by one
])  # fmt: skip
def test_requests_of_loads_and_stores(name, global_loads, wavefronts, stores):
    lines, _ = cost(name, 0)
    for operands, requests in zip(("fa, A", "fb, B", "fc, C"), global_loads, strict=True):
        assert line_of(lines, f"wmma::load_matrix_sync({operands}").requests == requests
    assert line_of(lines, "wmma::store").requests == stores
    if wavefronts:
        lines, p = cost(name, 1)
        shared = [
            line_of(lines, f"wmma::load_matrix_sync({what}").wavefronts for what in ("fa, sa", "fb, sb")
        ]
        assert shared == list(wavefronts)
        conflicts = p["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"]
        assert conflicts == (4 if name.startswith("s8") else 0)


def test_operations_are_counted():
    _, p = cost("f16_m16n16_rcr", 0)
    assert p["course__tensor_flops.sum"] == 2 * 16**3
    assert not p.hazards


# -- opcodes --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "opcode",
    [
        "wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.u8.s32",
        "wmma.mma.sync.aligned.row.col.m8n8k32.s32.s4.s4.s32",
        "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32.satfinite",
        "wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32",
        "wmma.mma.sync.aligned.row.col.m16n16k16.f64.f64.f64.f64",
    ],
)
def test_other_forms_are_not_known(opcode):
    assert multiply_form(opcode) is None


@pytest.mark.parametrize(
    ("opcode", "registers", "stride"),
    [
        ("wmma.load.a.sync.aligned.row.m16n16k16.global.f16", 8, 16),
        ("wmma.load.b.sync.aligned.row.m32n8k16.shared::cta.bf16", 2, 8),
        ("wmma.load.c.sync.aligned.col.m32n8k16.f32", 8, 32),
        ("wmma.store.d.sync.aligned.row.m8n32k16.shared.s32", 8, 32),
        ("wmma.load.a.sync.aligned.col.m16n16k8.tf32", 4, 16),
    ],
)
def test_loads_and_stores_know_their_registers(opcode, registers, stride):
    access = access_form(opcode)
    assert (access.layout.registers, access.stride) == (registers, stride)


@pytest.mark.parametrize(
    "opcode", ["wmma.load.a.sync.aligned.row.m8n8k32.s4", "wmma.load.a.sync.aligned.row.m16n16k16.s32"]
)
def test_other_accesses_are_not_known(opcode):
    assert access_form(opcode) is None


@pytest.mark.parametrize("order", ["row", "col"])
@pytest.mark.parametrize("element", ["half", "float"])
def test_store_to_shared_memory(element, order):
    """Fragments of some warps of a block, stored with padding, read by other warps after a barrier."""
    source = f"""
#include <mma.h>
extern "C" __global__ void stored(const half* a, const half* b, {element}* c)
{{
    using namespace nvcuda::wmma;
    __shared__ __align__(32) {element} s[4][16 * 24];
    int warp = threadIdx.y;
    if (warp != 2) {{
        fragment<matrix_a, 16, 16, 16, half, row_major> x; fragment<matrix_b, 16, 16, 16, half, col_major> y;
        fragment<accumulator, 16, 16, 16, {element}> z;
        load_matrix_sync(x, a + warp * 256, 16); load_matrix_sync(y, b + warp * 256, 16);
        fill_fragment(z, 0.0f);
        mma_sync(z, x, y, z);
        store_matrix_sync(s[3 - warp], z, 24, mem_{order}_major);
    }}
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += 32)
        if (warp != 1) c[warp * 256 + i] = s[warp][i / 16 * 24 + i % 16];
}}"""
    rng = cases.seeded("stored")
    a, b = (rng.standard_normal((4, 16, 16)).astype(np.float16) for _ in range(2))
    c = np.zeros((4, 16, 16), np.float16 if element == "half" else np.float32)
    kernel = RawKernel(source, "stored")
    kernel((1,), (32, 4), (a, b, c))
    exact = (a.astype(np.float64) @ b.astype(np.float64).swapaxes(1, 2))[[3, 1, 1, 0]]
    exact = exact if order == "row" else exact.swapaxes(1, 2)
    np.testing.assert_allclose(c[[0, 2, 3]], exact[[0, 2, 3]], rtol=2**-9, atol=2e-3)
    assert not profile(kernel, (1,), (32, 4), (a, b, c)).hazards


def test_mixed_accumulators():
    """C in float, D in half: rounded once more (ptxas: HMMA in float32, then a conversion)."""
    source = """
#include <mma.h>
extern "C" __global__ void mixed(const half* a, const half* b, const float* c, half* d)
{
    using namespace nvcuda::wmma;
    fragment<matrix_a, 16, 16, 16, half, row_major> x; fragment<matrix_b, 16, 16, 16, half, col_major> y;
    fragment<accumulator, 16, 16, 16, float> z; fragment<accumulator, 16, 16, 16, half> w;
    load_matrix_sync(x, a, 16); load_matrix_sync(y, b, 16); load_matrix_sync(z, c, 16, mem_row_major);
    mma_sync(w, x, y, z);
    store_matrix_sync(d, w, 16, mem_row_major);
}"""
    rng = cases.seeded("mixed")
    a, b = (rng.standard_normal((16, 16)).astype(np.float16) for _ in range(2))
    c, d = rng.standard_normal((16, 16)).astype(np.float32), np.zeros((16, 16), np.float16)
    RawKernel(source, "mixed")((1,), (32,), (a, b, c, d))
    exact = a.astype(np.float64) @ b.astype(np.float64).T + c
    np.testing.assert_allclose(d, exact, rtol=2**-10, atol=1e-5)
