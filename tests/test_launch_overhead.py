"""Chapter 11: its timelines against the H200, what its notebook shows, and what its sliders call."""

import numpy as np
import pytest

from course_lib import standin as cp
from course_lib.chapters import launch_agreement as agreement
from course_lib.chapters import launch_costs as costs
from course_lib.chapters import launch_exercises as exercises
from course_lib.chapters import launch_kernels as k
from course_lib.chapters import launch_tiles as tiles
from course_lib.chapters import launch_times as times
from course_lib.chapters import launch_views as views
from course_lib.chapters.launch_runs import own_stream
from course_lib.chapters.waves import finish
from course_lib.evidence import recording
from course_lib.exercises import check
from course_lib.sliders import explore
from course_lib.standin.ledger import counted_calls


class TestAgainstTheGPU:
    """Of rows to which nothing is fitted; `launch_agreement` says which are."""

    @pytest.fixture(autouse=True)
    def _needs_recordings(self):
        if any(recording(f"launch_{name}") is None for name in ("cost", "size", "rod", "copy", "streams")):
            pytest.skip("not recorded yet: run `python -m course_lib.record` on an H200")

    def test_launches_and_graphs_of_every_length(self):
        assert agreement.size_ratios() == pytest.approx([1] * 22, abs=0.15)

    def test_the_work_of_a_kernel_alone_is_what_it_adds_to_a_graph(self):
        table = recording("launch_size")
        graph = table.where(way="graph")
        each = 1e3 * graph.ms / graph["launches"]
        np.testing.assert_allclose(agreement.work_us(table), each - each[0], rtol=0.05, atol=0.2)

    def test_pipelines(self):
        ratios = agreement.stream_ratios("pinned")
        assert min(ratios) > 0.8
        assert max(ratios) < 1.25

    def test_pipelines_are_ordered_as_on_the_gpu(self):
        table = recording("launch_streams").where(memory="pinned")
        ms = table.ms[table["chunks"] != costs.MOST_CHUNKS]
        model = np.array(agreement.stream_ratios("pinned")) * ms
        apart = ms[:, None] * 1.1 < ms[None, :]
        assert not (apart & (model[:, None] > model[None, :])).any()

    def test_the_rod(self):
        ratios = agreement.rod_ratios()
        assert ratios == pytest.approx([1] * len(ratios), abs=0.15)

    def test_the_host_of_another_sweep_is_off_by_no_more_than_hosts_differ(self):
        us = costs.launch_us()
        found = agreement.rod_ratios(("empty", "busy"))
        assert min(found) == pytest.approx(us["empty"] / us["step"], abs=0.05)
        assert max(found) == pytest.approx(us["busy"] / us["step"], abs=0.05)

    def test_a_launch_costs_several_graph_nodes(self):
        table = recording("launch_cost").where(launches=1000)
        ms = dict(zip(table["way"].tolist(), table.ms.tolist(), strict=True))
        assert ms["launches"] > 4 * ms["graph"]

    def test_the_queue_beats_static_shares_and_equals_the_gpus_own(self):
        table = recording("launch_queue")
        ms = dict(zip(table["way"].tolist(), table.ms.tolist(), strict=True))
        assert ms["queue"] < ms["every 1056th"] < ms["shares"]
        assert ms["queue"] == pytest.approx(ms["one launch"], rel=0.1)
        assert ms["a launch for 132 tiles"] > 5 * ms["queue"]


def test_without_recordings_everything_says_so(nothing_recorded):
    tables = times.cost_table, times.rod_table, times.chunks_table, times.queue_table
    for show in (
        *tables,
        times.cost_words,
        times.chunks_words,
        times.rod_against_model,
        agreement.model_words,
    ):
        assert "not recorded yet" in show()
    assert times.rod_factor() is None
    assert len(times.lost_chart().axes[0].lines) == 2
    assert times.chunks_chart()


def test_shown_with_recordings():
    assert 0 < views.break_even() < 10
    for show in (
        times.cost_table,
        times.rod_table,
        times.chunks_table,
        times.queue_table,
        costs.recorded_costs,
    ):
        assert "H200" in str(show())
    assert "ratio" in times.cost_words()
    assert "times as long as to launch" in times.cost_words()
    assert [line.split(": ")[0].split(", ")[1] for line in times.rod_against_model().splitlines()] == [
        "modelled",
        "recorded",
    ]
    assert str(times.chunks_table()).count("fitted") == 1
    assert agreement.model_words().count("fitted: none") == 2


@pytest.mark.parametrize(
    ("function", "values"),
    [
        (views.show_kernels, {"kernels": [5, 10, 20, 50, 100, 200], "work_us": [0.5, 1, 2, 5, 10, 20, 50]}),
        (
            views.show_chunks,
            {"chunks": [2**i for i in range(9)], "streams": range(1, 5), "memory": ["pinned", "pageable"]},
        ),
    ],
)
def test_sliders_at_their_ends(function, values):
    for extreme in explore(function, **values).extremes():
        figure, words = function(**extreme)
        assert "modelled" in words
        assert figure.axes


