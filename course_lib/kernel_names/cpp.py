"""C++ names: demangled where they are mangled, then cut at namespaces and template arguments.

What the template arguments of PyTorch's and FlashAttention's kernels stand for is in their open sources:
`aten/src/ATen/native/cuda` of pytorch/pytorch and `csrc/flash_attn/src` of Dao-AILab/flash-attention.
"""

import ctypes
import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from .parts import Part, unknown

_LIBRARIES = ("libstdc++.so.6", "libc++.1.dylib", "libc++abi.dylib")
# namespaces and the function, up to its template arguments or its parameters
_HEAD = re.compile(r"(?:\(anonymous namespace\)|<unnamed>|::|[^<(:])+")
Nested = Callable[[str], "list[Part] | None"]  # explains a template argument that is a name of its own

NAMESPACES = {
    "at": "PyTorch's tensor library", "native": "", "c10": "PyTorch's core", "cutlass": "NVIDIA's CUTLASS",
    "pytorch_flash": "FlashAttention 2, as PyTorch carries it", "flash": "FlashAttention",
    "cub": "NVIDIA's CUB: sorts, scans, reductions", "thrust": "NVIDIA's Thrust", "cublasLt": "cuBLAS",
    "cublas": "cuBLAS", "cudnn": "cuDNN", "vllm": "vLLM", "sglang": "SGLang", "tensorflow": "TensorFlow",
    "gemvx": "cuBLAS: matrix times vector", "magma": "MAGMA", "cuda": "", "detail": "", "gemm": "", "kernel": "",
}  # fmt: skip

# kernel -> (what it does, what its first template arguments mean)
KERNELS: dict[str, tuple[str, Sequence[str]]] = {
    "vectorized_elementwise_kernel": (
        "pointwise operation, wide loads and stores", ("elements in one load or store", "operation")),
    "unrolled_elementwise_kernel": ("pointwise operation, several elements a thread, no wide loads", ("operation",)),
    "elementwise_kernel": (
        "pointwise operation on arrays with any strides", ("threads a block", "elements a thread", "operation")),
    "elementwise_kernel_with_index": ("fills an array from its indices", ("index type", "operation")),
    "index_elementwise_kernel": ("gather or scatter by index arrays", ("threads a block", "elements a thread")),
    "reduce_kernel": (
        "reduction (sum, max, ...)", ("most threads a block", "results a thread makes at once", "operation")),
    "cunn_SoftMaxForward": (
        "softmax of long rows, a block a row",
        ("elements in one load", "input type", "accumulator type", "output type", "epilogue")),
    "cunn_SoftMaxForwardSmem": (
        "softmax of long rows, a block a row, kept in shared memory",
        ("elements in one load", "input type", "accumulator type", "output type", "epilogue")),
    "cunn_SoftMaxForwardGmem": (
        "softmax of long rows, a block a row, read again from global memory",
        ("elements in one load", "input type", "accumulator type", "output type", "epilogue")),
    "cunn_SoftMaxBackward": ("gradient of softmax, a block a row", ("elements in one load",)),
    "softmax_warp_forward": (
        "softmax of short rows, a warp a row",
        ("input type", "output type", "accumulator type", "log2 of the row's length", "log-softmax?", "masked?")),
    "softmax_warp_backward": (
        "gradient of softmax of short rows",
        ("input type", "output type", "accumulator type", "log2 of the row's length", "log-softmax?", "masked?")),
    "vectorized_layer_norm_kernel": ("LayerNorm, a block a row, wide loads", ("type", "accumulator type")),
    "batch_norm_transform_input_kernel": ("batch norm with known mean and variance", ("input type",)),
    "CatArrayBatchedCopy": ("concatenation", ()),
    "CatArrayBatchedCopy_vectorized": ("concatenation, wide loads", ()),
    "CatArrayBatchedCopy_aligned16_contig": ("concatenation, 16-byte loads", ()),
    "indexSelectSmallIndex": ("rows by a short list of indices", ("type",)),
    "indexSelectLargeIndex": ("rows by a long list of indices", ("type",)),
    "distribution_elementwise_grid_stride_kernel": ("random numbers", ("type", "numbers drawn at a time")),
    "multi_tensor_apply_kernel": ("one operation on a list of arrays (optimizers)", ()),
    "flash_fwd_kernel": (
        "attention, forward", ("shapes", "dropout?", "causal?", "window?", "ALiBi?", "whole tiles?", "whole heads?")),
    "flash_fwd_splitkv_kernel": ("attention, forward, keys shared out over blocks", ("shapes", "causal?", "window?")),
    "flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel": ("attention, backward", ("shapes", "dropout?", "causal?")),
    "Flash_fwd_kernel_traits": (
        "shapes", ("head size", "queries a block", "keys at a time", "warps", "Q kept in registers?")),
    "Kernel": ("a kernel of CUTLASS", ("which",)),
    "Kernel2": ("a kernel of CUTLASS", ("which",)),
    "device_kernel": ("a kernel of CUTLASS 3", ("which",)),
    "splitKreduce_kernel": ("adds up what several blocks made of one tile", ("threads along N", "threads along M")),
    "gemv2T_kernel_val": ("matrix times vector, matrix transposed", ()),
    "gemv2T_kernel": ("matrix times vector, matrix transposed", ()),
    "gemv2N_kernel": ("matrix times vector", ()),
    "gemvNSP_kernel": ("matrix times vector", ()),
    "gemmSN_NN_kernel": ("product with a narrow matrix, nothing transposed", ()),
    "gemmSN_TN_kernel": ("product with a narrow matrix, A transposed", ()),
    "gemmk1_kernel": ("product with K = 1", ()),
    "dot_kernel": ("inner product of two vectors, by blocks", ()),
    "reduce_1Block_kernel": ("adds up what the blocks of an inner product left", ()),
    "DeviceReduceKernel": ("reduction by blocks", ()),
    "DeviceReduceSingleTileKernel": ("last step of a reduction", ()),
    "DeviceScanKernel": ("running sum", ()),
    "DeviceRadixSortOnesweepKernel": ("radix sort, one digit", ()),
    "DeviceRadixSortHistogramKernel": ("radix sort, counts the digits", ()),
    "DeviceSegmentedRadixSortKernel": ("radix sort of many rows", ()),
    "FillFunctor": ("fills with one value", ("type",)),
    "CUDAFunctor_add": ("adds", ("type",)),
    "CUDAFunctorOnSelf_add": ("adds a number", ("type",)),
    "BUnaryFunctor": ("a pair operation, one side a number", ()),
    "BinaryFunctor": ("a pair operation", ()),
}  # fmt: skip


