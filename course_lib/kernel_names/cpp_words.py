"""Words of C++ kernel names: namespaces, kernels, and what their first template arguments stand for.

Sources: `aten/src/ATen/native/cuda` of pytorch/pytorch, `csrc/flash_attn/src` of Dao-AILab/flash-attention,
CUB and Thrust in NVIDIA/cccl. cuBLAS and cuDNN are not open: what is said of theirs follows from their names.
"""

from collections.abc import Sequence

NAMESPACES = {
    "at": "PyTorch's tensor library",
    "native": "",
    "c10": "PyTorch's core",
    "cutlass": "NVIDIA's CUTLASS",
    "pytorch_flash": "FlashAttention 2, as PyTorch carries it",
    "flash": "FlashAttention",
    "cub": "NVIDIA's CUB: sorts, scans, reductions",
    "thrust": "NVIDIA's Thrust",
    "cublasLt": "cuBLAS",
    "cublas": "cuBLAS",
    "cudnn": "cuDNN",
    "vllm": "vLLM",
    "sglang": "SGLang",
    "tensorflow": "TensorFlow",
    "gemvx": "cuBLAS: matrix times vector",  # inferred
    "DSE": "cuDNN: convolution by Fourier transform",  # inferred
    "magma": "MAGMA",
    "cuda": "",
    "detail": "",
    "internal": "",
    "reduce": "",
    "scan": "",
    "merge_sort": "",
    "transform": "",
    "scan_by_key": "",
    "std": "the C++ library",
    "engines_precompiled": "",
    "gemm": "",
    "kernel": "",
}

_SHORT_ROWS = (
    "input type", "output type", "accumulator type", "log2 of the row's length", "log-softmax?", "masked?",
)  # fmt: skip

# kernel -> (what it does, what its first template arguments mean)
_OPEN: dict[str, tuple[str, Sequence[str]]] = {
    "vectorized_elementwise_kernel": (
        "pointwise operation, wide loads and stores",
        ("elements in one load or store", "operation"),
    ),
    "unrolled_elementwise_kernel": (
        "pointwise operation, several elements a thread, no wide loads",
        ("operation",),
    ),
    "elementwise_kernel": (
        "pointwise operation on arrays with any strides",
        ("threads a block", "elements a thread", "operation"),
    ),
    "elementwise_kernel_with_index": ("fills an array from its indices", ("index type", "operation")),
    "index_elementwise_kernel": (
        "gather or scatter by index arrays",
        ("threads a block", "elements a thread"),
    ),
    "reduce_kernel": (
        "reduction (sum, max, ...)",
        ("most threads a block", "results a thread makes at once", "operation"),
    ),
    "cunn_SoftMaxForward": (
        "softmax of long rows, a block a row",
        ("elements in one load", "input type", "accumulator type", "output type", "epilogue"),
    ),
    "cunn_SoftMaxForwardSmem": (
        "softmax of long rows, a block a row, kept in shared memory",
        ("elements in one load", "input type", "accumulator type", "output type", "epilogue"),
    ),
    "cunn_SoftMaxForwardGmem": (
        "softmax of long rows, a block a row, read again from global memory",
        ("elements in one load", "input type", "accumulator type", "output type", "epilogue"),
    ),
    "cunn_SoftMaxBackward": ("gradient of softmax, a block a row", ("elements in one load",)),
    "softmax_warp_forward": (
        "softmax of short rows, a warp a row",
        _SHORT_ROWS,
    ),
    "softmax_warp_backward": (
        "gradient of softmax of short rows",
        _SHORT_ROWS,
    ),
    "vectorized_layer_norm_kernel": ("LayerNorm, a block a row, wide loads", ("type", "accumulator type")),
    "batch_norm_transform_input_kernel": ("batch norm with known mean and variance", ("input type",)),
    "CatArrayBatchedCopy": ("concatenation", ()),
    "CatArrayBatchedCopy_vectorized": ("concatenation, wide loads", ()),
    "CatArrayBatchedCopy_aligned16_contig": ("concatenation, 16-byte loads", ()),
    "cunn_SoftMaxBackwardSmem": (
        "gradient of softmax, a block a row, kept in shared memory",
        ("elements in one load",),
    ),
    "triu_tril_kernel": ("upper or lower triangle", ("type",)),
    "vectorized_gather_kernel": ("rows by index, wide loads", ("bytes in one load", "index type")),
    "radixSortKVInPlace": ("sorts keys with their values, a block a row", ()),
    "bitonicSortKVInPlace": ("sorts short rows of keys with their values", ()),
    "tensor_kernel_scan_innermost_dim": ("running sum along rows", ("type", "operation")),
    "fused_dropout_kernel_vec": ("dropout, wide loads", ("type", "accumulator type")),
    "gatherTopK": ("largest elements of rows", ("type",)),
    "indexSelectSmallIndex": ("rows by a short list of indices", ("type",)),
    "indexSelectLargeIndex": ("rows by a long list of indices", ("type",)),
    "distribution_elementwise_grid_stride_kernel": ("random numbers", ("type", "numbers drawn at a time")),
    "multi_tensor_apply_kernel": ("one operation on a list of arrays (optimizers)", ()),
    "flash_fwd_kernel": (
        "attention, forward",
        (
            "shapes",
            "dropout?",
            "causal?",
            "window?",
            "ALiBi?",
            "whole tiles?",
            "whole heads?",
            "soft cap?",
            "softmax returned?",
        ),
    ),
    "flash_fwd_splitkv_kernel": (
        "attention, forward, keys shared out over blocks",
        ("shapes", "causal?", "window?"),
    ),
    "flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel": (
        "attention, backward",
        ("shapes", "dropout?", "causal?"),
    ),
    "Flash_fwd_kernel_traits": (
        "shapes of the tiles",
        (
            "head size",
            "queries a block",
            "keys at a time",
            "warps",
            "Q kept in registers?",
            "Q and K share memory?",
            "type",
        ),
    ),
    "Kernel": ("a kernel of CUTLASS", ("which",)),
    "Kernel2": ("a kernel of CUTLASS", ("which",)),
    "device_kernel": ("a kernel of CUTLASS 3", ("which",)),
    "DeviceReduceKernel": ("reduction by blocks", ()),
    "DeviceReduceSingleTileKernel": ("last step of a reduction", ()),
    "DeviceFixedSizeSegmentedReduceKernel": ("reduction of rows of one length", ()),
    "DeviceMergeSortBlockSortKernel": ("merge sort: sorts tiles", ()),
    "DeviceMergeSortPartitionKernel": ("merge sort: where the merged tiles begin", ()),
    "DeviceMergeSortMergeKernel": ("merge sort: merges tiles", ()),
    "DeviceScanInitKernel": ("running sum, prepares", ()),
    "transform_kernel": ("one operation on every element", ()),
    "kernel": ("the kernel of its namespace", ()),
    "DeviceScanKernel": ("running sum", ()),
    "DeviceRadixSortOnesweepKernel": ("radix sort, one digit", ()),
    "DeviceRadixSortHistogramKernel": ("radix sort, counts the digits", ()),
    "DeviceSegmentedRadixSortKernel": ("radix sort of many rows", ()),
    "FillFunctor": ("fills with one value", ("type",)),
    "CUDAFunctor_add": ("adds", ("type",)),
    "CUDAFunctorOnSelf_add": ("adds a number", ("type",)),
    "BUnaryFunctor": ("a pair operation, one side a number", ()),
    "BinaryFunctor": ("a pair operation", ()),
}