def test_more_work_loses_less_and_a_graph_less_than_launches():
    lost = {way: [views.lost(way, us) for us in (1, 10, 100)] for way in views.WAYS}
    assert all(row == sorted(row, reverse=True) for row in lost.values())
    assert all(a > b > c for a, b, c in zip(*(lost[way] for way in views.WAYS), strict=True))


def test_chunks_and_streams_shorten_a_pipeline_and_pageable_memory_ends_it():
    one, two, four = (views.chunks_schedule(*case, "pinned").end for case in ((1, 1), (4, 2), (4, 4)))
    assert one > 1.5 * two > 1.5 * four
    assert views.chunks_schedule(8, 4, "pageable").end > views.chunks_schedule(1, 1, "pageable").end


def test_calls_of_a_pipeline_by_hand():
    """A copy in, a kernel and a copy out for each of 4 chunks, and a wait for each of 2 streams."""
    counted = counted_calls(views.pipeline_calls(4, 2, "pinned"))
    assert [counted[kind] for kind in ("kernel", "copy in", "copy out", "synchronise", "blocking")] == [
        4,
        4,
        4,
        2,
        0,
    ]
    assert counted["bytes in"] == counted["bytes out"] == 4 * views.ELEMENTS
    assert counted_calls(views.pipeline_calls(4, 2, "pageable"))["blocking"] == 8


def test_a_program_is_asked_without_changing_its_arrays():
    def program(cp, kernel, pair, value):
        for _ in range(3):
            kernel((1,), (1,), (pair[0], value))

    mine = cp.ones(4, cp.float32)
    step = k.STEP.compile(cp)
    assert counted_calls(views.asked(program, step, (mine, mine), 3))["kernel"] == 3
    assert (mine == 1).all()


def test_findings_are_renumbered():
    assert views.renumbered("stream 85 reads, stream 84 writes, let stream 85 wait") == (
        "stream 2 reads, stream 1 writes, let stream 2 wait"
    )


def test_hazards_of_a_program():
    def program(cp, step, one, two, event):
        first, second = own_stream(cp), own_stream(cp)
        one.set(np.ones(8, np.float32), stream=first)
        if event:
            second.wait_event(first.record())
        with second:
            step((1,), (8,), (two, one, np.int32(8)))

    given = k.STEP.compile(cp), cp.zeros(8, cp.float32), cp.zeros(8, cp.float32)
    assert views.hazards(program, *given, True) == ["nothing is left without order"]
    assert views.hazards(program, *given, False)[0].startswith("kernel 'step' in stream 2 reads")


def test_work_of_tiles_is_that_of_the_slowest_lanes():
    image = np.ones((32, 32), int)
    image[0, 0], image[1, 15], image[17, 20] = 9, 7, 5  # the first two are in one warp
    assert tiles.tile_work(image).tolist() == [8 + 8, 8, 8, 8 + 4]


def test_every_plan_does_every_tile_and_the_queue_is_the_shortest():
    image = np.random.default_rng(0).integers(1, 100, (128, 128))
    found = tiles.plans(image, 8)
    total = tiles.tile_work(image).sum()
    assert all(sum(t.end - t.start for t in turns) == pytest.approx(total) for turns in found.values())
    assert finish(found["queue"]) == min(map(finish, found.values()))
    assert "queue" in tiles.plan_words(image, 8)
    assert tiles.show_plans(image, 8)
    assert tiles.draw_tiles(image)


def test_shares_and_a_queue_give_the_same_image():
    images = tiles.shared_and_queued(cp, k.SHARES.compile(cp), k.QUEUE.compile(cp), across=4, most=20)
    assert (images["shares"] == images["queue"]).all()


def test_collatz_by_hand():
    """6, 3, 10, 5, 16, 8, 4, 2, 1 are 8 turns."""
    assert exercises._collatz(np.array([1, 2, 3, 6, 27])).tolist() == [0, 1, 7, 8, 111]


def test_an_exercise_of_the_host_takes_a_function_or_its_source(capsys):
    assert check(exercises.replay, exercises.replay.solution).solved

    def replay(cp, step, batches, results, rods, steps):
        """Not yet."""
        n = rods[0].size  # noqa: F841
        stream = cp.cuda.Stream(non_blocking=True)  # noqa: F841

    assert check(exercises.replay, replay).reason == "unsolved"
    source = exercises.replay.stub.replace("    # your code here\n", "    # I will think about it\n")
    assert check(exercises.replay, source).reason == "unsolved"
    assert check(exercises.replay, "def replay(:").reason == "error"
    assert "there is no function 'replay'" in check(exercises.replay, "def other(): pass").message
    assert "NameError" in check(exercises.replay, exercises.replay.stub + "    helper()\n").message
    with pytest.raises(TypeError, match="a Python function or its source"):
        check(exercises.replay, 3)
    capsys.readouterr()


def test_an_open_capture_is_ended_before_the_next_answer():
    broken = exercises.replay.stub + "    with stream:\n        stream.begin_capture()\n        1 / 0\n"
    assert check(exercises.replay, broken).reason == "error"
    assert check(exercises.replay, exercises.replay.solution).solved
