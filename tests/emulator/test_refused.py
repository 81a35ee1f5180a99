"""What is not emulated is said at load, with the instruction and the CUDA source line; never zeros."""

import pytest

from course_lib.emulator import RawKernel
from course_lib.emulator.codegen import load
from course_lib.emulator.errors import UnsupportedError

from .cuda import ptx_entry


@pytest.mark.parametrize(
    ("form", "what"),
    [("tex.1d.v4.f32.s32 {f, f, f, f}, [%0, {%1}];", "tex.1d"),
     ("suld.b.1d.b32.trap {r}, [%0, {%1}];", "suld"),
     ("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%1], %1, [%1];", "st.async"),
     ("ld.shared::cluster.u32 r, [%1];", "cluster"),
     ("multimem.ld_reduce.global.add.u32 r, [%0];", "multimem"),
     ("alloca.u64 d, 16;", "alloca"), ("brkpt;", "brkpt"), ("ld.global.b128 q, [%0];", "b128")],
)  # fmt: skip
def test_what_is_not_emulated_is_said_at_load(form: str, what: str) -> None:
    """With the instruction and the CUDA source line; never zeros. Not all of this is what ptxas accepts."""
    body = "mov.u64 %rd1, %rd0; mov.u32 %r1, 0; " + form.replace("%0", "%rd1").replace("%1", "%r1") + " ret;"
    text = ptx_entry("\n.loc 1 7 3\n.reg .f32 f; .reg .u32 r; .reg .u64 d; .reg .b128 q;" + body)
    with pytest.raises(UnsupportedError, match=rf"k, line 7: .*{what}"):
        load(text, "k")


def test_textures_are_refused_at_load() -> None:
    source = """
      extern "C" __global__ void k(float *out, cudaTextureObject_t t) {
        out[threadIdx.x] =
          tex1Dfetch<float>(t, threadIdx.x); }"""
    with pytest.raises(UnsupportedError, match=r"k, line [34]: .*tex\.1d"):
        _ = RawKernel(source, "k").program
