"""Random kernels against checksums recorded on a GPU (`tests/gpu/record_random_kernels.py`).

A part of them; with COURSE_ALL_RANDOM_KERNELS set, all 300 (a minute).
"""

import json
import os
from pathlib import Path

import pytest

from course_lib.emulator import RawKernel

from .random_kernels import BLOCK, GRID, OPTIONS, digest, make

FILE = Path(__file__).parents[1] / "data" / "random_kernels" / "h200.json"
DIGESTS = json.loads(FILE.read_text())["digests"]
SEEDS = range(len(DIGESTS) if os.environ.get("COURSE_ALL_RANDOM_KERNELS") else 20)


@pytest.mark.parametrize("seed", SEEDS)
def test_as_on_a_gpu(seed: int) -> None:
    made = make(seed)
    arguments = made.arguments()
    RawKernel(made.source, "k", OPTIONS)((GRID,), (BLOCK,), tuple(arguments))
    assert [digest(array) for array in arguments] == DIGESTS[seed]
