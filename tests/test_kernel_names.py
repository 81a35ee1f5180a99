"""Names of library kernels: real ones, with where each was seen, and what some of them say word by word.

`data/kernel_names.csv`: a name, its family, and the public issue (repository#number) or the run it comes
from.
"""

import csv
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.kernel_names import explain
from course_lib.kernel_names.cpp import demangle, source_names, split_arguments
from course_lib.kernel_names.parts import Part, rule, scan
from course_lib.kernel_names.words import GENERATION

_TEXT = (Path(__file__).parent / "data" / "kernel_names.csv").read_text(encoding="utf-8")
ROWS = list(csv.DictReader(_TEXT.splitlines()))
CUBLAS = ("ampere_sgemm_128x64_nn", "ampere_s16816gemm_256x128_nn")
PUBLIC = [row for row in ROWS if "#" in row["seen"]]


def meanings(name: str) -> dict[str, str]:
    return {part.text: part.meaning for part in explain(name).parts}


def test_there_are_many_names_of_many_families_from_public_issues():
    assert len(PUBLIC) >= 60
    assert len({row["family"] for row in ROWS}) >= 15
    assert len({row["name"] for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"][:60])
def test_family_and_parts_of_a_real_name(row):
    """The family is right; every part stands in the name, in order, and only separators lie between parts."""
    found = explain(row["name"])
    assert found.family == row["family"]
    if found.family == "C++ (mangled)":
        return
    rest = found.plain or " ".join(row["name"].split())
    for part in found.parts:
        assert part.meaning
        between, _, rest = rest.partition(part.text)
        assert not set(between) - set("_ :<>(),[]"), (part.text, between)
    assert not set(rest) - set("_ :<>(),[]")


def test_a_gemm_of_cublas_by_hand():
    """BLAS: s is single precision, n not transposed; 128 x 64 is the tile (many issues)."""
    told = meanings("ampere_sgemm_128x64_nn")
    assert told["ampere"].startswith("made for Ampere")
    assert told["s"] == "computes in: 32-bit float"
    assert "128 x 64" in told["128x64"]
    assert explain("ampere_sgemm_128x64_nn").unknown == []


# BLAS's letters and its gemm, architectures, and what C++ itself says: the rest is inferred
TOLD = re.compile(rf"[sdczhi]|gemm|sm_?\d+a?|{GENERATION}")
CPP = re.compile(r"void|std::enable_if.*|internal|detail|cublas\w*|cudnn|engines_precompiled|kernel")


@pytest.mark.parametrize("row", [row for row in ROWS if "cu" in row["family"]], ids=lambda r: r["name"][:60])
def test_little_is_documented_of_the_names_of_closed_libraries(row):
    for part in explain(row["name"]).parts:
        if part.source == "documented" and part.meaning != "types of its parameters":
            assert TOLD.fullmatch(part.text) or CPP.fullmatch(part.text), part


def test_a_letter_is_of_blas_only_where_blas_has_the_word():
    plain, tensor = ({part.text: part.source for part in explain(name).parts} for name in CUBLAS)
    assert plain["s"] == plain["gemm"] == "documented"
    assert plain["128x64"] == plain["nn"] == "inferred"
    assert set(tensor.values()) == {"documented", "inferred"}
    assert tensor["s"] == tensor["16816"] == tensor["gemm"] == "inferred"


def test_cutlass_2_with_and_without_stages():
    """`cutlass_80_simt_sgemm_128x128_8x4_nn_align1`: tile, K step and stages (CUTLASS's rule)."""
    told = meanings("cutlass_80_simt_sgemm_128x128_8x4_nn_align1")
    assert "tile: 128 x 128" in told["128x128"]
    assert told["8x4"] == "K in steps of 8, 4 stage(s) in shared memory"
    told = meanings("void cutlass::Kernel2<cutlass_75_tensorop_f16_s1688gemm_f16_256x128_nn_align1>")
    assert "tile: 256 x 128" in told["256x128"]
    assert told["1688"].endswith("m16n8k8")
    assert "at most 1 element" in told["align1"]


def test_cutlass_3_of_the_lecture_notes():
    found = explain("cutlass3x_sm100_simt_sgemm_f32_f32_f32_f32_f32_64x64x16_1x1x1_3_nnn_align1")
    told = [part.meaning for part in found.parts]
    assert found.unknown == []
    assert "for compute capability 10.0 and up" in told
    assert [t.split(":")[0] for t in told if t.endswith(": 32-bit float")] == [
        "accumulates in", "A", "B", "accumulator", "C (added)", "D (result)",
    ]  # fmt: skip
    assert "block tile: M 64, N 64, K 16 per step" in told
    assert "3 stage(s) in shared memory" in told


def test_cutlass_3_warp_specialized():
    name = (
        "cutlass3x_sm90_tensorop_s64x128x16gemm_f16_f16_f32_void_f16_128x128x64_2x1x1_0_tnn_align8"
        "_warpspecialized_pingpong_epi_tma"
    )
    told = meanings(name)
    assert told["64x128x16"] == "instruction of a warp group: m64n128k16"
    assert told["void"] == "C (added): none"
    assert told["2x1x1"] == "clusters of 2 x 1 x 1 blocks"
    assert "take turns" in told["pingpong"]
    assert explain(name).unknown == []


def test_nvjet_is_inferred_and_bz_unknown():
    """64x16: a measured K step of 64; hss: fp16 inputs, fp32 output (a public test of cuBLASLt)."""
    found = explain("nvjet_sm90_hss_64x8_64x16_1x1_h_bz_splitK_NNT")
    told = meanings("nvjet_sm90_hss_64x8_64x16_1x1_h_bz_splitK_NNT")
    assert told["hss"] == "A and B 16-bit float; added up in 32-bit float; C 32-bit float"
    assert told["64x16"].startswith("K in steps of 64")
    assert found.unknown == ["bz"]
    assert {part.source for part in found.parts if part.text != "sm90"} == {"inferred", "unknown"}


def test_xmma_types_in_their_roles():
    told = [p.meaning for p in explain("sm80_xmma_gemm_i8f32_i8i32_f32_tn_n_tilesize64x64x64_stage4").parts]
    assert told[3:8] == [
        "A and B: 8-bit integer", "C: 32-bit float", "multiplied as: 8-bit integer",
        "added up as: 32-bit integer", "scaled as: 32-bit float",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("triton_poi_fused_add_mul_0", ["triton", "poi", "fused", "add", "mul", "0"]),
        (
            "triton_per_fused__to_copy_native_layer_norm_12",
            ["triton", "per", "fused", "to_copy", "native_layer_norm", "12"],
        ),
        ("triton_red_fused__softmax_1", ["triton", "red", "fused", "softmax", "1"]),
        ("triton_tem_fused_mm", ["triton", "tem", "fused", "mm"]),
        ("cupy_add__float32_float_float32", ["cupy", "add", "float32", "float", "float32"]),
        (
            "fmha_cutlassF_f32_aligned_64x64_rf_sm80",
            ["fmha", "cutlassF", "f32", "aligned", "64x64", "rf", "sm80"],
        ),
    ],
)
def test_parts(name, parts):
    found = explain(name)
    assert [part.text for part in found.parts] == parts
    assert found.unknown == []


def test_template_arguments_of_pytorch():
    told = [
        part.meaning
        for part in explain(
            "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, F, int> >(X)"
        ).parts
    ]
    assert "most threads a block: 512" in told
    assert "results a thread makes at once: 1" in told


@pytest.mark.skipif(demangle("_Z1kv") is None, reason="no C++ library on this machine")
def test_demangling():
    assert demangle("_Z12hello_kernelmi") == "hello_kernel(unsigned long, int)"
    assert explain("_Z12hello_kernelmi").plain == "hello_kernel(unsigned long, int)"
    assert demangle("_Z20hello_ker...") is None


def test_a_mangled_name_that_is_cut_off_still_shows_its_identifiers():
    assert source_names("_ZN7cutlass6KernelINS_4gemm6kernel11threadbl...") == [
        "cutlass",
        "Kernel",
        "gemm",
        "kernel",
    ]
    assert explain("_ZN7cutlass6KernelINS_4gemm6kernel11threadbl...").parts[1].source == "inferred"


def test_what_nobody_explained_is_called_unknown():
    assert explain("my_kernel").unknown == ["my_kernel"]
    assert explain("ampere_sgemm_128x64_wobble_nn").unknown == ["wobble"]
    assert (
        explain("void at::native::reduce_kernel<128, 4, at::native::R...").parts[-1].meaning == "cut off here"
    )


def test_the_suffix_of_a_kernel_written_in_triton():
    """Triton's `kernel_suffix`: number of the argument, c equal to 1, d divisible by 16, e by 8."""
    found = explain("_matmul_kernel_0d1d2d3de")
    assert found.family == "Triton"
    assert [part.text for part in found.parts] == ["_matmul_kernel", "0d1d2d3de"]
    assert "d a multiple of 16" in found.parts[1].meaning
    for other in ("my_kernel_0", "my_kernel_1d2d", "my_kernel_0d2d", "conv_2d"):
        assert explain(other).family == "unknown"


def test_nccl_says_what_its_name_does_not_promise():
    told = meanings("ncclDevKernel_AllReduce_Sum_f32_RING_LL")
    assert told["f32"] == "values: 32-bit float"
    assert told["Sum"] == "joins values by Sum"
    assert "NVIDIA/nccl#2196" in told["RING"]
    assert explain("ncclDevKernel_Generic_4").unknown == []


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("flash_fwd_splitkv_kernel", "FlashAttention"),
        ("gemmSN_NN_kernel", "cuBLAS"),
        ("void gemmSN_NN_kernel<float, 256, 4, 2, 8, 3, 4, false>", "cuBLAS"),
        ("cudnn_infer_ampere_scudnn_128x64_relu_xregs_large_nn_v1", "cuDNN"),
        ("void vector_fft<128u, 8u>", "cuFFT"),
        ("void implicit_convolve_sgemm<float, float, 128>(int)", "cuDNN"),
        ("void wgrad_alg0_engine<float, 512>(int)", "cuDNN"),
        ("void dot_kernel<float, 128, 0, cublasDotParams<cublasGemvTensor<float const> > >", "cuBLAS"),
        ("void dot_kernel<float, 128>", "C++"),
    ],
)
def test_names_without_a_namespace(name, family):
    assert explain(name).family == family


