"""Barriers that not every thread reaches: who is named, what is silent, and that nothing hangs."""

import numpy as np
import pytest

from course_lib.emulator.errors import DeadlockError, StepBudgetError
from course_lib.profile import profile

from .cuda import kernel, launched, run
from .hazards import findings, kinds

MISSED = {"divergent barrier"}
S = "__shared__ int s[128];"


def named(number: int, count: int) -> str:
    return f'asm volatile("bar.sync {number}, {count};" ::: "memory");'


# -- threads that miss a barrier ---------------------------------------------------


def test_a_barrier_in_a_branch_names_who_skipped_it() -> None:
    body = f"{S}\nif (t < 14) {{\ns[t] = t;\n__syncthreads();\n}}\nout[t] = t;"
    (hazard,) = findings(body, block=32)
    assert (hazard.kind, hazard.line, hazard.block) == ("divergent barrier", 6, (0, 0, 0))
    assert (hazard.thread, hazard.occurrences) == ((14, 0, 0), 18)
    assert "threads 14-31 run past the barrier in line 6" in hazard.message
    assert "while 14 threads of their block wait" in hazard.message


def test_a_barrier_past_a_continue_is_told_and_the_kernel_ends() -> None:
    body = """
    for (int k = 0; k < 4; ++k) {
        if ((t + k) % 3 == 0) continue;
        out[t] += k;
        __syncthreads();
        out[t] += 1;
    }"""
    (hazard,) = findings(body, block=32)
    assert (hazard.kind, hazard.line) == ("divergent barrier", 7)
    assert "threads 0, 3, 6, 9" in hazard.message
    out = run(f"int t = threadIdx.x; {body}", np.zeros(32, np.int32))
    rounds = [[k for k in range(4) if (t + k) % 3] for t in range(32)]
    assert out.tolist() == [sum(one) + len(one) for one in rounds]


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("if (t < 32) { out[t] = 1; __syncthreads(); } out[t] += 1;", MISSED),  # a whole warp
        ("for (int k = 0; k <= t / 32; ++k) __syncthreads(); out[t] = 1;", MISSED),
        ("for (int k = 0; k < 3; ++k) __syncthreads(); out[t] = 1;", set()),
        ("if (blockIdx.x == 1) __syncthreads(); out[blockIdx.x * 64 + t] = 1;", set()),  # all of a block
        ("if (out[0] == 0) __syncthreads(); __syncthreads(); out[t] = 1;", set()),
        ("if (t & 1) { __syncthreads(); out[t] = 1; } else { __syncthreads(); out[t] = 2 * t; }", MISSED),
    ],
)  # fmt: skip
def test_all_threads_of_a_block_must_meet(body: str, wanted: set[str]) -> None:
    out = np.zeros(128, np.int32)
    grid = 2 if "blockIdx" in body else 1
    assert kinds(body, out, grid=grid) == wanted


def test_barriers_in_both_branches_are_two() -> None:
    body = """
    if (t < 16) {
        out[t] = 1;
        __syncthreads();
        out[t] = 2;
    } else {
        out[t] = 3;
        __syncthreads();
    }"""
    (hazard,) = findings(body, block=32)
    assert hazard.kind == "divergent barrier"
    assert "threads 0-15 in line 6; threads 16-31 in line 10" in hazard.message


@pytest.mark.parametrize(
    "body",
    [
        f"{S} if (t >= 40) return; s[t] = t; __syncthreads(); out[t] = s[39 - t];",
        f"{S} if (t % 32 == 5) return; s[t] = t; __syncthreads(); out[t] = s[t];",
        "if (t > 7) return; for (int k = 0; k < 9; ++k) __syncthreads(); out[t] = 1;",
        "for (int k = 0; k < 9; ++k) { if (k == t) return; out[t] = k; __syncthreads(); } out[t] = t;",
    ],
)
def test_threads_that_exited_do_not_count(body: str) -> None:
    assert kinds(body) == set()


# -- barriers by number ------------------------------------------------------------


