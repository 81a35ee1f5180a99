"""What a program asked the GPU to do: launches, copies, events and waits, in the order of the host.

with operations() as done:
    run(cp)
[one.kind for one in done]      # "kernel", "copy in", "synchronise", ...
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Operation:
    """One call of the host.

    `kind`: "kernel", "graph", "copy in" (to the GPU), "copy out", "record" and "wait" (an event), "capture"
    (the end of one) or "synchronise" (the host waits for a stream, for an event, or without either for all).
    `stream`: its number, 0 for the default stream. `bytes` of a copy, and whether the host's memory is
    `pinned`. `blocking`: the call returns when the copy is done. `event`: its number. `nodes` of a graph.
    """

    kind: str
    name: str = ""
    stream: int = 0
    bytes: int = 0
    pinned: bool = False
    blocking: bool = False
    event: int = 0
    nodes: tuple["Operation", ...] = ()


COPIES = ("copy in", "copy out")
_kept: list[list[Operation]] = []
_found: list[list[str]] = []
_arrived: list[list[np.ndarray]] = []


def note(operation: Operation) -> None:
    """Add an operation to every list that is being kept."""
    for one in _kept:
        one.append(operation)


def note_hazard(text: str) -> None:
    """Add a finding to every list that is being kept."""
    for one in _found:
        one.append(text)


def note_arrival(value: np.ndarray) -> None:
    """Add what a copy has brought to the host to every list that is being kept."""
    for one in _arrived:
        one.append(value.copy())


@contextmanager
def arrivals() -> Iterator[list[np.ndarray]]:
    """A list that fills with what copies bring to the host while the `with` block runs."""
    with _keeping(_arrived) as mine:
        yield mine


@contextmanager
def operations() -> Iterator[list[Operation]]:
    """A list that fills with the operations of the `with` block."""
    with _keeping(_kept) as mine:
        yield mine


@contextmanager
def stream_hazards() -> Iterator[list[str]]:
    """A list that fills with what the streams of the `with` block leave without order."""
    with _keeping(_found) as mine:
        yield mine


def counted_calls(done: Sequence[Operation]) -> dict[str, int]:
    """How often the host called what: the kinds of `Operation`, and a few sums over them."""
    copies = [one for one in done if one.kind in COPIES]
    kinds = ("kernel", "graph", "capture", "copy in", "copy out", "record", "wait", "synchronise")
    return {kind: sum(one.kind == kind for one in done) for kind in kinds} | {
        "nodes": sum(node.kind == "kernel" for one in done if one.kind == "graph" for node in one.nodes),
        "bytes in": sum(one.bytes for one in copies if one.kind == "copy in"),
        "bytes out": sum(one.bytes for one in copies if one.kind == "copy out"),
        "blocking": sum(one.blocking for one in copies),
        "streams used": len({one.stream for one in done if one.kind in ("kernel", "graph", *COPIES)}),
        "array function": sum(one.kind == "array function" for one in done),
    }


@contextmanager
def _keeping(lists: list[list]) -> Iterator[list]:
    mine: list = []
    lists.append(mine)
    try:
        yield mine
    finally:
        lists[:] = [other for other in lists if other is not mine]
