"""The hardware's answers: 114 kernels run on an H200 under Nsight Compute (tests/data/h200)."""

import json
import warnings
from functools import lru_cache
from pathlib import Path

import numpy as np

from course_lib.chapters.reading_ncu import arguments
from course_lib.emulator import RawKernel
from course_lib.emulator.errors import ArgumentWarning

FOLDER = Path(__file__).parents[1] / "data" / "h200"
CASES = {case["case"]: case for case in json.loads((FOLDER / "cases.json").read_text())}


@lru_cache(maxsize=1)
def outputs() -> np.lib.npyio.NpzFile:
    """First argument after the launch, by case."""
    return np.load(FOLDER / "outputs.npz")


def kernel(case: dict) -> RawKernel:
    """The case's kernel, allowed the dynamic shared memory it was launched with."""
    made = RawKernel(case["source"], case["kernel"], tuple(case["options"]))
    if case["shared_mem"] > 48 * 1024:
        made.max_dynamic_shared_size_bytes = case["shared_mem"]
    return made


def run(case: dict, seed: int | None = None) -> np.ndarray:
    """The first argument after an emulated launch."""
    from course_lib.emulator.run import launch

    made, args = kernel(case), arguments(case)
    with warnings.catch_warnings():  # some cases pass raw bytes on purpose
        warnings.simplefilter("ignore", ArgumentWarning)
        prepared = made.prepare(tuple(case["grid"]), tuple(case["block"]), tuple(args), case["shared_mem"])
    launch(prepared, seed=seed)
    return args[0]
