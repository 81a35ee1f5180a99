"""Names of matrix products and convolutions: cuBLAS, cuDNN and TensorRT, CUTLASS 2 and 3, nvjet.

Sources. CUTLASS: `python/cutlass_library/gemm_operation.py` and `library.py` of NVIDIA/cutlass, which make
the names. cuBLAS and cuDNN: no documentation; NVIDIA calls the rules of the xmma names confidential
(NVIDIA/TensorRT-LLM#1541), so what is said of them is inferred from many names.
"""

import re
from collections.abc import Iterable

from .parts import Part, Rule, guessed, rule, scan
from .words import (
    ACTIVATION,
    ALIGN,
    ARCHITECTURE,
    GENERATION,
    GENERATION_RULE,
    GUESSED_ACTIVATION,
    LETTERS,
    TYPE,
    TYPES,
    VERSION,
    instruction_part,
    layout_parts,
    type_part,
)

# BLAS counts by columns. Libraries that store by rows ask it for the transposed product: C^T = B^T A^T.
LAYOUT = rule(r"([nt]{2})", layout_parts)
GUESSED_LAYOUT = rule(r"([nt]{2})", lambda match: layout_parts(match, source="inferred"))
LAYOUT3 = rule(r"([nt]{3})", layout_parts)
TENSOR_LAYOUTS = guessed(
    r"(nhwc2nchw|nchw2nhwc|nhwckrsc|nc32hw32|ndhwc|nhwc|nchw)", "order of the tensor's axes: {1}"
)
PLAIN_TILE = guessed(r"(\d+)x(\d+)", "a block makes a tile of {1} x {2} elements of C")


# -- cuBLAS and cuDNN by generation: ampere_sgemm_128x64_nn -----------------------------


def _core(match: re.Match) -> Iterable[Part]:
    """`sgemm`, `h884gemm`, `s16816gemm`, `s1688cudnn`: accumulator, tensor-core instruction, what it does."""
    letter, digits, what = match[1], match[2] or "", match[3]
    blas = "inferred" if digits or what == "cudnn" else "documented"  # BLAS has sgemm, but no s884gemm
    role = "accumulates in" if digits else "computes in"
    yield Part(letter, f"{role}: {LETTERS[letter]}", blas)
    if digits:
        yield instruction_part(digits, "inferred")
    yield Part(what, "convolution of cuDNN" if what == "cudnn" else "matrix product C = A B", blas)


BY_GENERATION: list[Rule] = [
    guessed(r"trt", "built for TensorRT"),
    guessed(r"cudnn_infer", "from the part of cuDNN for inference"),
    GENERATION_RULE,
    rule(r"g?([cz])gemm", lambda m: [Part(m.group(), f"matrix product of {LETTERS[m[1]]}", "inferred")]),
    rule(r"([sdczhi])(\d+)?(gemm|cudnn)", _core),
    guessed(r"scudnn", "convolution of cuDNN in 32-bit float"),
    guessed(r"hcudnn", "convolution of cuDNN in 16-bit float"),
    guessed(r"winograd", "by Winograd's algorithm"),
    rule(f"({TYPE})", lambda m: [type_part(m[1], "data type", "inferred")]),
    guessed(r"sliced(\d+)x(\d+)", "the block's warps share the K of a tile, {2} slices"),
    guessed(r"ldg(\d+)", "global loads of {1} elements"),
    guessed(r"stages_(\d+)x(\d+)", "{2} stages in shared memory, each {1} deep in K"),
    guessed(r"splitK", "several blocks share the K of a tile"),
    guessed(r"tile(\w+?)(?=_)", "tile {1} of Winograd's algorithm"),
    GUESSED_ACTIVATION,
    TENSOR_LAYOUTS,
    PLAIN_TILE,
    GUESSED_LAYOUT,
    VERSION,
    guessed(r"kernel", "a kernel"),
]
GENERATION_NAME = re.compile(rf"(trt_|cudnn_infer_)?({GENERATION})_\w*(gemm|cudnn)")


# -- cuBLAS, cuDNN, TensorRT: sm80_xmma_gemm_f16f16_f16f32_f32_... -----------------------


def _xmma_types(match: re.Match) -> Iterable[Part]:
    """`f16f16_f16f32_f32`, `i8f32_i8i32_f32`, `e4m3bf16_e4m3f32_f32`."""
    for text, role in zip(
        match.groups(), ("A and B", "C", "multiplied as", "added up as", "scaled as"), strict=True
    ):
        yield type_part(text, role, "inferred")


def _xmma_tile(match: re.Match) -> Iterable[Part]:
    yield Part(match.group(), f"block tile: M {match[1]}, N {match[2]}, K {match[3]} per step", "inferred")


