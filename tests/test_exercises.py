"""Every exercise: the stub is not accepted, the solution is, each wrong kernel is rejected as written in it.

A wrong kernel is `wrong_kernels/<exercise>/<name>.cu`; its first line is `// rejected: <reason> — <why>`. For
an exercise in Python it is `<name>.py`, and the line begins with `#`. What is in `right_kernels` is accepted;
it begins with `// accepted — <why>`.
"""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from course_lib.chapters import all_exercises
from course_lib.chapters.start_timer import check_timer, mend_clock
from course_lib.exercises import Exercise, Launch, Verdict, check
from course_lib.promises import at_least, at_most, exactly, ratio

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
RIGHT = Path(__file__).parent / "right_kernels"
ACCEPTED = sorted(RIGHT.glob("*/*.*"))
WRONG = Path(__file__).parent / "wrong_kernels"
LD_REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
LD_SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"

HEAD = 'extern "C" __global__ void twice(float *y, const float *x, int n) {\n'
STUB = HEAD + "    // your code here\n}\n"
SOLUTION = (
    HEAD + "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) y[i] = 2.0f * x[i];\n}\n"
)


def launch_twice(n: int) -> Launch:
    x = np.arange(n, dtype=np.float32)
    y = np.full(n, np.nan, np.float32)
    return Launch(grid=(-(-n // 128),), block=(128,), args=(y, x, np.int32(n)), output=y, inputs=(x,))


def sample() -> Exercise:
    return Exercise(
        name="sample_twice",
        task="Store 2 * x[i] in y[i] for all n elements.",
        entry="twice",
        spec=lambda x: 2 * x,
        launch=launch_twice,
        cases=[{"n": 512}, {"n": 1000}, {"n": 31}],
        stub=STUB,
        solution=SOLUTION,
        promises=[
            at_most(
                "sectors per load request",
                ratio(LD_SECTORS, LD_REQUESTS),
                4,
                "Let neighbours read neighbours.",
            )
        ],
        hints=["Which element is thread i's?", "Guard the last block."],
    )


EXERCISES = {**all_exercises(), "sample_twice": sample()}
REJECTED = sorted(path for path in WRONG.glob("*/*.*") if path.suffix in (".cu", ".py"))


@pytest.mark.parametrize("name", EXERCISES)
def test_stub_is_not_accepted(name, capsys):
    verdict = check(EXERCISES[name], EXERCISES[name].stub)
    assert (verdict.solved, verdict.reason) == (False, "unsolved")
    assert capsys.readouterr().out.startswith("not solved yet")


@pytest.mark.parametrize("name", EXERCISES)
def test_solution_is_accepted(name):
    verdict = check(EXERCISES[name], EXERCISES[name].solution)
    assert (verdict.solved, verdict.reason) == (True, "solved"), verdict.message


@pytest.mark.parametrize("path", REJECTED, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_wrong_kernel_is_rejected_for_the_written_reason(path):
    source = path.read_text(encoding="utf-8")
    prefix, reason_and_why = source.split("\n", 1)[0].split(": ", 1)
    reason, why = reason_and_why.split(" — ", 1)
    assert prefix == ("# rejected" if path.suffix == ".py" else "// rejected")
    assert why
    if path.parent.name == mend_clock.name:
        verdict = check_timer(_timer(source))
    else:
        verdict = check(EXERCISES[path.parent.name], source)
    assert not verdict.solved
    assert verdict.reason == reason, verdict.message


def _timer(source: str):
    names: dict = {}
    exec(source, names)
    return names["my_time"]


def test_right_kernels_are_found():
    assert {path.suffix for path in ACCEPTED} == {".cu", ".py"}


@pytest.mark.parametrize("path", ACCEPTED, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_another_right_kernel_is_accepted(path):
    source = path.read_text(encoding="utf-8")
    assert re.match(r"# accepted — \w" if path.suffix == ".py" else r"// accepted — \w", source)
    verdict = check(EXERCISES[path.parent.name], source)
    assert (verdict.solved, verdict.reason) == (True, "solved"), verdict.message


@pytest.mark.parametrize("name", EXERCISES)
def test_exercise_is_complete(name):
    exercise = EXERCISES[name]
    assert sum(path.parent.name == name for path in REJECTED) >= 3
    assert len(exercise.cases) >= 2
    assert exercise.hints
    assert exercise.promises
    assert re.search(r"(//|#) your code here", exercise.stub)


def code_cells(folder: Path) -> list[str]:
    notebooks = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.ipynb"))]
    cells = [cell for notebook in notebooks for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return ["".join(cell["source"]) for cell in cells]


@pytest.mark.parametrize("name", all_exercises())
def test_a_notebook_has_the_stub_and_its_twin_the_solution(name):
    exercise = EXERCISES[name]
    assert sum(exercise.stub.strip() in cell for cell in code_cells(NOTEBOOKS)) == 1
    assert sum(exercise.solution.strip() in cell for cell in code_cells(NOTEBOOKS / "solutions")) == 1


def message(source: str) -> str:
    return check(sample(), source).message


def test_messages_say_what_is_wrong_and_what_next():
    wrong = {
        path.stem: message(path.read_text(encoding="utf-8")) for path in (WRONG / "sample_twice").glob("*.cu")
    }
    assert "n=512" in wrong["last_element_missing"]
    assert "1 of 512 elements differ; first at [511]: expected 1022, got nan" in wrong["last_element_missing"]
    assert "Next: NaN marks what was never written" in wrong["last_element_missing"]
    assert "promised at most 4" in wrong["strided"]
    assert "Next: Let neighbours read neighbours." in wrong["strided"]
    assert "n=1000" in wrong["no_bounds_check"]
    assert "Next: Guard the access or check the index" in wrong["no_bounds_check"]
    assert "shared race" in wrong["missing_barrier"]
    assert "Next: Put a barrier between" in wrong["missing_barrier"]
    assert wrong["missing_semicolon"].startswith("error, CompileError: twice, line ")
    assert "Next: Mend the first error" in wrong["missing_semicolon"]


def test_a_shape_that_fails_after_others_passed_points_to_the_edge():
    source = SOLUTION.replace("2.0f * x[i]", "(n % 128 ? 3.0f : 2.0f) * x[i]")
    assert "n=512 was right: look at the threads at the edge" in message(source)


def test_solved_message_lists_the_counters():
    text = message(SOLUTION)
    assert text.startswith("solved: right answer for 3 shapes, no hazard.")
    assert "sectors per load request: counted 4, promised at most 4 (n=512)" in text


def test_a_comment_or_space_does_not_turn_a_stub_into_an_attempt():
    assert check(sample(), STUB.replace("your code here", "hmm") + "\n/* not\nyet */").reason == "unsolved"
    assert check(sample(), SOLUTION.replace("int i", "// your code here\n    int i")).reason == "solved"


def test_check_takes_a_raw_kernel_and_refuses_anything_else():
    from course_lib.emulator import RawKernel

    assert check(sample(), RawKernel(SOLUTION, "twice")).solved
    with pytest.raises(TypeError, match="not int"):
        check(sample(), 3)


def test_a_kernel_of_another_name_is_an_error():
    assert check(sample(), SOLUTION.replace("twice", "thrice")).reason == "error"


def test_integers_are_compared_exactly():
    big = 10**7

    def launch(n: int) -> Launch:
        y = np.zeros(n, np.int32)
        return Launch((1,), (n,), (y,), y, (n,))

    exercise = sample()
    exercise.entry, exercise.launch, exercise.promises = "twice", launch, []
    exercise.cases, exercise.spec = [{"n": 4}], lambda n: np.full(n, big, np.int32)
    source = 'extern "C" __global__ void twice(int *y) { y[threadIdx.x] = %d; }'
    assert check(exercise, source % big).solved
    assert check(exercise, source % (big + 1)).reason == "wrong answer"


def test_hints_come_one_by_one(capsys):
    exercise = sample()
    for _ in range(3):
        exercise.hint()
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "Hint 1 of 2: Which element is thread i's?"
    assert out[1].startswith("Hint 2 of 2")
    assert out[2].startswith("No more hints")


def test_promises_compare_metrics_numbers_and_functions():
    profile = {"a": 8, "b": 2, "c": 0}
    assert at_most("", "a", 8).read(profile) == (8, 8, True)
    assert at_most("", "a", "b").read(profile) == (8, 2, False)
    assert exactly("", ratio("a", "b"), 4).read(profile) == (4, 4, True)
    assert at_least("", "b", lambda p: p["a"]).read(profile) == (2, 8, False)
    assert ratio("a", "c")(profile) == 0


def test_a_verdict_and_an_exercise_in_words(capsys):
    assert Verdict(True, "solved", "x")._ipython_display_() is None
    assert repr(sample()).splitlines() == [
        "Exercise sample_twice: Store 2 * x[i] in y[i] for all n elements.",
        "  kernel: twice",
        "  shapes: n=512; n=1000; n=31",
        "  promise: sectors per load request at most 4",
    ]


def test_an_endless_loop_gets_a_verdict_within_its_budget():
    from course_lib.emulator import RawKernel

    kernel = RawKernel(HEAD + "    while (n) y[blockIdx.x * 128 + threadIdx.x] += x[0];\n}", "twice")
    kernel.step_budget = 1_000
    verdict = check(sample(), kernel)
    assert verdict.reason == "error"
    assert "stopped after 1,000 steps" in verdict.message
    assert "\nNext: Look at the loop" in verdict.message


def test_the_stub_names_the_call_for_a_hint():
    assert "Stuck? Call sample_twice.hint()." in message(STUB)


def test_a_kernel_that_spoils_its_input_does_not_change_what_is_expected():
    """The specification of this exercise returns a view of its input."""
    exercise = EXERCISES["split_bodies"]
    start = exercise.solution.index("{") + 1
    spoil = " if (blockIdx.x == 0 && threadIdx.x == 0) ((float *)bodies)[0] = 99; "
    verdict = check(exercise, exercise.solution[:start] + spoil + exercise.solution[start:])
    assert verdict.reason == "wrong answer", verdict.message


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ("float *y, int n, const float *x", True),
        ("float *y, const float *x, float n", True),
        ("float *out, const float *__restrict__ in, const int count", False),
    ],
)
@pytest.mark.filterwarnings("error")
def test_other_parameters_than_those_of_the_stub(parameters, said):
    source = f'extern "C" __global__ void twice({parameters}) {{ }}'
    assert ("\nKeep the parameters of the stub: float* y, float* x, int n." in message(source)) == said


def test_each_promise_is_said_once_for_the_shape_nearest_to_its_bound():
    exercise = sample()
    exercise.promises = [at_most("blocks", "launch__grid_size", 9), at_least("blocks at least", 8.0, 1)]
    lines = check(exercise, SOLUTION).message.splitlines()[1:]
    assert lines == [
        "blocks: counted 8, promised at most 9 (n=1000)",
        "blocks at least: counted 8, promised at least 1 (n=512)",
    ]


def test_a_copy_not_waited_for_comes_before_the_race_that_it_makes():
    exercise = EXERCISES["blur_rows"]
    verdict = check(exercise, exercise.solution.replace("wait<0>", "wait<1>"))
    assert "asynchronous copy not waited for: thread 0" in verdict.message
    assert "Next: Wait for the copy" in verdict.message


def test_a_race_is_named_before_the_loop_that_it_keeps_going():
    verdict = check(sample(), HEAD + "    while (n) y[threadIdx.x] += x[0];\n}")
    assert verdict.reason == "hazard"
    assert verdict.message.startswith("hazard, for n=512: global race: ")
    assert "The kernel did not end, either: stopped after 200,000 steps" in verdict.message
    assert "use atomicAdd" in verdict.message


def test_a_race_for_a_ticket_is_no_case_for_a_barrier_alone():
    source = (WRONG / "collatz" / "plain_ticket.cu").read_text(encoding="utf-8")
    assert "or use an atomic operation where both change it" in check(EXERCISES["collatz"], source).message


@pytest.mark.parametrize(("factor", "said"), [("2.001f", "Nearly right"), ("1e38f * 1e38f", "too large")])
def test_rounding_and_overflow_are_told_from_a_wrong_index(factor, said):
    assert said in message(SOLUTION.replace("2.0f", factor).replace("x[i]", "(x[i] + 1e-30f)"))
