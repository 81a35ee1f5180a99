"""Measure every sweep on this machine's GPU and write `data/recorded/<gpu>/`: `python -m course_lib.record`.

One CSV per sweep; takes about a minute on an H200.
"""

import argparse
import datetime
import math
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import Any

from .gpu_query import this_machine
from .gpus import Gpu
from .points import Call, Point, Reading, Sweep
from .recorded import FOLDER, write
from .sweeps import all_sweeps
from .timing import flusher, measure, nothing, quartiles

WARM_UP_SECONDS = 0.5  # an idle GPU runs at a low clock
UNTIMED = 5  # launches of a point before the first timed one


def main(arguments: Sequence[str] | None = None) -> int:
    """Record the sweeps named on the command line, or all. Returns the exit status."""
    sweeps = all_sweeps()
    parser = argparse.ArgumentParser(prog="course_lib.record", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="SWEEP", help=", ".join(sweep.name for sweep in sweeps))
    parser.add_argument("--n", type=int, default=50, help="timed launches per point (default 50)")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where to write (default data/recorded)")
    options = parser.parse_args(arguments)
    unknown = set(options.names) - {sweep.name for sweep in sweeps}
    if unknown:
        parser.error(f"no sweep {', '.join(sorted(unknown))}")
    cp = _cupy()
    if cp is None:
        print("nothing recorded: this needs CuPy on an NVIDIA GPU", file=sys.stderr)
        return 1
    chosen = [sweep for sweep in sweeps if not options.names or sweep.name in options.names]
    record(cp, chosen, options.folder, options.n)
    return 0


def record(cp: Any, sweeps: Sequence[Sweep], folder: Path, n: int) -> None:
    """Time every launch of the sweeps and write the tables to `folder/<gpu>/`."""
    here = this_machine(cp)
    target = folder / slug(here)
    flush = flusher(cp, here.l2.size_bytes)
    _warm_up(cp, flush)
    for sweep in sweeps:
        start = time.perf_counter()
        rows = []
        for point in with_l2(all_rows(sweep)):
            row = time_point(cp, point, flush, n)
            rows += [row] if row else []
            cp.get_default_memory_pool().free_all_blocks()  # the next point's arrays have other sizes
        for name in ("useful_bytes", "flops"):  # a column that one row has, all rows have
            if any(name in row for row in rows):
                rows = [{name: 0} | row for row in rows]
        write(target / f"{sweep.name}.csv", rows, provenance(cp, here, sweep))
        print(f"{sweep.name}: {len(rows)} points in {time.perf_counter() - start:.1f} s", flush=True)


def all_rows(sweep: Sweep) -> list[Point | Call | Reading]:
    """What a sweep times at its recorded size, in order."""
    return [*sweep.points(sweep.size), *sweep.calls(sweep.size)]


def with_l2(rows: Sequence[Point | Call | Reading]) -> list[Point | Call | Reading]:
    """The rows; if L2 is emptied before some of them and not before others, each says which, as `l2`."""
    if len({row.warm for row in rows}) < 2:
        return list(rows)
    return [
        replace(row, columns={"l2": "left" if row.warm else "emptied"} | dict(row.columns)) for row in rows
    ]


def time_point(cp: Any, point: Point | Call | Reading, flush: Any, n: int) -> dict[str, object] | None:
    """One row of a table: what varies, the quartiles in milliseconds, and what the launch had to do.

    A `Reading` says its own milliseconds; all else is timed between CUDA events. None where a library that
    should be called is not installed.
    """
    launch = point.launcher(cp)
    if launch is None:
        print(f"left out, library missing: {dict(point.columns)}")
        return None
    before = nothing if point.warm else flush
    n = getattr(point, "n", 0) or n
    if isinstance(point, Reading):
        times = readings(cp, launch, before, UNTIMED, n, f"row {dict(point.columns)}")
    else:
        times = measure(cp, launch, before, UNTIMED, n)
    low, middle, high = quartiles(times)
    row = {**point.columns, "median_ms": middle, "low_ms": low, "high_ms": high, "n": n}
    if point.useful_bytes:
        row["useful_bytes"] = point.useful_bytes
    if point.flops:
        row["flops"] = point.flops
    return row


def readings(cp: Any, read: Any, before: Any, untimed: int, n: int, what: str = "a reading") -> list[float]:
    """Milliseconds that `read()` returned in `n` calls, each begun while the GPU was idle.

    Raises ValueError, which names `what`, for anything but a number above 0.
    """
    found = []
    for _ in range(untimed + n):
        before()
        cp.cuda.get_current_stream().synchronize()
        said = read()
        if isinstance(said, bool) or not isinstance(said, Real) or not 0 < said < math.inf:
            raise ValueError(f"{what}: its clock says {said!r}; milliseconds above 0 are wanted")
        found.append(float(said))
    return found[untimed:]


def provenance(cp: Any, gpu: Gpu, sweep: Sweep) -> dict[str, str]:
    """Where the figures of a table come from."""
    runtime = cp.cuda.runtime.runtimeGetVersion()
    rows = all_rows(sweep)
    median = f"of n launches between CUDA events, after {UNTIMED} that were not timed"
    if read := sum(isinstance(row, Reading) for row in rows):
        other = f"{median}; " if read < len(rows) else ""
        median = f"{other}of n readings of a clock, each as the code of its row takes it"
    return {
        "table": sweep.name,
        "gpu": gpu.full_name,
        "driver": driver_version(cp),
        "cuda": f"{runtime // 1000}.{runtime % 1000 // 10}",
        "cupy": cp.__version__,
        "date": datetime.date.today().isoformat(),
        "script": "python -m course_lib.record",
        "size": f"{sweep.size} {sweep.what}",
        "median": median,
        "spread": "low_ms and high_ms are the first and third quartile",
        "l2": _l2({row.warm for row in rows}),
    }


def _l2(warm: set[bool]) -> str:
    """In which state L2 was, for rows that all are warm, or cold, or of both kinds."""
    left, emptied = "as the launch before left it", "emptied before every launch"
    if len(warm) == 2:
        return f"{left}, or {emptied}: the column l2 says which"
    return left if True in warm else emptied


def driver_version(cp: Any) -> str:
    """The driver's version, such as "580.159"; if `nvidia-smi` is missing, the CUDA version it supports."""
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        version = cp.cuda.runtime.driverGetVersion()
        return f"for CUDA {version // 1000}.{version % 1000 // 10}"


def slug(gpu: Gpu) -> str:
    """The folder name of a GPU: "H200" -> "h200", "RTX 3090" -> "rtx_3090"."""
    return "".join(c if c.isalnum() else "_" for c in gpu.name.lower())


def _warm_up(cp: Any, flush: Any) -> None:
    end = time.perf_counter() + WARM_UP_SECONDS
    while time.perf_counter() < end:
        flush()
        cp.cuda.get_current_stream().synchronize()


def _cupy() -> Any:
    """CuPy where it can use a GPU, else None."""
    from . import backend

    return backend.cp if backend.BACKEND.name == "cupy" else None


if __name__ == "__main__":
    sys.exit(main())