XMMA: list[Rule] = [
    ARCHITECTURE,
    guessed(r"xmma", "NVIDIA's generator of tensor-core kernels"),
    guessed(r"gemm", "matrix product"),
    guessed(r"fprop", "forward convolution"),
    guessed(r"dgrad", "gradient of a convolution by its input"),
    guessed(r"wgrad", "gradient of a convolution by its weights"),
    guessed(r"implicit_gemm", "as a matrix product whose A is never stored"),
    guessed(
        r"(indexed|interleaved|wo_smem|nhwckrsc_nhwc|nhwckrsc_nchw)",
        "{1}: a variant of the convolution's layout",
    ),
    rule(rf"({TYPE})({TYPE})_({TYPE})({TYPE})_({TYPE})", _xmma_types),
    rule(r"([nt]{2})(?=_[nt]_)", lambda match: layout_parts(match, source="inferred")),
    guessed(r"([nt])(?=_tile)", "C stored by columns (n) or rows (t): {1}"),
    rule(r"tilesize(\d+)x(\d+)x(\d+)", _xmma_tile),
    guessed(r"cgasize(\d+)x(\d+)x(\d+)", "clusters of {1} x {2} x {3} blocks"),
    guessed(r"stage(\d+)", "{1} stage(s) in shared memory"),
    guessed(r"warpsize(\d+)x(\d+)x(\d+)", "the block's warps: {1} along M, {2} along N, {3} along K"),
    guessed(r"warpgroupsize(\d+)x(\d+)x(\d+)", "the block's warp groups of 128 threads: {1} x {2} x {3}"),
    guessed(r"g(\d+)", "{1} group(s) of the convolution"),
    guessed(r"tensor(\d+)x(\d+)x(\d+)", "tensor-core instruction m{1}n{2}k{3}"),
    guessed(r"ffma", "no tensor cores: FP32 multiply-adds"),
    guessed(r"align([abc])(\d+)", "{1} is read in pieces of {2} elements"),
    guessed(r"t(\d+)r(\d+)s(\d+)", "made for a filter of {2} x {3}"),
    guessed(r"execute_segment_k_off_kernel", "a block does the whole of K"),
    guessed(r"execute_segment_k_on_kernel", "several blocks share the K of a tile"),
    guessed(r"execute(_split_k)?_kernel", "a kernel"),
    guessed(r"(trt|cublas|cudnn)", "built for {1}"),
    guessed(r"(\d+)x", "unknown multiplier {1}"),
    guessed(r"kernel", "a kernel"),
    TENSOR_LAYOUTS,
    GUESSED_ACTIVATION,
]
XMMA_NAME = re.compile(r"(sm\d+_)?xmma_")


# -- cuBLAS since Hopper: nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_NNT ------------------------

NVJET_LETTERS = {
    "h": "16-bit float",
    "s": "32-bit float",
    "t": "bfloat16",
    "d": "64-bit float",
    "q": "8-bit float",
}


def _nvjet_types(match: re.Match) -> Iterable[Part]:
    """Three letters or more: A and B, accumulator, C."""
    told = "; ".join(
        f"{role} {NVJET_LETTERS.get(letter, '?')}"
        for role, letter in zip(
            ("A and B", "added up in", "C"), (match[1][0], match[1][-2], match[1][-1]), strict=True
        )
    )
    yield Part(match[1], told, "inferred")


NVJET: list[Rule] = [
    guessed(r"nvjet", "NVIDIA's generator of matrix products, since Hopper"),
    ARCHITECTURE,
    rule(r"([hstdqo]{3,5})(?=_)", _nvjet_types),
    guessed(r"(\d+)x(\d+)(?=_\d+x\d+_\d+x\d+)", "block tile: {1} x {2} elements of C"),
    guessed(r"(\d+)x(\d+)(?=_\d+x\d+)", "K in steps of {1}, {2} stages in shared memory"),
    guessed(r"(\d+)x(\d+)", "clusters of {1} x {2} blocks"),
    guessed(r"(2cta)", "two blocks share a tensor-core instruction"),
    guessed(r"([hv])", "order in which tiles are worked through: horizontal or vertical"),
    guessed(r"(splitK)", "several blocks share the K of a tile; another kernel adds up"),
    guessed(r"(coop[AB])", "two warp groups work on one tile together"),
    guessed(r"([NT])([NT])([NT])", "A, B and C: N by columns, T by rows"),
    GUESSED_ACTIVATION,
]


# -- CUTLASS 2: cutlass_80_tensorop_f16_s16816gemm_relu_f16_64x64_32x6_nn_align8 -----------

_OPERATION = {
    "gemm": "matrix product",
    "fprop": "forward convolution",
    "dgrad": "gradient of a convolution by its input",
    "wgrad": "gradient of a convolution by its weights",
    "fprop3d": "forward 3-D convolution",
    "dgrad3d": "gradient of a 3-D convolution by its input",
    "wgrad3d": "gradient of a 3-D convolution by its weights",
}
_OPERATIONS = "|".join(sorted(_OPERATION, key=len, reverse=True))


def _cutlass_core(match: re.Match) -> Iterable[Part]:
    letter, digits, between, what = match.groups()
    yield Part(letter, f"accumulates in: {LETTERS[letter]}")
    if digits:
        yield instruction_part(digits)
    if between:
        yield (
            type_part(between, "inputs are rounded to")
            if between in TYPES
            else Part(between, "unknown", "unknown")
        )
    yield Part(what, _OPERATION[what])


