"""Chapter 07, wave quantization: its three exercises and how each is judged."""

import numpy as np
from matplotlib.figure import Figure

from ..exercises import Exercise, Launch
from ..metric_names import ATOMICS, BLOCKS, GLOBAL_STORES
from ..promises import at_most, coalesced, exactly
from .wave_picture import gantt
from .waves import Turn, equal_shares, fixed_order, hardware_order

ROWS = "time, in rows"

BLOCK_SUM = r"""
__device__ int block_sum(int value) {  // every thread gets the sum over the 128 values of its block
    __shared__ int part[4];
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffff, value, step);
    __syncthreads();  // until nobody reads the sum before
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = value;
    __syncthreads();
    return part[0] + part[1] + part[2] + part[3];
}
"""
NO_SUM = -(2**31)  # what y holds before
COALESCED = coalesced("Let the 128 threads of the block take 128 neighbours, then the next 128.")


def _numbers(count: int) -> np.ndarray:
    return np.random.default_rng(7).integers(-99, 100, count, np.int32)


# -- split_rows: split along K -----------------------------------------------------


def _launch_split_rows(rows: int, columns: int) -> Launch:
    a, y = _numbers(rows * columns).reshape(rows, columns), np.zeros(rows, np.int32)
    return Launch((rows, 8), (128,), (y, a, np.int32(columns)), output=y, inputs=(a,))


def _picture_split_rows() -> Figure:
    whole = [Turn(place, 0, 1, 0) for place in range(3)]
    parts = hardware_order([1 / 8] * 24, 24)
    return gantt(
        {"a block a row": whole, "8 blocks a row": parts}, 24, "3 rows on 24 SMs, modelled", unit=ROWS
    )


SPLIT_ROWS = (
    BLOCK_SUM
    + r"""
extern "C" __global__ void split_rows(int* y, const int* a, int columns) {
"""
)
split_rows = Exercise(
    name="split_rows",
    task="y[r] = sum of row r. 8 blocks of 128 threads a row: blockIdx.x is the row, blockIdx.y the part. "
    "y is 0 at the start; a has gridDim.x rows.",
    entry="split_rows",
    spec=lambda a: a.sum(axis=1, dtype=np.int32),
    launch=_launch_split_rows,
    cases=[{"rows": 3, "columns": 4096}, {"rows": 5, "columns": 1027}, {"rows": 2, "columns": 5}],
    stub=SPLIT_ROWS + "    // your code here\n}\n",
    solution=SPLIT_ROWS
    + r"""    int first = columns * blockIdx.y / gridDim.y, last = columns * (blockIdx.y + 1) / gridDim.y;
    int sum = 0;
    for (int c = first + threadIdx.x; c < last; c += blockDim.x) sum += a[blockIdx.x * columns + c];
    sum = block_sum(sum);
    if (threadIdx.x == 0) atomicAdd(&y[blockIdx.x], sum);
}
""",
    promises=[
        exactly("atomic requests", ATOMICS, BLOCKS, "Add up within the block first: one atomicAdd a block."),
        COALESCED,
    ],
    hints=[
        "Part p owns the columns from columns * p / 8 up to columns * (p + 1) / 8, so that nothing is lost.",
        "Within its part, a thread takes every 128th column, and block_sum adds up the threads.",
        "8 blocks add to one y[r], in any order: atomicAdd, by one thread of each.",
    ],
    picture=_picture_split_rows,
)

# -- even_rows: blocks that stay and share out the work equally ----------------------


def _launch_even_rows(rows: int, chunks: int, blocks: int) -> Launch:
    a = _numbers(rows * chunks * 128).reshape(rows, chunks * 128)
    y = np.zeros(rows + blocks, np.int32)
    args = (y, a, np.int32(rows), np.int32(chunks))
    return Launch((blocks,), (128,), args, output=y, inputs=(a, blocks))


def _even_rows(a: np.ndarray, blocks: int) -> np.ndarray:
    """Sums of the rows, then how many chunks each block did."""
    borders = a.size // 128 * np.arange(blocks + 1) // blocks
    return np.concatenate([a.sum(axis=1), np.diff(borders)]).astype(np.int32)


def _picture_even_rows() -> Figure:
    both = {"whole rows": fixed_order([1] * 7, 6), "equal shares": equal_shares(7, 6)}
    return gantt(both, 6, "7 rows for 6 blocks that stay, modelled", unit=ROWS, place="block")


