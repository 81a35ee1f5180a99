"""What of the matrix and copy families is not emulated: refused at load, with instruction and CUDA line."""

import re

import pytest

from course_lib.emulator import RawKernel
from course_lib.emulator.codegen import load
from course_lib.emulator.errors import UnsupportedError

SHARED = """
extern "C" __global__ void k(const void* a, unsigned* c)
{
    __shared__ __align__(128) unsigned s[256]; __shared__ unsigned long long b;
    unsigned d = __cvta_generic_to_shared(s), m = __cvta_generic_to_shared(&b);
    BODY
    c[0] = s[0];
}"""
BULK = "shared::cluster.global.mbarrier::complete_tx::bytes [%0],"
BODIES = {  # asm text, operands
    "cp.async.bulk.shared::cluster": (f"cp.async.bulk.{BULK} [%1], 1024, [%2]", '"r"(d), "l"(a), "r"(m)'),
    "cp.async.bulk.tensor.2d": (
        f"cp.async.bulk.tensor.2d.{BULK} [%1, {{%3, %4}}], [%2]", '"r"(d), "l"(a), "r"(m), "r"(0), "r"(1)'
    ),
    "mbarrier.arrive.expect_tx": ("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 32", '"r"(m)'),
    "mbarrier.expect_tx": ("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 32", '"r"(m)'),
    "st.async": (
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2]",
        '"r"(d), "r"(c[0]), "r"(m)',
    ),
    "mapa": ("{.reg .b32 x; mapa.shared::cluster.u32 x, %0, 0;}", '"r"(d)'),
    "barrier.cluster": ("barrier.cluster.arrive", ""),
    "mma.sp": (
        "{.reg .b32 x; mma.sp.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {x, x}, "
        "{%0, %0}, {%0, %0}, {%0, %0}, %0, 0;}",
        '"r"(d)',
    ),
    "mma.sync.aligned.m16n8k64": (
        "{.reg .b32 x; mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 {x, x, x, x}, {%0, %0, %0, %0}, "
        "{%0, %0}, {%0, %0, %0, %0};}",
        '"r"(d)',
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_refused_with_instruction_and_line(name):
    text, operands = BODIES[name]
    body = f'asm volatile("{text}{"" if text.endswith("}") else ";"}" :: {operands});'
    with pytest.raises(UnsupportedError, match=rf"^k, line 6: .*{re.escape(name)}.* not emulated") as refused:
        _ = RawKernel(SHARED.replace("BODY", body), "k").program
    assert "PTX instruction" in str(refused.value)


def test_cluster_dimensions():
    source = 'extern "C" __global__ void __cluster_dims__(2, 1, 1) k(int* c)\n{\n    c[0] = 1;\n}'
    with pytest.raises(
        UnsupportedError, match=r"^k, line \d: .reqnctapercluster 2, 1, 1 \(thread block clusters\)"
    ):
        _ = RawKernel(source, "k").program


@pytest.mark.parametrize(
    "text",
    [
        "wgmma.fence.sync.aligned;",
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f1, %f1, %f1}, %rd1, %rd1, 1, 1, 1, 0, 0;",
        "wgmma.commit_group.sync.aligned;",
        "setmaxnreg.inc.sync.aligned.u32 232;",
        "tensormap.replace.tile.global_address.global.b1024.b64 [%rd1], %rd1;",
        "multimem.red.relaxed.sys.global.add.u32 [%rd1], %r1;",
        "tcgen05.wait::ld.sync.aligned;",
        "getctarank.u64 %r1, %rd1;",
        "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1, %r1}, [%r1];",
        "wmma.load.a.sync.aligned.row.m8n8k32.global.s4 {%r1}, [%rd1], %r1;",
    ],
)
def test_instructions_that_sm_90_cannot_assemble(text):
    """ptxas refuses these for sm_90 (CompileError); PTX that was made elsewhere is refused at load."""
    ptx = f"""
.version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 k_param_0)
{{
    .reg .b32 %r<2>;
    .reg .f32 %f<2>;
    .reg .b64 %rd<2>;
    .loc 1 7 0
    {text}
    ret;
}}
.file 1 "kernel.cu"
"""
    with pytest.raises(UnsupportedError, match=rf"^k, line 7: .*{re.escape(text.split(' ')[0].rstrip(';'))}"):
        load(ptx, "k")
