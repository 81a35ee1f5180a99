"""Chapter 11, launch overhead: its three exercises, one on a kernel and two on the host's side."""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from .. import standin
from ..exercises import Exercise, Launch
from ..host_exercises import HostExercise, Program
from ..kernels import Kernel
from ..metric_names import ATOMICS, GLOBAL_STORES
from ..promises import at_most, exactly
from . import launch_kernels as k
from .launch_runs import pinned
from .launch_views import compare_chunks, repeated_graphs
from .wave_picture import gantt as blocks_gantt
from .waves import fixed_order, hardware_order

BLOCKS, THREADS = 2, 128

# -- collatz: a queue for warps ------------------------------------------------------


def _launch_collatz(n: int, drawn: int = 0) -> Launch:
    rng = np.random.default_rng(5)
    # every 32 numbers have a size, and so a cost, of their own
    longest = 10 ** rng.integers(0, 6, -(-n // 32))
    x = rng.integers(1, np.repeat(longest, 32)[:n], endpoint=True).astype(np.int32)
    x[x.argmax()] = 113_383  # its largest value on the way, 2,482,111,348, is no int
    turns, ticket = np.zeros(n, np.int32), np.full(1, drawn, np.int32)
    return Launch((BLOCKS,), (THREADS,), (turns, x, ticket, np.int32(n)), output=turns, inputs=(x, drawn))


def _collatz(x: np.ndarray, drawn: int = 0) -> np.ndarray:
    """How many turns each number takes to 1; 0 for those of tickets that were drawn before."""
    now, turns = x.astype(np.int64), np.zeros(x.size, np.int32)
    while (now > 1).any():
        turns += now > 1
        now = np.where(now > 1, np.where(now % 2, 3 * now + 1, now // 2), now)
    turns[: 32 * drawn] = 0
    return turns


def _picture_collatz() -> Figure:
    x = _launch_collatz(600).inputs[0]
    costs = [int(_collatz(x[first : first + 32]).max()) for first in range(0, 600, 32)]
    both = {"every 8th 32 numbers": fixed_order(costs, 8), "the next 32 numbers": hardware_order(costs, 8)}
    return blocks_gantt(
        both,
        8,
        "600 numbers for 8 warps, modelled",
        unit="time, in turns of the slowest lane",
        place="warp",
        piece="32 numbers",
    )


COLLATZ = r"""
extern "C" __global__ void collatz(int* turns, const int* x, int* ticket, int n) {
"""
collatz = Exercise(
    name="collatz",
    task="turns[i] += how often x[i] must be halved (if even) or replaced by 3 x[i] + 1 (if odd) until "
    "it is 1. 2 blocks of 128 threads stay; each warp draws the next 32 numbers whenever it has finished "
    "some. turns are 0 at the start; ticket[0] counts the draws, and may begin above 0.",
    entry="collatz",
    spec=_collatz,
    launch=_launch_collatz,
    cases=[{"n": 600}, {"n": 64}, {"n": 333, "drawn": 2}, {"n": 5}],
    stub=COLLATZ + "    // your code here\n}\n",
    solution=COLLATZ
    + r"""    int lane = threadIdx.x % 32;
    while (true) {
        int first = 0;
        if (lane == 0) first = 32 * atomicAdd(ticket, 1);
        first = __shfl_sync(0xffffffff, first, 0);
        if (first >= n) return;
        int i = first + lane, count = 0;
        if (i < n)
            for (long long v = x[i]; v != 1; ++count) v = v % 2 ? 3 * v + 1 : v / 2;
        if (i < n) turns[i] += count;
    }
}
""",
    promises=[
        exactly(
            "atomic requests",
            ATOMICS,
            lambda p: p[GLOBAL_STORES] + BLOCKS * THREADS // 32,
            "One atomicAdd for 32 numbers, by one lane, and one more a warp that finds none left.",
        ),
    ],
    hints=[
        "Lane 0 draws; __shfl_sync gives its number to the other lanes. No barrier of the block is needed.",
        "Ticket t stands for the numbers from 32 t on, one for each lane.",
        "The warp leaves as a whole, when its first number is n or more. Before, a lane may have none.",
        "Wrong numbers, or no end? 113,383 gets to 2,482,111,348, more than an int can hold: `long long v`.",
    ],
    picture=_picture_collatz,
)

# -- in_chunks: a pipeline with a tail -------------------------------------------------

SQUARE = Kernel(
    "square",
    r"""
extern "C" __global__ void square(float* out, const float* in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * in[i];
}
""",
)


def _launch_in_chunks(n: int, size: int, streams: int) -> Program:
    x, y = pinned(standin, n), pinned(standin, n)
    x[:], y[:] = np.random.default_rng(5).random(n, np.float32), np.nan
    device = standin.zeros(n, standin.float32), standin.zeros(n, standin.float32)
    own = [standin.cuda.Stream(non_blocking=True) for _ in range(streams)]
    return Program((SQUARE.compile(standin), x, y, device, size, own), y, (x,))


IN_CHUNKS = '''def in_chunks(cp, square, x, y, device, size, streams):
    """y = x * x in chunks of `size` elements; chunk c goes through stream c % len(streams)."""
    given, made = device  # arrays on the GPU, as long as x
'''
in_chunks = HostExercise(
    name="in_chunks",
    task="y = x * x, in chunks of `size` elements, the last one as long as it is. Chunk c goes through "
    "streams[c % len(streams)]: copy in, square(grid, block, (out, in, n)), copy out. x and y are pinned. "
    "y is complete when the function returns.",
    entry="in_chunks",
    spec=lambda x: x * x,
    launch=_launch_in_chunks,
    cases=[
        {"n": 1024, "size": 256, "streams": 2},
        {"n": 1000, "size": 256, "streams": 3},
        {"n": 100, "size": 256, "streams": 2},
    ],
    stub=IN_CHUNKS + "    # your code here\n",
    solution=IN_CHUNKS
    + """    for turn, low in enumerate(range(0, x.size, size)):
        stream, high = streams[turn % len(streams)], min(low + size, x.size)
        grid, n = ((high - low + 127) // 128,), np.int32(high - low)
        with stream:
            given[low:high].set(x[low:high])
            square(grid, (128,), (made[low:high], given[low:high], n))
            made[low:high].get(out=y[low:high], blocking=False)
    for stream in streams:
        stream.synchronize()
""",
    promises=[
        exactly("kernels", "kernel", lambda c: -(-c["n"] // c["size"]), "One kernel a chunk."),
        exactly("bytes copied to the GPU", "bytes in", lambda c: 4 * c["n"], "Copy each element once."),
        exactly(
            "streams used",
            "streams used",
            lambda c: min(c["streams"], -(-c["n"] // c["size"])),
            "Take the streams by turns: streams[c % len(streams)].",
        ),
        exactly("copies that hold up the host", "blocking", 0, "get(..., blocking=False)."),
        exactly("streams that wait for another", "wait", 0, "No chunk needs another one: let none wait."),
        at_most(
            "waits of the host",
            "synchronise",
            "streams",
            "Give all orders first, then wait once for each stream: a wait in the loop ends the overlap. "
            "Asking `done` until it is true is waiting too.",
        ),
    ],
    hints=[
        "range(0, x.size, size) gives the first element of each chunk. The last chunk ends at x.size.",
        "Inside `with stream:`, set, get and the launch all go to that stream.",
        "a[low:high] is a view: its set and get copy only that part, and a kernel gets its first element.",
    ],
    rtol=1e-6,
    picture=lambda: compare_chunks((4, 1, "pinned"), (4, 2, "pinned"), (4, 4, "pinned")),
)

# -- replay: a graph with new input -----------------------------------------------------


CELLS = 300


def _batch_bytes(case: Mapping) -> int:
    return 4 * CELLS * case["batches"]


def _launch_replay(batches: int, steps: int) -> Program:
    n = CELLS
    given, results = pinned(standin, batches * n), pinned(standin, batches * n)
    given[:], results[:] = np.random.default_rng(9).random(batches * n, np.float32), np.nan
    given, results = given.reshape(batches, n), results.reshape(batches, n)
    rods = [standin.zeros(n, standin.float32) for _ in range(2)]
    return Program((k.STEP.compile(standin), given, results, rods, steps), results, (given, steps))


def _replayed(batches: np.ndarray, steps: int) -> np.ndarray:
    now = batches.astype(np.float64)
    for _ in range(steps):
        now[:, 1:-1] = 0.5 * now[:, 1:-1] + 0.25 * (now[:, :-2] + now[:, 2:])
    return now.astype(np.float32)


REPLAY = '''def replay(cp, step, batches, results, rods, steps):
    """results[b] = batches[b] after `steps` steps, by one graph that is launched for every batch."""
    n = rods[0].size  # step(grid, block, (next, now, np.int32(n)))
    stream = cp.cuda.Stream(non_blocking=True)
'''
replay = HostExercise(
    name="replay",
    task="results[b] = the rod batches[b] after `steps` launches of `step`. Capture the launches once, from "
    "rods[0] to rods[1] and back; then launch the graph once for every batch. batches and results are "
    "pinned arrays of the host, rods are two arrays on the GPU.",
    entry="replay",
    spec=_replayed,
    launch=_launch_replay,
    cases=[{"batches": 3, "steps": 4}, {"batches": 2, "steps": 5}],
    stub=REPLAY + "    # your code here\n",
    solution=REPLAY
    + """    with stream:
        stream.begin_capture()
        for i in range(steps):
            now, following = rods[i % 2], rods[1 - i % 2]
            step(((n + 127) // 128,), (128,), (following, now, np.int32(n)))
        graph = stream.end_capture()
        for batch, result in zip(batches, results):
            rods[0].set(batch)
            graph.launch()
            rods[steps % 2].get(out=result)
""",
    promises=[
        exactly("captures", "capture", 1, "A graph can be launched again: capture before the loop."),
        exactly("graphs launched", "graph", "batches", "One launch of the graph for each batch."),
        exactly("kernels launched one by one", "kernel", 0, "Launch them within the capture."),
        exactly(
            "kernels in the graphs", "nodes", lambda c: c["batches"] * c["steps"], "`steps` kernels a graph."
        ),
        exactly("bytes copied to the GPU", "bytes in", _batch_bytes, "Copy each batch once."),
        exactly("bytes copied to the host", "bytes out", _batch_bytes, "Copy each result once."),
    ],
    hints=[
        "Nothing runs during a capture. Copies of a batch belong outside of it.",
        "The graph keeps the addresses of the capture, so new input must go into the same array: rods[0].",
        "After an odd number of steps the result is in rods[1].",
    ],
    rtol=1e-5,
    picture=repeated_graphs,
)