def test_halves_of_a_block_by_two_barriers() -> None:
    body = f"{S} s[t] = t; if (t < 64) {{ {named(1, 64)} }} else {{ {named(2, 64)} }} out[t] = s[t ^ WORD];"
    assert kinds(body.replace("WORD", "32"), block=128) == set()
    assert kinds(body.replace("WORD", "64"), block=128) == {"shared race"}


def test_a_barrier_per_pair_of_warps() -> None:
    body = f"{S} s[t] = t; int b = 1 + t / 64;" + 'asm volatile("bar.sync %0, 64;" :: "r"(b) : "memory");'
    assert kinds(f"{body} out[t] = s[t ^ 32];", block=128) == set()
    assert kinds(f"{body} out[t] = s[t ^ 64];", block=128) == {"shared race"}


PRODUCER = """
    __shared__ int s[32];
    if (t < 32) {
        for (int k = 0; k < 6; ++k) {
            EMPTY
            s[t] = 100 * k + t;
            asm volatile("bar.arrive 1, 96;" ::: "memory");
        }
    } else {
        int sum = 0;
        for (int k = 0; k < 6; ++k) {
            asm volatile("bar.sync 1, 96;" ::: "memory");
            sum += s[(t + k) % 32];
            if (k < 5) asm volatile("bar.arrive 2, 96;" ::: "memory");
        }
        out[t] = sum;
    }"""


def test_producers_and_consumers() -> None:
    waits = 'if (k > 0) asm volatile("bar.sync 2, 96;" ::: "memory");'
    assert kinds(PRODUCER.replace("EMPTY", waits), block=96) == set()


def test_a_store_after_the_arrival_is_not_covered_by_it() -> None:
    arrive, store = 'asm volatile("bar.arrive 1, 64;" ::: "memory");', "s[t] = t;"
    body = f"{S} s[t] = 0; __syncthreads(); if (t < 32) {{ TWO }}"
    body += f" else {{ {named(1, 64)} out[t] = s[t - 32]; }}"
    assert kinds(body.replace("TWO", store + arrive)) == set()
    assert kinds(body.replace("TWO", arrive + store)) == {"shared race"}


# -- barriers that never complete --------------------------------------------------


def test_waiting_for_each_other() -> None:
    body = f"\nif (threadIdx.x < 32) {{\n{named(1, 64)}\n}} else {{\n{named(2, 64)}\n}}"
    with pytest.raises(DeadlockError) as raised:
        run(body, np.zeros(64, np.int32), grid=2, block=64)
    text = str(raised.value)
    assert "block (0, 0, 0) is stuck" in text
    assert "threads 0-31 wait at barrier 1 in line 4" in text
    assert "threads 32-63 wait at barrier 2 in line 6" in text
    assert "Barrier 1 needs 64 threads" in text


def test_more_threads_than_there_are() -> None:
    with pytest.raises(DeadlockError, match=r"threads 0-63 wait .* Barrier 1 needs 128 threads"):
        run(named(1, 128), np.zeros(64, np.int32), block=64)


def test_threads_that_left_do_not_fill_a_counted_barrier() -> None:
    with pytest.raises(DeadlockError, match="threads 0-31 wait"):
        run(f"if (threadIdx.x >= 32) return; {named(1, 64)}", np.zeros(64, np.int32), block=64)


def test_the_next_launch_works() -> None:
    with pytest.raises(DeadlockError):
        run(named(1, 128), np.zeros(64, np.int32), block=64)
    assert run("__syncthreads(); out[threadIdx.x] = 1;", np.zeros(64, np.int32), block=64).all()


# -- order of blocks ---------------------------------------------------------------


def test_a_seed_shuffles_the_blocks() -> None:
    made = kernel("if (threadIdx.x == 0) out[blockIdx.x] = atomicAdd(out + 64, 1);")
    orders = set()
    for seed in (None, 1, 2, 3):
        out = np.zeros(65, np.int32)
        launched(made, 64, 32, (out,), seed=seed)
        assert sorted(out[:64]) == list(range(64))
        orders.add(tuple(out[:64]))
    assert len(orders) == 4


