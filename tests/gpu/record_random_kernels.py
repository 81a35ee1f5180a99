"""Run the random kernels of `tests/emulator/random_kernels.py` on a GPU and keep a digest of each result.

    python tests/gpu/record_random_kernels.py [FILE] [COUNT]

Needs a GPU, CuPy and NumPy; a few hundred kernels take a minute. Writes
`tests/data/random_kernels/<gpu>.json`, or FILE: for each seed one checksum per array after the launch.
`tests/emulator/test_random_kernels.py` holds the emulator against it.
"""

import datetime
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cupy

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT)]

from tests.emulator.random_kernels import BLOCK, GRID, OPTIONS, digest, make  # noqa: E402

DATA = ROOT / "tests" / "data" / "random_kernels"


def compiled(seed: int) -> tuple:
    """The random kernel and its compiled form."""
    one = make(seed)
    kernel = cupy.RawKernel(one.source, "k", options=(*OPTIONS, "-std=c++17"))
    kernel.compile()
    return one, kernel


def main(file: str | None = None, count: str = "300") -> None:
    """Record seeds 0 to COUNT - 1."""
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    digests = []
    with ThreadPoolExecutor() as pool:
        for one, kernel in pool.map(compiled, range(int(count))):
            arrays = [cupy.asarray(array) for array in one.arguments()]
            kernel((GRID,), (BLOCK,), tuple(arrays))
            digests.append([digest(array.get()) for array in arrays])
    about = {
        "gpu": name, "date": datetime.date.today().isoformat(), "cupy": cupy.__version__,
        "nvrtc": list(cupy.cuda.nvrtc.getVersion()), "driver": cupy.cuda.runtime.driverGetVersion(),
        "script": "tests/gpu/record_random_kernels.py",
    }  # fmt: skip
    path = Path(file) if file else DATA / f"{name.split()[-1].lower()}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = ",\n".join(json.dumps(row) for row in digests)
    path.write_text(f'{{"about": {json.dumps(about)},\n"digests": [\n{rows}\n]}}\n')
    print(f"{len(digests)} kernels on {name} -> {path}")


if __name__ == "__main__":
    main(*sys.argv[1:])