@lru_cache(maxsize=1)
def _demangler() -> Callable | None:
    """`__cxa_demangle` of the machine's C++ library, or None."""
    for name in _LIBRARIES:
        try:
            function = ctypes.CDLL(name).__cxa_demangle
        except (OSError, AttributeError):
            continue
        function.restype = ctypes.c_void_p
        function.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)]
        return function
    return None


def demangle(name: str) -> str | None:
    """The C++ name behind `_Z...` (Itanium C++ ABI), or None if it is cut off or nothing here can tell."""
    function = _demangler()
    if function is None or not name.startswith("_Z"):
        return None
    status = ctypes.c_int()
    address = function(name.encode(), None, None, ctypes.byref(status))
    # a name is short and there are few: the buffer is not given back
    return ctypes.string_at(address).decode() if address and status.value == 0 else None


def source_names(mangled: str) -> list[str]:
    """The identifiers in a mangled name, by their lengths: 12hello_kernel -> hello_kernel."""
    found, at = [], 0
    while match := re.search(r"\d+", mangled[at:]):
        start, length = at + match.end(), int(match.group())
        word = mangled[start : start + length]
        if re.fullmatch(r"[A-Za-z_]\w*", word) and length > 1:
            found.append(word)
            at = start + length
        else:
            at = start
    return found


def split_arguments(text: str) -> list[str]:
    """`4, at::F<a, b>, c` -> its parts at the commas outside brackets; a cut-off name may lack closing ones."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "<({[") - (letter in ">)}]" and text[at - 1] != "-")
        if letter == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return [part for part in [*parts, text[start:].strip()] if part]


def explain_cpp(name: str, nested: Nested) -> list[Part]:
    """Parts of a C++ kernel name such as `void at::native::reduce_kernel<512, 1, ...>(...)`."""
    found: list[Part] = []
    if name.startswith("void "):
        found.append(Part("void", "returns nothing, as every kernel does"))
        name = name[5:]
    head = _HEAD.match(name)
    qualified = head.group() if head else ""
    rest = name[len(qualified) :]
    found += _qualified(qualified)
    if rest.startswith("<"):
        inside, rest = _until_closed(rest[1:])
        found += _arguments(qualified.split("::")[-1], inside, nested)
    if rest.strip(" >()"):
        found.append(Part(rest.strip().removeprefix("(").removesuffix(")"), "types of its parameters"))
    return found


def _qualified(head: str) -> list[Part]:
    *spaces, function = head.split("::")
    found = []
    for space in spaces:
        plain = space.strip()
        if plain in ("(anonymous namespace)", "<unnamed>"):
            found.append(Part(plain, "private to its source file"))
        elif plain:
            found.append(Part(plain, NAMESPACES[plain] or "namespace") if plain in NAMESPACES else unknown(plain))
    known = KERNELS.get(function)
    return [*found, Part(function, known[0]) if known else Part(function, "name of the function", "unknown")]


def _arguments(function: str, inside: str, nested: Nested) -> list[Part]:
    found: list[Part] = []
    meanings = KERNELS.get(function, ("", ()))[1]
    for number, text in enumerate(split_arguments(inside)):
        inner = nested(text)
        if inner:
            found += inner
        elif number < len(meanings):
            found.append(Part(text, f"{meanings[number]}: {_short(text)}"))
        else:
            found.append(Part(text, f"template argument {number + 1}", "unknown"))
    return found


def _short(text: str) -> str:
    """The telling part of an argument: its last name, and of a functor what it does."""
    head = text.split("<")[0].split("::")[-1].strip()
    told = KERNELS.get(head, ("",))[0]
    return f"{head} ({told})" if told else head or text


def _until_closed(rest: str) -> tuple[str, str]:
    """The text up to the > that closes a < before it, and what follows; all of it if cut off."""
    depth = 1
    for at, letter in enumerate(rest):
        depth += (letter in "<") - (letter == ">" and rest[at - 1] != "-")
        if depth == 0:
            return rest[:at], rest[at + 1 :]
    return rest, ""
