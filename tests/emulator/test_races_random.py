"""Random sequences of accesses and barriers: races are found exactly where two accesses are not ordered."""

import itertools

import numpy as np
import pytest

from course_lib.profile import profile

from .cuda import kernel

LOAD, STORE, ATOMIC, BARRIER, SYNCWARP, HALF = range(6)
THREADS, WORDS, LENGTH = 64, 6, 7

# `steps` says what all threads do next, `places` which word each of them touches (-1: none).
INTERPRETER = """
    int t = threadIdx.x, sum = 0;
    PREPARE
    for (int k = 0; k < n; ++k) {
        int at = places[(k * gridDim.x + blockIdx.x) * 64 + t];
        switch (steps[k]) {
            case 0: if (at >= 0) sum += s[at]; break;
            case 1: if (at >= 0) s[at] = (k * gridDim.x + blockIdx.x) * 64 + t + 1; break;
            case 2: if (at >= 0) atomicAdd(s + at, 1); break;
            case 3: __syncthreads(); break;
            case 4: __syncwarp(); break;
            case 5: __syncwarp(t & 16 ? 0xffff0000u : 0xffffu); break;
        }
    }
    out[blockIdx.x * 64 + t] = sum;"""
SHARED = INTERPRETER.replace("PREPARE", "__shared__ int s[6]; if (t < 6) s[t] = 0; __syncthreads();")
GLOBAL = INTERPRETER.replace("PREPARE", "int *s = memory;")


def draw(rng: np.random.Generator, blocks: int) -> tuple[np.ndarray, np.ndarray]:
    """Steps, and (step, block, thread) the words they touch; few lanes, so that half of them race."""
    steps = rng.choice(6, LENGTH, p=[0.3, 0.2, 0.1, 0.2, 0.1, 0.1]).astype(np.int32)
    places = np.full((LENGTH, blocks, THREADS), -1, np.int32)
    for k, block in itertools.product(range(LENGTH), range(blocks)):
        lanes = rng.choice(THREADS, rng.integers(1, 3), replace=False)
        places[k, block, lanes] = rng.integers(0, WORDS, len(lanes))
    return steps, places


def races(steps: np.ndarray, places: np.ndarray) -> bool:
    """Whether two accesses of different threads to one word, not both loads or both atomic, are unordered."""
    touched = [
        (k, block, thread, places[k, block, thread])
        for k, block, thread in np.argwhere(places >= 0)
        if steps[k] <= ATOMIC
    ]
    for (k, block, thread, word), (later, other_block, other, same) in itertools.combinations(touched, 2):
        kinds = {int(steps[k]), int(steps[later])}
        if word != same or (block, thread) == (other_block, other) or kinds in ({LOAD}, {ATOMIC}):
            continue
        between = steps[k:later]
        warp, half = thread // 32 == other // 32, thread // 16 == other // 16
        met = BARRIER in between or (warp and SYNCWARP in between) or (half and HALF in between)
        if not (met and block == other_block):
            return True
    return False


@pytest.mark.parametrize(("body", "blocks"), [(SHARED, 1), (GLOBAL, 1), (GLOBAL, 2)])
def test_races_are_found_where_there_are_some(body: str, blocks: int) -> None:
    made = kernel(body, "int *out, int *memory, const int *steps, const int *places, int n")
    rng = np.random.default_rng(blocks)
    verdicts = []
    for _ in range(120):
        steps, places = draw(rng, blocks)
        out, memory = np.zeros(blocks * THREADS, np.int32), np.zeros(WORDS, np.int32)
        arguments = (out, memory, steps, places, np.int32(LENGTH))
        found = {hazard.kind for hazard in profile(made, (blocks,), (THREADS,), arguments).hazards}
        wanted = races(steps, places)
        assert bool(found) == wanted, (steps, np.argwhere(places >= 0).tolist(), found)
        verdicts.append(wanted)
    assert 20 < sum(verdicts) < 116
