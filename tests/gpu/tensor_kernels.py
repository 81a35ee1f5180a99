"""Matrix and asynchronous-copy kernels on a GPU and on the emulator, compared bit for bit.

    python tests/gpu/tensor_kernels.py [PART OF A NAME ...]
    python tests/gpu/tensor_kernels.py --counters matmul copy_ ldmatrix      # what the emulator counts
    ncu --csv --metrics $(python tests/gpu/tensor_kernels.py --metrics) \\
        python tests/gpu/tensor_kernels.py --gpu matmul copy_ ldmatrix       # what Nsight Compute counts

Needs CuPy and a GPU of compute capability 9.0; takes less than a minute. Prints one line per case
and the first differences; the exit status is 1 if there are any.
"""

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from emulator import async_sources, tensor_cases, tensor_sources  # noqa: E402

from course_lib.emulator import RawKernel, toolkit  # noqa: E402
from course_lib.profile import profile  # noqa: E402

PROBLEMS = 64  # mma problems per case
METRICS = [
    "smsp__inst_executed_op_ldgsts.sum",
    "sm__sass_l1tex_t_requests_pipe_lsu_mem_global_op_ldgsts_cache_access.sum",
    "sm__sass_l1tex_t_requests_pipe_lsu_mem_global_op_ldgsts_cache_bypass.sum",
    "sm__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_access.sum",
    "sm__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_bypass.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "smsp__sass_inst_executed_op_shared_ld.sum",
    "memory_l1_wavefronts_shared",
    "memory_l2_theoretical_sectors_global",
]


@dataclass(frozen=True)
class Case:
    """One launch; `outputs` are the arguments to compare."""

    name: str
    source: str
    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: Callable[[], list]
    outputs: tuple[int, ...]


def cases() -> Iterator[Case]:
    """Every case, in a fixed order."""
    for name, kind in tensor_cases.every_mma():
        yield Case(
            f"mma {name} {kind}", tensor_sources.MMA, f"mma_{name}", (PROBLEMS // 4,), (128,),
            partial(tensor_cases.mma_arguments, name, kind, PROBLEMS), (3,),
        )  # fmt: skip
    for name in tensor_sources.WMMA_FORMS:
        yield Case(
            f"wmma {name}", tensor_sources.wmma_source(name), f"wmma_{name}", (8,), (32,),
            partial(tensor_cases.wmma_arguments, name, 8), (3, 4),
        )  # fmt: skip
    for n in (1, 2, 4):
        for suffix in ("", "_trans"):
            for kind, sizes in (("ldmatrix", (384, 32 * n)), ("stmatrix", (32 * n, 384))):
                name = f"{kind}_{n}{suffix}"
                arguments = partial(tensor_cases.words, *sizes)
                yield Case(name, tensor_sources.MATRICES, name, (1,), (32,), arguments, (1,))
    arguments = partial(tensor_cases.words, 32, 32)
    yield Case("movmatrix", tensor_sources.MATRICES, "movmatrix", (1,), (32,), arguments, (1,))
    yield from copies()


def copies() -> Iterator[Case]:
    """cp.async: zero fill, ignored sources, groups, a pipelined matrix product."""
    for cache, size in (("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16)):
        name = f"copy_{cache}_{size}"
        yield Case(
            name, async_sources.COPIES, name, (1,), (64,), partial(tensor_cases.copy_arguments, size), (1,)
        )  # fmt: skip
    yield Case("ignore", async_sources.COPIES, "ignore", (1,), (64,), ignore_arguments, (1,))
    yield Case(
        "running", async_sources.pipeline(), "running", (4,), (64,), tensor_cases.running_arguments, (1,)
    )
    for m, n, k in ((64, 64, 64), (70, 72, 40), (200, 136, 264)):
        yield Case(
            f"matmul {m}x{n}x{k}", async_sources.MATMUL, "matmul", (-(-n // 64), -(-m // 64)), (128,),
            partial(tensor_cases.matmul_arguments, m, n, k), (2,),
        )  # fmt: skip


def ignore_arguments() -> list:
    """40 values for 64 threads: 24 ignore their source."""
    return [tensor_cases.running_arguments()[0][:40].copy(), np.zeros(64, np.float32), np.int32(40)]


def on_gpu(case: Case, modules: dict) -> list[np.ndarray]:
    """The outputs after a launch through CuPy, with the headers of NVRTC's own version."""
    import cupy as cp

    if case.source not in modules:
        folders = toolkit.include_dirs(cp.cuda.nvrtc.getVersion()[0])
        options = ("-std=c++17", *(f"-I{folder}" for folder in folders))
        modules[case.source] = cp.RawModule(code=case.source, options=options)
    arguments = [cp.asarray(a) if isinstance(a, np.ndarray) else a for a in case.arguments()]
    modules[case.source].get_function(case.kernel)(case.grid, case.block, tuple(arguments))
    return [cp.asnumpy(arguments[k]) for k in case.outputs]


def on_emulator(case: Case) -> list[np.ndarray]:
    """The outputs after an emulated launch."""
    arguments = case.arguments()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        RawKernel(case.source, case.kernel)(case.grid, case.block, tuple(arguments))
    return [arguments[k] for k in case.outputs]


def report(case: Case, emulated: list[np.ndarray], real: list[np.ndarray]) -> bool:
    """Print how a case compares; True if all is equal."""
    equal = True
    for position, own, theirs in zip(case.outputs, emulated, real, strict=True):
        bits = f"u{own.dtype.itemsize}"
        differ = np.flatnonzero(own.ravel().view(bits) != theirs.ravel().view(bits))
        print(f"{case.name:28} argument {position}: {len(differ)} of {own.size} differ", flush=True)
        for at in differ[:6]:
            a, b = own.ravel()[at], theirs.ravel()[at]
            print(f"    [{at}] emulator {a!r} {a.view(bits):#x}, GPU {b!r} {b.view(bits):#x}")
        equal = equal and not len(differ)
    return equal


def compare(chosen: list[Case]) -> list[str]:
    """Names of the cases that differ or fail."""
    modules: dict = {}
    wrong = []
    for case in chosen:
        try:
            equal = report(case, on_emulator(case), on_gpu(case, modules))
        except Exception as error:  # the other cases are worth knowing, too
            print(f"{case.name:28} failed: {type(error).__name__}: {error}")
            equal = False
        if not equal:
            wrong.append(case.name)
    return wrong


def counters(case: Case) -> None:
    """Print what the emulator counts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        counted = profile(RawKernel(case.source, case.kernel), case.grid, case.block, case.arguments())
    print(case.name, {name: counted[name] for name in METRICS if counted[name]})


def main(arguments: list[str]) -> int:
    """Compare the cases whose names contain one of the given texts, or all."""
    modes = {text for text in arguments if text.startswith("--")}
    wanted = [text for text in arguments if text not in modes]
    chosen = [case for case in cases() if not wanted or any(text in case.name for text in wanted)]
    if "--metrics" in modes:
        print(",".join(METRICS))
        return 0
    if modes:
        loaded: dict = {}
        for case in chosen:
            on_gpu(case, loaded) if "--gpu" in modes else counters(case)
        return 0
    start = time.perf_counter()
    wrong = compare(chosen)
    seconds = time.perf_counter() - start
    print(
        f"{len(chosen)} cases, {len(wrong)} with differences: {', '.join(wrong) or 'none'} ({seconds:.0f} s)"
    )
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