# kernels of cuBLAS and cuDNN: inferred from their names, launches and results
CLOSED: dict[str, tuple[str, Sequence[str]]] = {
    "splitKreduce_kernel": (
        "adds up what several blocks made of one tile",
        ("threads along N", "threads along M"),
    ),
    "gemv2T_kernel_val": ("matrix times vector, matrix transposed", ()),
    "gemv2T_kernel": ("matrix times vector, matrix transposed", ()),
    "gemv2N_kernel": ("matrix times vector", ()),
    "gemvNSP_kernel": ("matrix times vector", ()),
    "gemmSN_NN_kernel": ("product with a narrow matrix, nothing transposed", ()),
    "gemmSN_TN_kernel": ("product with a narrow matrix, A transposed", ()),
    "gemmk1_kernel": ("product with K = 1", ()),
    "implicit_convolve_sgemm": (
        "convolution as a matrix product whose A is never stored",
        ("input type", "output type"),
    ),
    "wgrad_alg0_engine": ("gradient of a convolution by its weights", ("type",)),
    "vector_fft": ("Fourier transform", ()),
    "composite_2way_fft": ("Fourier transform whose length has several factors", ()),
    "dot_kernel": ("inner product of two vectors, by blocks", ()),
    "reduce_1Block_kernel": ("adds up what the blocks of an inner product left", ()),
    "nchwToNhwcKernel": (
        "brings channels to the innermost axis",
        ("input type", "output type", "computes in"),
    ),
    "nhwcToNchwKernel": ("brings channels to the second axis", ("input type", "output type", "computes in")),
}
KERNELS = _OPEN | CLOSED

# kernels of PyTorch that stand in no namespace of its own
PYTORCH = frozenset(
    (
        "softmax_warp_forward",
        "softmax_warp_backward",
        "elementwise_kernel_with_index",
        "vectorized_elementwise_kernel",
    )
)
