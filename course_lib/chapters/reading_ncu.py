"""Chapter 13, reading kernels: what `ncu` counted on an H200 beside what the emulator counts.

`data/recorded/h200/ncu_counters.json` holds 12 small kernels with their launches and `ncu`'s counters; they
are among those the emulator is tested with.
"""

import json
import zlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ..emulator import RawKernel
from ..ncu import FOLLOWS_PTX, METRICS, compare
from ..profile import profile
from ..recorded import FOLDER
from ..report import PLAIN_NAMES, Cell, Table

_PATH = FOLDER / "h200" / "ncu_counters.json"
OWN = FOLDER / "h200" / "ncu_reading.json"  # the kernels of this chapter


@cache
def launches() -> dict[str, dict[str, float]]:
    """A launch of this chapter, such as "each float4 8" or "variance 32" -> ncu's counters."""
    return {row["launch"]: row["counters"] for row in json.loads(OWN.read_text(encoding="utf-8"))["launches"]}


@cache
def recorded_cases() -> dict[str, dict[str, Any]]:
    """Name of a kernel -> its source, launch, recipes of its arguments, and ncu's `counters`."""
    return {case["case"]: case for case in json.loads(_PATH.read_text(encoding="utf-8"))["cases"]}


def provenance(path: Path = _PATH) -> str:
    """Where the counters of a file come from, in a line."""
    told = json.loads(path.read_text(encoding="utf-8"))["provenance"]
    return f"recorded on {told['gpu']}, driver {told['driver']}, {told['date']}, by {told['tool']}"


def arguments(case: Mapping[str, Any]) -> tuple:
    """The arguments of the recorded launch, rebuilt from their recipes with one generator, in order."""
    generator = np.random.RandomState(zlib.crc32(case["case"].encode()))
    make = {
        "normal": lambda shape, dtype: generator.standard_normal(shape).astype(dtype),
        "zeros": lambda shape, dtype: np.zeros(shape, dtype),
        "randint": lambda shape, dtype, lo, hi: generator.randint(lo, hi, shape, dtype="int64").astype(dtype),
        "arange": lambda n, dtype: np.arange(n).astype(dtype),
        "perm": lambda n, dtype: generator.permutation(n).astype(dtype),
        "scalar": lambda value, dtype: np.dtype(dtype).type(value),
    }
    return tuple(make[kind](*rest) for kind, *rest in case["arguments"])


@cache
def counted(name: str) -> Mapping[str, float]:
    """`profile` of a recorded launch."""
    case = recorded_cases()[name]
    kernel = RawKernel(case["source"], case["kernel"], tuple(case["options"]))
    return profile(kernel, tuple(case["grid"]), tuple(case["block"]), arguments(case), case["shared_mem"])


def beside(name: str) -> Table:
    """One kernel: counted, and recorded by ncu."""
    by_ncu = recorded_cases()[name]["counters"]
    return compare(counted(name), by_ncu, f"{name}; {provenance()}", "recorded")


def overview() -> Table:
    """Each metric over all recorded kernels: how often the two are equal, and how far apart at most."""
    rows = []
    for metric in METRICS:
        pairs = [
            (counted(name)[metric], case["counters"][metric])
            for name, case in recorded_cases().items()
            if counted(name)[metric] or case["counters"][metric]
        ]
        equal = sum(ours == theirs for ours, theirs in pairs)
        ratios = [ours / theirs for ours, theirs in pairs if theirs]
        span = f"{min(ratios):.2f} to {max(ratios):.2f}" if equal < len(pairs) and ratios else ""
        cells = [
            Cell(PLAIN_NAMES.get(metric, metric), tip=metric),
            Cell(f"{equal} of {len(pairs)}"),
            Cell(span),
        ]
        rows.append([*cells, Cell(FOLLOWS_PTX.get(metric, "") if equal < len(pairs) else "")])
    header = ["metric", "equal", "counted / recorded", "why not"]
    return Table(header, rows, {0, 2, 3}, f"{len(recorded_cases())} kernels; {provenance()}")
