"""The map of the course: what each chapter asks, which bottleneck it cures, and the counter that tells.

One list serves the map in chapter 00 and the table in the README.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ..metric_names import (
    BLOCKS,
    DISTINCT_LD,
    DISTINCT_ST,
    LANES,
    LD_SECTORS,
    LD_WAVEFRONTS,
    REGISTERS,
    ROUNDS,
    TENSOR,
    WAVEFRONTS,
)


@dataclass(frozen=True)
class Chapter:
    """One chapter. `metric`: the counter's name in a `Profile`, "" where no single counter shows it.

    `question` completes "the question:"; `symptom` is what one sees first; `bottleneck` what the kernel then
    waits for; `counter` what to read, in plain words; `cure` what the chapter does about it.
    """

    number: int
    topic: str
    title: str
    question: str
    symptom: str
    bottleneck: str
    counter: str
    metric: str
    cure: str

    @property
    def name(self) -> str:
        """Number and topic, such as "01_coalescing"."""
        return f"{self.number:02d}_{self.topic}"

    @property
    def notebook(self) -> str:
        """The file in `notebooks/` and in `notebooks/solutions/`."""
        return f"{self.name}.ipynb"

    def link(self, folder: str = "") -> str:
        """A Markdown link to the notebook in `folder` ("" is the folder of the notebooks)."""
        return f"[{self.name}]({folder}{self.notebook})"


CHAPTERS: Sequence[Chapter] = (
    Chapter(
        0,
        "start_here",
        "Start here",
        "what your machine can show, and how to believe a number",
        "a time that nobody can repeat",
        "the clock, not the kernel",
        "the spread of the runs",
        "",
        "warm up, empty L2, wait for the end event, repeat",
    ),
    Chapter(
        1,
        "coalescing",
        "Coalescing",
        "which addresses of a warp travel together",
        "many bytes move, few are used",
        "sectors of global memory",
        "sectors per global request",
        LD_SECTORS,
        "neighbours read neighbours; structure of arrays",
    ),
    Chapter(
        2,
        "tiling",
        "Tiling",
        "how often each byte is fetched, and how shared memory makes it once per tile",
        "the same bytes are fetched again and again",
        "traffic without reuse",
        "bytes loaded over distinct bytes",
        DISTINCT_LD,
        "a tile in shared memory, used by the whole block",
    ),
    Chapter(
        3,
        "bank_conflict",
        "Bank conflicts",
        "why a shared-memory access takes one step, or 32",
        "shared memory is slower than it should be",
        "shared wavefronts",
        "shared wavefronts in excess",
        WAVEFRONTS,
        "padding, XOR swizzle, another order, shuffles",
    ),
    Chapter(
        4,
        "divergence",
        "Divergence",
        "what a warp pays when its lanes disagree",
        "instructions are issued for a few lanes only",
        "issue slots",
        "active lanes per instruction",
        LANES,
        "regroup work so that neighbours agree",
    ),
    Chapter(
        5,
        "fusion",
        "Fusion",
        "what it costs to store what the next kernel reads back",
        "a chain of small kernels, each at full bandwidth",
        "DRAM bytes of intermediates",
        "bytes of distinct sectors, all kernels together",
        DISTINCT_ST,
        "one kernel; intermediates stay in registers",
    ),
    Chapter(
        6,
        "occupancy",
        "Occupancy",
        "how many warps fit on an SM, what limits them, and when that matters",
        "nothing is busy, and yet it is slow",
        "memory latency, with too few warps to hide it",
        "warps that fit on an SM",
        REGISTERS,
        "fewer registers or shared bytes, or more work per thread",
    ),
    Chapter(
        7,
        "wave_quantization",
        "Wave quantization",
        "why one more block can double the time",
        "a slightly larger problem takes twice as long",
        "the tail: SMs without a block",
        "blocks over places for them",
        BLOCKS,
        "another tile, persistent blocks, a split along K",
    ),
    Chapter(
        8,
        "flash_attention",
        "Flash attention",
        "how attention avoids its largest matrix",
        "traffic grows with the square of the length",
        "an intermediate that fits nowhere",
        "bytes over bytes of input and output",
        DISTINCT_ST,
        "online softmax: never store the matrix",
    ),
    Chapter(
        9,
        "register_tiling",
        "Register tiling",
        "how far a matrix product can climb towards cuBLAS",
        "a tiled product, still far from the FP32 roof",
        "shared-memory loads per multiply-add",
        "shared wavefronts per multiply-add",
        LD_WAVEFRONTS,
        "each thread keeps a tile of results in registers",
    ),
    Chapter(
        10,
        "pipelines",
        "Pipelines",
        "how to compute on one tile while the next is in flight",
        "load, wait, compute, wait",
        "latency between a load and its use",
        "rounds of loads per warp",
        ROUNDS,
        "double buffers, cp.async, producer and consumer warps",
    ),
    Chapter(
        11,
        "launch_overhead",
        "Launch overhead",
        "what a launch costs, and how not to pay it a thousand times",
        "many small kernels, and a GPU that is mostly idle",
        "launches",
        "modelled limit: launch",
        "",
        "streams, CUDA graphs, a persistent kernel, fusion",
    ),
    Chapter(
        12,
        "low_precision",
        "Low precision",
        "what fewer bits buy, and what they cost",
        "at a roof, and still too slow",
        "FP32 arithmetic, or bytes per value",
        "FLOP per byte against the ridge",
        TENSOR,
        "fp16, bf16, fp8 with scales; tensor cores",
    ),
    Chapter(
        13,
        "reading_kernels",
        "Reading kernels",
        "what the compiler made of your source, and what a library kernel's name says",
        "the counts do not fit the source",
        "instructions and registers you did not write",
        "registers, spills, PTX and SASS per line",
        REGISTERS,
        "read PTX and SASS; ncu and nsys",
    ),
)


def chapter(topic: str) -> Chapter:
    """The chapter of that topic, such as "coalescing". Raises KeyError that lists the topics."""
    for found in CHAPTERS:
        if found.topic == topic:
            return found
    raise KeyError(f"no chapter {topic!r}; there are {', '.join(one.topic for one in CHAPTERS)}")
