"""Random programs of streams: the clocks find a missing order where no path leads from work to work."""

import random

import numpy as np
import pytest

from course_lib.standin.order import Order, merged

STREAMS, ARRAYS, LENGTH = 3, 3, 14


def random_program(seed: int) -> list[tuple]:
    """Work of a stream on an array, events recorded and waited for, and waits of the host."""
    rng = random.Random(seed)
    program, events = [], 0
    for _ in range(LENGTH):
        stream, kind = rng.randrange(1, STREAMS + 1), rng.random()
        if kind < 0.55:
            program.append(("work", stream, rng.randrange(ARRAYS), rng.random() < 0.5))
        elif kind < 0.7 or not events:
            program.append(("record", stream, events))
            events += 1
        elif kind < 0.92:
            program.append(("wait", stream, rng.randrange(events)))
        else:
            program.append(("host", stream))
    return program


def by_paths(program: list[tuple]) -> bool:
    """Whether two works on one array, one of them a write, have no path between them."""
    last: dict[object, int] = {}  # the last node of each stream, of the host, and that of each event
    before: list[set[int]] = []  # of each node, all nodes that come before it
    works: list[tuple[int, int, bool]] = []
    for node, (kind, stream, *rest) in enumerate(program):
        sources = {"work": [stream, "host"], "record": [stream], "host": [stream, "host"]}
        wanted = sources.get(kind) or [stream, ("event", rest[0])]
        parents = {last[source] for source in wanted if source in last}
        before.append(parents | {node for parent in parents for node in before[parent]})
        last[("event", rest[0]) if kind == "record" else stream] = node
        if kind == "host":
            last["host"] = node
        if kind == "work":
            array, writes = rest
            for other, same, wrote in works:
                if same == array and (writes or wrote) and other not in before[node]:
                    return True
            works.append((node, array, writes))
    return False


def by_clocks(program: list[tuple]) -> bool:
    order, arrays = Order(), [np.zeros(8) for _ in range(ARRAYS)]
    events: dict[int, dict[int, int]] = {}
    for kind, stream, *rest in program:
        if kind == "work":
            named = [(arrays[rest[0]], "it")]
            order.start(stream)
            if order.touch(stream, "work", *((), named) if rest[1] else (named, ())):
                return True
        elif kind == "record":
            events[rest[0]] = merged(order.clock(stream))
        elif kind == "wait":
            order.wait(stream, events[rest[0]])
        else:
            order.host_waits(order.clock(stream))
    return False


@pytest.mark.parametrize("first", range(0, 2000, 250))
def test_a_missing_order_is_a_missing_path(first):
    found = [
        (by_clocks(program), by_paths(program)) for program in map(random_program, range(first, first + 250))
    ]
    assert [clocks for clocks, _ in found] == [paths for _, paths in found]
    assert 0 < sum(clocks for clocks, _ in found) < 250