EVEN_ROWS = (
    BLOCK_SUM
    + r"""
extern "C" __global__ void even_rows(int* y, const int* a, int rows, int chunks) {
"""
)
even_rows = Exercise(
    name="even_rows",
    task="A row has `chunks` chunks of 128 elements. y[r] = sum of row r; y[rows + b] = how many chunks "
    "block b did. With all = rows * chunks, these are its chunks, counted through all rows: from "
    "all * b / gridDim.x up to, not including, all * (b + 1) / gridDim.x. y is 0 at the start.",
    entry="even_rows",
    spec=_even_rows,
    launch=_launch_even_rows,
    cases=[
        {"rows": 7, "chunks": 5, "blocks": 6},
        {"rows": 6, "chunks": 4, "blocks": 6},
        {"rows": 2, "chunks": 3, "blocks": 8},
    ],
    stub=EVEN_ROWS + "    // your code here\n}\n",
    solution=EVEN_ROWS
    + r"""    int all = rows * chunks, t = threadIdx.x;
    int next = all * blockIdx.x / gridDim.x, end = all * (blockIdx.x + 1) / gridDim.x;
    if (t == 0) y[rows + blockIdx.x] = end - next;
    while (next < end) {
        int row = next / chunks, stop = min(end, (row + 1) * chunks), sum = 0;
        for (; next < stop; ++next) sum += a[next * 128 + t];
        sum = block_sum(sum);
        if (t == 0) atomicAdd(&y[row], sum);
    }
}
""",
    promises=[
        at_most(
            "atomic requests",
            ATOMICS,
            lambda p: p[BLOCKS] + 6,
            "Add up all chunks of a row that the block has, then one atomicAdd: rows + blocks - 1 in all.",
        ),
        COALESCED,
    ],
    hints=[
        "Number the chunks through: chunk c belongs to row c / chunks and begins at element 128 * c.",
        "A block has at most a piece of a row, whole rows, and another piece: a turn of a loop each.",
        "The piece ends at the smaller of: the block's last chunk, the row's last chunk.",
    ],
    picture=_picture_even_rows,
)

# -- next_job: a queue for jobs of unequal length ------------------------------------


def _launch_next_job(jobs: int, drawn: int = 0) -> Launch:
    length = np.random.default_rng(3).permutation(np.arange(1, jobs + 1, dtype=np.int32) * 61)
    start = (np.cumsum(length) - length).astype(np.int32)
    x, y, ticket = _numbers(int(length.sum())), np.full(jobs, NO_SUM, np.int32), np.full(1, drawn, np.int32)
    args = (y, x, start, length, ticket, np.int32(jobs))
    return Launch((4,), (128,), args, output=y, inputs=(x, start, drawn))


def _next_job(x: np.ndarray, start: np.ndarray, drawn: int) -> np.ndarray:
    """The sums; of jobs that were drawn before, none."""
    return np.where(np.arange(start.size) < drawn, NO_SUM, np.add.reduceat(x, start)).astype(np.int32)


def _picture_next_job() -> Figure:
    costs = [1, 6, 2, 7, 1, 8, 2, 6, 1, 7, 1, 8]
    both = {"every 4th job": fixed_order(costs, 4), "the next job": hardware_order(costs, 4)}
    return gantt(both, 4, "12 jobs for 4 blocks that stay, modelled", place="block")


NEXT_JOB = (
    BLOCK_SUM
    + r"""
extern "C" __global__ void next_job(int* y, const int* x, const int* start, const int* length,
                                    int* ticket, int jobs) {
"""
)
next_job = Exercise(
    name="next_job",
    task="y[j] = sum of the length[j] elements of x from start[j] on. 4 blocks of 128 threads stay; each "
    "takes the next job whenever it has finished one. ticket[0] is the first job.",
    entry="next_job",
    spec=_next_job,
    launch=_launch_next_job,
    cases=[{"jobs": 12}, {"jobs": 3}, {"jobs": 17, "drawn": 2}],
    stub=NEXT_JOB + "    // your code here\n}\n",
    solution=NEXT_JOB
    + r"""    __shared__ int job;
    while (true) {
        if (threadIdx.x == 0) job = atomicAdd(ticket, 1);
        __syncthreads();
        int mine = job;
        if (mine >= jobs) return;
        int sum = 0;
        for (int i = threadIdx.x; i < length[mine]; i += 128) sum += x[start[mine] + i];
        sum = block_sum(sum);  // its barriers also keep job unchanged until all have read it
        if (threadIdx.x == 0) y[mine] = sum;
    }
}
""",
    promises=[
        exactly(
            "atomic requests",
            ATOMICS,
            lambda p: p[GLOBAL_STORES] + p[BLOCKS],
            "One atomicAdd for each job, and one a block that finds no job left.",
        ),
        COALESCED,
    ],
    hints=[
        "atomicAdd returns the value before: no two blocks get the same ticket.",
        "One thread draws; shared memory hands the number to the others. Where do the barriers belong?",
        "Whoever draws a number beyond the last job is done, and with it its whole block.",
    ],
    picture=_picture_next_job,
)