def test_counts_do_not_depend_on_the_seed() -> None:
    made = kernel("int i = blockIdx.x * 64 + threadIdx.x; if (i % 3) out[i] += i;")
    counts = [dict(profile(made, (40,), (64,), (np.zeros(2560, np.int32),), seed=s)) for s in (None, 5)]
    assert counts[0] == counts[1]


def test_pairs_of_warps_that_meet_at_one_instruction_skip_nothing() -> None:
    """Warps 0 and 1 pass the barrier that warps 2 and 3 wait at, for theirs has another number."""
    late = "if (t >= 96) for (int k = 0; k < 50; ++k) s[t] += k;"
    sync = 'asm volatile("bar.sync %0, 64;" :: "r"(1 + t / 64) : "memory");'
    body = f"{S} s[t] = t; {late} for (int k = 0; k < 3; ++k) {{ {sync} s[t] += 1; }} out[t] = s[t];"
    assert kinds(body, block=128) == set()


def test_roles_may_meet_at_a_named_barrier_each_in_its_own_code() -> None:
    body = f"{S} s[t] = t;\nif (t < 32) {{ {named(1, 64)} }}\nelse {{ {named(1, 64)} }}\nout[t] = s[t ^ 32];"
    assert kinds(body, block=64) == set()


def test_different_counts_for_one_barrier_are_told() -> None:
    arrive = 'asm volatile("bar.arrive 1, COUNT;" ::: "memory");'
    body = f"{S} s[t] = t; if (t < 32) {{ {arrive} }} else {{ {named(1, 64)} }} out[t] = s[t];"
    assert kinds(body.replace("COUNT", "64"), block=64) == set()
    assert kinds(body.replace("COUNT", "96"), block=64) == {"barrier counts differ"}


@pytest.mark.parametrize("first", ["bar.sync 1;", "bar.sync 1, 64;"])
def test_a_count_and_none_at_one_barrier(first: str) -> None:
    """Without a number all threads of the block are meant: in a block of 64, 64; in one of 96, others."""
    second = {"bar.sync 1;": "bar.sync 1, 64;", "bar.sync 1, 64;": "bar.sync 1;"}[first]
    body = f'if (t < 32) asm volatile("{first}"); else if (t < 64) asm volatile("{second}"); out[t] = 1;'
    assert kinds(body, block=64) == set()
    assert "barrier counts differ" in kinds(body, block=96)


def test_a_deadlock_names_who_arrived_and_for_how_many() -> None:
    arrive = 'asm volatile("bar.arrive 1, 96;" ::: "memory");'
    body = f"if (threadIdx.x < 32) {{ {arrive} }} else {{ {named(1, 96)} }}"
    with pytest.raises(DeadlockError) as raised:
        run(body, np.zeros(64, np.int32), block=64)
    assert "threads 32-63 wait at barrier 1" in str(raised.value)
    assert "threads 0-31 arrived at barrier 1 in line 2, for 96 threads" in str(raised.value)


def test_an_arrival_too_many_is_told_even_where_it_ends_in_a_deadlock() -> None:
    """Warp 0 arrives twice before warp 1 has waited once: the two arrivals and the wait are 96, not 64."""
    arrive = 'asm volatile("bar.arrive 1, 64;" ::: "memory");'
    body = f"if (threadIdx.x < 32) {{ {arrive} {arrive} }} else {{ {named(1, 64)} {named(1, 64)} }}"
    with pytest.raises(
        DeadlockError, match="Before that: barrier counts differ: barrier 1 is reached"
    ) as raised:
        profile(kernel(body), (1,), (64,), (np.zeros(64, np.int32),))
    assert [hazard.kind for hazard in raised.value.hazards] == ["barrier counts differ"]


def test_a_kernel_that_never_ends_tells_what_was_found_before() -> None:
    body = f"{S} int t = threadIdx.x; s[t] = t; out[t] = s[t ^ 32]; while (out[0] >= 0) ;"
    made = kernel(body, "volatile int *out")
    made.step_budget = 2000
    with pytest.raises(StepBudgetError, match="Before that: ") as raised:
        profile(made, (1,), (64,), (np.zeros(64, np.int32),))
    assert "shared race" in {hazard.kind for hazard in raised.value.hazards}