def _tile_and_stages(match: re.Match) -> Iterable[Part]:
    m, n, k, stages = match.groups()
    yield Part(f"{m}x{n}", f"block tile: {m} x {n} elements of C")
    yield Part(f"{k}x{stages}", f"K in steps of {k}, {stages} stage(s) in shared memory")


CUTLASS2: list[Rule] = [
    rule(r"cutlass", "NVIDIA's open library CUTLASS, version 2 style"),
    rule(r"(\d\d)(?=_)", lambda m: [Part(m[1], f"for compute capability {m[1][0]}.{m[1][1]} and up")]),
    rule(r"simt", "FP32 (or FP64, integer) units, no tensor cores"),
    rule(r"tensorop", "tensor cores, through mma.sync"),
    rule(r"wmma_tensorop", "tensor cores, through wmma"),
    rule(rf"([sdczhi])(\d+)?({TYPE}|fastaccum|xor|and)?({_OPERATIONS})", _cutlass_core),
    rule(rf"({TYPE})(?=_[sdczhi]\d*\w*?({_OPERATIONS}))", lambda m: [type_part(m[1], "C and D")]),
    rule(rf"({TYPE})", lambda m: [type_part(m[1], "A and B")]),
    rule(r"(optimized|analytic|few_channels|fixed_channels)", "how the convolution finds its inputs: {1}"),
    rule(r"(\d+)x(\d+)_(\d+)x(\d+)", _tile_and_stages),
    rule(r"(\d+)x(\d+)", "block tile: {1} x {2} elements of C"),
    ACTIVATION,
    LAYOUT,
    TENSOR_LAYOUTS,
    ALIGN,
]


# -- CUTLASS 3: cutlass3x_sm90_tensorop_s64x128x16gemm_f16_f16_f32_void_f16_... -----------


def _cutlass3_core(match: re.Match) -> Iterable[Part]:
    letter, m, n, k, what = match.groups()
    if letter:
        yield Part(letter, f"accumulates in: {LETTERS[letter]}")
    if m:
        yield Part(f"{m}x{n}x{k}", f"instruction of a warp group: m{m}n{n}k{k}")
    yield Part(what, "matrix product")


def _five_types(match: re.Match) -> Iterable[Part]:
    for text, role in zip(match.groups(), ("A", "B", "accumulator", "C (added)", "D (result)"), strict=True):
        yield type_part(text, role)


CUTLASS3: list[Rule] = [
    rule(r"cutlass3x", "NVIDIA's open library CUTLASS, version 3 style"),
    ARCHITECTURE,
    rule(r"simt", "FP32 (or FP64, integer) units, no tensor cores"),
    rule(r"tensorop", "tensor cores: wgmma on CC 9.0, tcgen05 on 10.0"),
    rule(r"sptensorop", "tensor cores, sparse"),
    rule(r"bstensorop", "tensor cores, with block scales"),
    rule(r"([sdczhi])?(?:(\d+)x(\d+)x(\d+))?(gemm)", _cutlass3_core),
    rule(rf"({TYPE})_({TYPE})_({TYPE})_({TYPE})_({TYPE})", _five_types),
    rule(r"(\d+)x(\d+)x(\d+)(?=_\d+x\d+x\d+)", "block tile: M {1}, N {2}, K {3} per step"),
    rule(r"(\d+)x(\d+)x(\d+)", "clusters of {1} x {2} x {3} blocks"),
    rule(r"0(?=_)", "as many stages as fit in shared memory"),
    rule(r"(\d+)(?=_)", "{1} stage(s) in shared memory"),
    LAYOUT3,
    ALIGN,
    rule(r"warpspecialized", "some warps only load, others only compute"),
    rule(r"pingpong", "two consumer warp groups take turns, each with a tile of its own"),
    rule(r"cooperative", "two consumer warp groups share a tile"),
    rule(r"(fp8_fastaccum)", "8-bit floats, added up without extra care"),
    rule(r"epi_tma", "results leave through shared memory and TMA"),
    rule(r"epi_nosmem", "results leave from registers, without shared memory"),
    rule(r"cpasync", "loads by cp.async"),
    rule(r"(stream_k)", "tiles are shared out evenly over the SMs, along K too"),
    rule(r"(1sm|2sm)", "{1}: SMs that work on one instruction together"),
    rule(r"bias_(f32|f16|bf16)", "the epilogue adds a bias of type {1}"),
    ACTIVATION,
]


def explain_gemm(name: str) -> tuple[str, list[Part]] | None:
    """(family, parts), or None if the name is of none of these families."""
    if name.startswith("cutlass3x"):
        return "CUTLASS 3", scan(name, CUTLASS3)
    if name.startswith("cutlass_"):
        return "CUTLASS 2", scan(name, CUTLASS2)
    if name.startswith("nvjet"):
        return "cuBLAS (nvjet)", scan(name, NVJET)
    if XMMA_NAME.match(name):
        return ("cuBLAS (xmma)" if "_gemm_" in name and "implicit" not in name else "cuDNN (xmma)"), scan(
            name, XMMA
        )
    if GENERATION_NAME.match(name):
        return ("cuDNN" if "cudnn" in name else "cuBLAS"), scan(name, BY_GENERATION)
    return None
