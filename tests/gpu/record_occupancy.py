"""Ask the driver of a GPU how many blocks fit on an SM, for thousands of configurations.

    python tests/gpu/record_occupancy.py [FILE]

Needs CuPy and a GPU; takes less than a minute. Writes `tests/data/occupancy_<gpu>.json`, or FILE: the answers
of `cuOccupancyMaxActiveBlocksPerMultiprocessor` for kernels of many register counts, made by `--maxrregcount`
and by `__launch_bounds__`, against threads and dynamic shared memory. `tests/test_occupancy_chapter.py`
holds `course_lib.occupancy` against them.
"""

import datetime
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT)]

from course_lib.gpu_query import this_machine  # noqa: E402
from course_lib.gpus import Gpu  # noqa: E402
from course_lib.record import driver_version, slug  # noqa: E402

COLUMNS = ("registers", "max_threads", "threads", "dynamic_bytes", "blocks")
CAPS = (24, 28, 32, 36, 40, 48, 56, 64, 72, 80, 92, 96, 104, 128, 144, 160, 162, 168, 200, 224, 255)
BOUNDS = ((64, 8), (128, 2), (128, 5), (224, 3), (256, 1), (256, 4), (512, 1), (512, 2), (1024, 1))
THREADS = (1, 33, 64, 96, 128, 224, 256, 320, 512, 768, 1024)
KB = 1024
DYNAMIC = (0, 1, 8 * KB, 32 * KB - 1, 32 * KB, 37 * KB, 48 * KB, 75 * KB, 113 * KB, 227 * KB)

# LIVE floats are needed until the end, so the kernel takes that many registers and more unless capped.
SOURCE = r"""
extern "C" __global__ void BOUNDS busy(float* out, const float* in) {
    float value[LIVE];
    for (int i = 0; i < LIVE; ++i) value[i] = in[i * blockDim.x + threadIdx.x];
    __syncthreads();
    for (int i = 0; i < LIVE; ++i)
        out[i * blockDim.x + threadIdx.x] = value[i] * value[(i + LIVE / 2) % LIVE];
}
"""


def builds() -> Iterator[tuple[str, ...]]:
    """Compiler options of every kernel: no limit, a cap on registers, and launch bounds."""
    for live in (1, 16, 40, 84, 120, 150, 190):
        yield (f"-DLIVE={live}", "-DBOUNDS=")
    for cap in CAPS:
        yield ("-DLIVE=240", "-DBOUNDS=", f"--maxrregcount={cap}")
    for threads, blocks in BOUNDS:
        yield ("-DLIVE=240", f"-DBOUNDS=__launch_bounds__({threads},{blocks})")


def rows(cp: Any, gpu: Gpu) -> Iterator[list[int]]:
    """A row for every kernel, number of threads and size of dynamic shared memory."""
    for options in builds():
        kernel = cp.RawKernel(SOURCE, "busy", options=options)
        kernel.max_dynamic_shared_size_bytes = gpu.architecture.shared_per_block_bytes
        facts = [int(kernel.num_regs), int(kernel.max_threads_per_block)]
        for threads in THREADS:
            for dynamic in DYNAMIC:
                if dynamic <= gpu.architecture.shared_per_block_bytes:
                    yield [*facts, threads, dynamic, resident(cp, kernel, threads, dynamic)]


def resident(cp: Any, kernel: Any, threads: int, dynamic: int) -> int:
    """The driver's answer; -1 where it refuses the question."""
    try:
        ask = cp.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor
        return int(ask(kernel.kernel.ptr, threads, dynamic))
    except cp.cuda.driver.CUDADriverError:
        return -1


def main(arguments: list[str]) -> int:
    """Write the table; returns the exit status."""
    import cupy as cp

    gpu = this_machine(cp)
    target = Path(arguments[0]) if arguments else ROOT / "tests" / "data" / f"occupancy_{slug(gpu)}.json"
    found = list(dict.fromkeys(map(tuple, rows(cp, gpu))))
    runtime = cp.cuda.runtime.runtimeGetVersion()
    meta = {
        "what": "cuOccupancyMaxActiveBlocksPerMultiprocessor; no static shared memory; blocks -1: refused",
        "gpu": gpu.full_name,
        "driver": driver_version(cp),
        "cuda": f"{runtime // 1000}.{runtime % 1000 // 10}",
        "cupy": cp.__version__,
        "date": datetime.date.today().isoformat(),
        "script": "python tests/gpu/record_occupancy.py",
        "columns": COLUMNS,
    }
    head = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in meta.items()]
    body = ",\n".join(json.dumps(row) for row in found)
    target.write_text("{" + ",\n ".join(head) + ',\n "rows": [\n' + body + "\n]}\n", encoding="utf-8")
    registers = sorted({row[0] for row in found})
    refused = sum(row[4] < 0 for row in found)
    print(f"{len(found)} configurations, registers {registers}, {refused} refused: {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
