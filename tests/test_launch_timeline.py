"""Chapter 11: who does what when, by hand, and the picture of it."""

from course_lib.chapters.launch_picture import gantt
from course_lib.chapters.launch_timeline import HOST, IN, OUT, SM, Costs, schedule
from course_lib.standin.ledger import Operation

ROUND = Costs(
    launch=5, copy=4, graph=3, record=1, wait=1, synchronise=1, start=2, gap=1, node=0.5,
    pinned=(50, 50), pageable=(10, 20),
)  # fmt: skip
KERNEL = Operation("kernel", "k", 1)
SYNC = Operation("synchronise", stream=1)


def timeline(*operations: Operation, work: float = 10):
    return schedule(operations, ROUND, lambda operation: work)


def spans(made, row: str) -> list[tuple[float, float]]:
    return [(bar.start, bar.end) for bar in made.bars if bar.row == row]


class TestTimelineByHand:
    def test_long_kernels_wait_for_each_other(self):
        made = timeline(KERNEL, KERNEL, SYNC)
        assert spans(made, SM) == [(7, 17), (18, 28)]  # 5 to order, 2 to start, 1 between
        assert spans(made, HOST) == [(0, 5), (5, 10), (10, 28), (28, 29)]
        assert made.end == 29
        assert made.busy(HOST) == 11

    def test_short_kernels_wait_for_the_host(self):
        assert spans(timeline(KERNEL, KERNEL, work=1), SM) == [(7, 8), (12, 13)]

    def test_a_graph_is_ordered_once(self):
        made = timeline(Operation("graph", stream=1, nodes=(KERNEL,) * 3), SYNC, work=1)
        assert spans(made, SM) == [(5, 6), (6.5, 7.5), (8, 9)]

    def test_copies_overlap_with_kernels_of_other_streams_only(self):
        copy = Operation("copy in", stream=2, bytes=500_000, pinned=True)  # 10 µs at 50 GB/s
        assert spans(timeline(KERNEL, copy), IN) == [(11, 21)]
        same = Operation("copy in", stream=1, bytes=500_000, pinned=True)
        assert spans(timeline(KERNEL, same), IN) == [(17, 27)]

    def test_one_engine_for_each_direction(self):
        into = [Operation("copy in", stream=s, bytes=500_000, pinned=True) for s in (1, 2)]
        out = Operation("copy out", stream=3, bytes=500_000, pinned=True)
        made = timeline(*into, out)
        assert spans(made, IN) == [(6, 16), (16, 26)]
        assert spans(made, OUT) == [(14, 24)]

    def test_a_pageable_copy_holds_up_the_host(self):
        copy = Operation("copy in", stream=1, bytes=100_000, blocking=True)  # 10 µs at 10 GB/s
        made = timeline(copy, KERNEL)
        assert spans(made, HOST) == [(0, 16), (16, 21)]
        back = Operation("copy out", stream=1, bytes=100_000, blocking=True)  # 5 µs at 20 GB/s
        assert spans(timeline(KERNEL, back), HOST) == [(0, 5), (5, 22)]

    def test_an_event_holds_back_a_stream(self):
        after = Operation("copy out", stream=2, bytes=500_000, pinned=True)
        events = Operation("record", stream=1, event=9), Operation("wait", stream=2, event=9)
        assert spans(timeline(KERNEL, *events, after), OUT) == [(17, 27)]
        assert spans(timeline(KERNEL, after), OUT) == [(11, 21)]

    def test_the_host_waits_for_an_event_a_stream_or_all(self):
        mark = Operation("record", stream=1, event=3)
        wait = Operation("synchronise", event=3)
        assert timeline(KERNEL, mark, KERNEL, wait).bars[-1].start == 17
        assert timeline(KERNEL, Operation("synchronise", "all")).end == 18
        assert timeline(KERNEL, Operation("synchronise", stream=2)).bars[-1].start == 5


def test_the_picture_has_a_panel_each_and_no_rows_that_nobody_uses():
    figure = gantt({"a": timeline(KERNEL, SYNC), "b": timeline(KERNEL)}, "title")
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == [HOST, SM]
    assert len(figure.axes) == 2


def test_bars_thinner_than_a_dot_are_drawn_evenly():
    """Of 100 kernels, 0.1 µs each, none is moved to whole dots: some would vanish, others double."""

    def snaps(*operations, work):
        axes = gantt({"": timeline(*operations, work=work)}, "").axes[0]
        return [bars.get_snap() for bars in axes.collections]

    assert False in snaps(*[KERNEL] * 100, work=0.1)
    assert False not in snaps(KERNEL, work=10)