@given(st.text(max_size=60) | st.text(alphabet="nvjetcutlass3x_<>(),: 0123x", max_size=60))
def test_no_text_makes_it_fail(text):
    found = explain(text)
    assert all(part.text for part in found.parts)
    assert "<script" not in explain(f"<script>{text}")._repr_html_()


def test_only_text_is_a_name():
    with pytest.raises(TypeError, match="not int"):
        explain(3)


def test_split_and_scan():
    assert split_arguments("4, at::F<a, b>, (c, d)") == ["4", "at::F<a, b>", "(c, d)"]
    assert scan("aa_b", [rule("a(a)", "twice {1}")]) == [
        Part("aa", "twice a"),
        Part("b", "unknown", "unknown"),
    ]
    with pytest.raises(ValueError, match="documented"):
        Part("a", "b", "rumoured")


@pytest.mark.parametrize(
    "name", ["_Z" + "1" * 4400, "_Z\ud800", "a" * 6000, "sm8_xmma_gemm", "_Z99999999999x"]
)
def test_no_name_makes_it_fail(name):
    assert explain(name).table()._repr_html_()


@pytest.mark.parametrize(
    ("name", "part", "meaning"),
    [
        ("cutlass3x_sm90a_tensorop_s64x128x16gemm_f16_f16_f32_f16_f16_128x128x64_1x1x1_0_tnn_align8",
         "sm90a", "for compute capability 9.0 only"),
        ("triton_poi_fused_add_0d1d2", "0d1d2", "unknown"),
        ("ampere_h999999gemm_128x64_nn", "999999", "unknown"),
        ("f" * 6000, "f" * 5000 + "...", "cut off here"),
    ],
)  # fmt: skip
def test_what_is_not_known_is_not_made_up(name, part, meaning):
    assert (part, meaning) in [(one.text, one.meaning) for one in explain(name).parts]
