"""cuda::barrier and cuda::pipeline from CUDA source."""

import numpy as np
import pytest

from course_lib.emulator import RawKernel
from course_lib.emulator.errors import EmulatorError, StepBudgetError
from course_lib.profile import profile

START = """
#include <cuda/barrier>
#include <cuda/std/utility>
using barrier = cuda::barrier<cuda::thread_scope_block>;
"""
MEET = (
    START
    + """
extern "C" __global__ void meet(const float* in, float* out, int tiles)
{
    __shared__ barrier b;
    __shared__ float s[64];
    int t = threadIdx.x;
    if (t == 0) init(&b, COUNT);
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < tiles; ++i)
    {
        s[t] = in[(blockIdx.x * tiles + i) * 64 + t];
        FIRST;
        sum += s[63 - t];
        SECOND;
    }
    out[blockIdx.x * 64 + t] = sum;
}"""
)
WAIT = "b.arrive_and_wait()"


def meet(count="blockDim.x", first=WAIT, second=WAIT, blocks=3, tiles=4):
    """(right?, kinds of findings)."""
    source = MEET.replace("COUNT", count).replace("FIRST", first).replace("SECOND", second)
    values = np.random.default_rng(0).standard_normal(blocks * tiles * 64).astype(np.float32)
    out = np.zeros(blocks * 64, np.float32)
    kernel, args = RawKernel(source, "meet"), (values, out, np.int32(tiles))
    kernel((blocks,), (64,), args)
    wanted = np.cumsum(values.reshape(blocks, tiles, 64)[:, :, ::-1], axis=1, dtype=np.float32)[:, -1]
    found = {h.kind for h in profile(kernel, (blocks,), (64,), args).hazards}
    return np.array_equal(out, wanted.ravel()), found


def test_phases_order_a_block():
    assert meet() == (True, set())


def test_arrive_and_wait_apart():
    apart = "{ auto token = b.arrive(); b.wait(cuda::std::move(token)); }"
    assert meet(first=apart, second=apart) == (True, set())


def test_to_arrive_is_not_to_wait():
    assert meet(second="(void)b.arrive()")[1] == {"shared race"}


def test_a_barrier_for_more_threads_than_come_never_ends():
    source = MEET.replace("COUNT", "blockDim.x + 1").replace("FIRST", WAIT).replace("SECOND", WAIT)
    kernel = RawKernel(source, "meet")
    args = (np.zeros(64, np.float32), np.zeros(64, np.float32), np.int32(1))
    kernel.step_budget = 20_000
    with pytest.raises(StepBudgetError):
        kernel((1,), (64,), args)


def test_a_barrier_must_be_initialised():
    source = MEET.replace("if (t == 0) init(&b, COUNT);", "").replace("FIRST", WAIT).replace("SECOND", WAIT)
    args = (np.zeros(64, np.float32), np.zeros(64, np.float32), np.int32(1))
    with pytest.raises(EmulatorError, match=r"no barrier was initialised at shared byte"):
        RawKernel(source, "meet")((1,), (64,), args)


HANDOVER = (
    START
    + """
extern "C" __global__ void handover(const float* in, float* out, int tiles)
{
    // warps 0 and 1 fill a buffer, warps 2 and 3 empty it
    __shared__ barrier full, empty;
    __shared__ float s[64];
    int t = threadIdx.x;
    if (t == 0) { init(&full, 128); init(&empty, 128); }
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < tiles; ++i)
        if (t < 64)
        {
            if (i > 0) EMPTY;
            s[t] = in[i * 64 + t];
            (void)full.arrive();
        }
        else
        {
            full.arrive_and_wait();
            sum += s[127 - t];
            (void)empty.arrive();
        }
    if (t >= 64) out[t - 64] = sum;
}"""
)


@pytest.mark.parametrize(
    ("empty", "kinds"), [("empty.arrive_and_wait()", set()), ("(void)empty.arrive()", {"shared race"})]
)
def test_producers_and_consumers(empty, kinds):
    values, out = (
        np.random.default_rng(1).standard_normal(5 * 64).astype(np.float32),
        np.zeros(64, np.float32),
    )
    kernel, args = RawKernel(HANDOVER.replace("EMPTY", empty), "handover"), (values, out, np.int32(5))
    kernel((1,), (128,), args)
    if not kinds:
        np.testing.assert_array_equal(
            out, np.cumsum(values.reshape(5, 64)[:, ::-1], axis=0, dtype=np.float32)[-1]
        )
    assert {h.kind for h in profile(kernel, (1,), (128,), args).hazards} == kinds


COPY = (
    START
    + """
extern "C" __global__ void copy(const float* in, float* out)
{
    __shared__ barrier b;
    __shared__ __align__(16) float s[256];
    int t = threadIdx.x;
    if (t == 0) init(&b, blockDim.x);
    __syncthreads();
    cuda::memcpy_async(s + 4 * t, in + 4 * t, 4 * sizeof(float), b);
    WAIT;
    for (int i = t; i < 256; i += 64) out[i] = s[255 - i];
}"""
)


def test_copies_arrive_with_the_phase():
    values, out = np.arange(256, dtype=np.float32), np.zeros(256, np.float32)
    kernel = RawKernel(COPY.replace("WAIT", WAIT), "copy")
    kernel((1,), (64,), (values, out))
    np.testing.assert_array_equal(out, values[::-1])
    assert not profile(kernel, (1,), (64,), (values, out)).hazards


@pytest.mark.parametrize("wait", ["", "(void)b.arrive()", "__syncthreads()"])
def test_copies_nobody_waits_for_are_told(wait):
    values, out = np.arange(256, dtype=np.float32), np.zeros(256, np.float32)
    kernel = RawKernel(COPY.replace("WAIT", wait), "copy")
    kinds = {h.kind for h in profile(kernel, (1,), (64,), (values, out)).hazards}
    assert kinds & {"asynchronous copy not waited for", "shared race"}


def test_a_pipeline_of_two_stages():
    source = """
#include <cuda/pipeline>
#include <cooperative_groups.h>
extern "C" __global__ void stages(const float* in, float* out, int n)
{
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    __shared__ __align__(16) float s[2][128];
    auto block = cooperative_groups::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    float sum = 0;
    for (int filled = 0, i = 0; i < n; ++i)
    {
        for (; filled < n && filled < i + 2; ++filled)
        {
            pipe.producer_acquire();
            cuda::memcpy_async(block, s[filled % 2], in + filled * 128, sizeof(s[0]), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        sum += s[i % 2][127 - threadIdx.x];
        pipe.consumer_release();
    }
    out[threadIdx.x] = sum;
}"""
    values, out = (
        np.random.default_rng(2).standard_normal(5 * 128).astype(np.float32),
        np.zeros(128, np.float32),
    )
    kernel, args = RawKernel(source, "stages"), (values, out, np.int32(5))
    kernel((1,), (128,), args)
    np.testing.assert_array_equal(
        out, np.cumsum(values.reshape(5, 128)[:, ::-1], axis=0, dtype=np.float32)[-1]
    )
    kinds = {h.kind for h in profile(kernel, (1,), (128,), args).hazards}
    assert not kinds & {"shared race", "asynchronous copy not waited for"}
