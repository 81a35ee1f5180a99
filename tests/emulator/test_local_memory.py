"""Arrays of a thread's own: undefined until the thread writes them, whatever other threads left there."""

import numpy as np

from course_lib.emulator.local import LocalMemory
from course_lib.emulator.memory import POISON
from course_lib.emulator.run import CHUNK_BYTES

from .cuda import run

INTS = 60_000
BYTES = 4 * INTS


def test_what_an_earlier_block_wrote_is_not_seen() -> None:
    """Block 0 alone writes; not all blocks fit into memory together, so others follow in its place."""
    body = """
      int a[60000]; int i = blockIdx.x * 64 + threadIdx.x;
      if (blockIdx.x == 0) for (int k = 0; k < n; ++k) a[n - 1 - k] = k + 1;
      out[i] = a[n - 1 - i % 2];"""
    blocks = 2 * CHUNK_BYTES // (64 * BYTES)
    out = np.zeros(64 * blocks, np.int32)
    run(body, out, np.int32(7), parameters="int *out, int n", grid=blocks, block=64)
    assert out[:64].tolist() == [1, 2] * 32
    assert (out[64:] == POISON).all()


def test_only_what_was_touched_is_poisoned_again() -> None:
    local = LocalMemory(4, 64)
    words = local.memory.view(np.uint32).reshape(4, 16)
    words[:] = 5
    local.touch(8, 12)
    local.touch(17, 18)
    assert local.fresh(4, 64)
    assert (words[:, 2:5] == POISON).all()
    assert (words[:, :2] == 5).all()
    assert (words[:, 5:] == 5).all()


def test_another_size_needs_other_memory() -> None:
    local = LocalMemory(4, 64)
    assert local.fresh(3, 64)
    assert not local.fresh(5, 64)
    assert not local.fresh(4, 32)


def test_a_frame_of_a_deeper_call_is_fresh_in_the_next_block() -> None:
    """A recursion makes local memory grow; what it left behind is not there for the blocks that follow."""
    before = """
      __device__ __noinline__ int down(int depth, int write) {
        volatile int a[64];
        if (write) for (int k = 0; k < 64; ++k) a[k] = 7;
        int below = depth ? down(depth - 1, write) : 0;
        return below + a[depth];
      }"""
    body = "out[blockIdx.x * 1024 + threadIdx.x] = down(9, blockIdx.x == 0);"
    out = run(body, np.zeros(1024 * 33, np.int32), before=before, grid=33, block=1024)
    assert (out[:1024] == 70).all()
    assert (out[1024:].astype(np.uint32) == 10 * POISON % (1 << 32)).all()
