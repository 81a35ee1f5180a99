"""The hardware's answers: 114 kernels run on an H200 under Nsight Compute (tests/data/h200)."""

import json
import warnings
import zlib
from functools import lru_cache
from pathlib import Path

import numpy as np

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


def arguments(case: dict) -> list:
    """The arguments as the measurement made them: one generator per case, recipes in order."""
    rng = np.random.RandomState(zlib.crc32(case["case"].encode()))
    make = {
        "normal": lambda shape, dtype: rng.standard_normal(shape).astype(dtype),
        "zeros": lambda shape, dtype: np.zeros(shape, dtype),
        "randint": lambda shape, dtype, lo, hi: rng.randint(lo, hi, shape, dtype="int64").astype(dtype),
        "arange": lambda n, dtype: np.arange(n).astype(dtype),
        "perm": lambda n, dtype: rng.permutation(n).astype(dtype),
        "scalar": lambda value, dtype: np.dtype(dtype).type(value),
    }
    return [make[kind](*rest) for kind, *rest in case["arguments"]]


def run(case: dict, seed: int | None = None) -> np.ndarray:
    """The first argument after an emulated launch."""
    from course_lib.emulator.run import launch

    made, args = kernel(case), arguments(case)
    with warnings.catch_warnings():  # some cases pass raw bytes on purpose
        warnings.simplefilter("ignore", ArgumentWarning)
        prepared = made.prepare(tuple(case["grid"]), tuple(case["block"]), tuple(args), case["shared_mem"])
    launch(prepared, seed=seed)
    return args[0]
