"""Findings: races, undefined reads, barriers that not every thread reaches, division by zero."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .lanes import WARP, Geometry

_WITHIN_WARP = "put a __syncwarp() or __syncthreads() between them"
_BETWEEN_WARPS = "put a __syncthreads() between them"
DOES = {"load": "reads", "store": "writes", "atomic": "atomically changes"}


@dataclass(frozen=True)
class Hazard:
    """One finding. `line` is a CUDA source line (0: unknown); `block` and `thread` are 3-D indices.

    `kind` is "shared race", "global race", "uninitialised read", "divergent barrier",
    "barrier counts differ", "asynchronous copy not waited for", "inactive lane" or "division by zero";
    `address` is a byte of shared memory or a global address;
    `occurrences` counts the lanes concerned; `extents` are grid and block.
    """

    kind: str
    message: str
    kernel: str
    line: int
    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    address: int | None
    occurrences: int = 1
    extents: tuple[tuple[int, int, int], tuple[int, int, int]] = ((2, 2, 2), (2, 2, 2))

    @property
    def block_name(self) -> str:
        """The block as the message writes it: one number where the grid has one dimension."""
        return _short(self.block, self.extents[0])

    @property
    def thread_name(self) -> str:
        """The thread, likewise."""
        return _short(self.thread, self.extents[1])

    def __str__(self) -> str:
        where = f"{self.kernel}, line {self.line}, block {self.block_name}, thread {self.thread_name}"
        return f"{self.kind}: {self.message} ({where})"


@dataclass(frozen=True)
class Party:
    """One side of a race: what a thread (linear `block` and `thread` numbers) does in a line."""

    kind: str
    block: int
    thread: int
    line: int


class HazardLog:
    """Collects findings; equal ones (same kind, same lines) are counted, not repeated."""

    def __init__(self, kernel: str, geometry: Geometry) -> None:
        self.kernel = kernel
        self.geometry = geometry
        self._found: dict[tuple, Hazard] = {}
        self._times: dict[tuple, int] = {}
        self.unchecked: list[str] = []

    def add(
        self, kind: str, message: str, line: int, block: int, thread: int,
        address: int | None = None, occurrences: int = 1, variant: object = "",
    ) -> None:  # fmt: skip
        """Note a finding at linear `block` and `thread` numbers; `variant`: what tells it from others."""
        key = (kind, line, variant)
        self._times[key] = self._times.get(key, 0) + occurrences
        if key not in self._found:
            block_index, thread_index = self.geometry.block_index(block), self.geometry.thread_index(thread)
            extents = (self.geometry.grid, self.geometry.block)
            self._found[key] = Hazard(
                kind, message, self.kernel, line, block_index, thread_index, address, extents=extents
            )

    def race(
        self, space: str, place: str, here: Party, there: Party, same: bool, address: int, times: int,
        crosses: bool = False,
    ) -> None:  # fmt: skip
        """Note a race over `place`; `same`: both accesses are of one executed instruction.

        `crosses`: some of the racing pairs are of two warps.
        """
        apart = here.block != there.block
        line = f" in line {there.line}" if there.line and there.line != here.line else ""
        if same:
            both = f"{self._name(here, apart)} and {self._name(there, apart)}"
            what = f"{both} write different values to {place} at once"
        else:
            what = (
                f"{self._name(here, apart)} {DOES[here.kind]} {place}, which {self._name(there, apart)} "
                f"{DOES[there.kind]}{line}, with nothing to order the two"
            )
        kind, variant = space + " race", (there.line, same)
        earlier = self._found.get((kind, here.line, variant))
        if crosses and earlier is not None and earlier.message.endswith(_WITHIN_WARP):
            message = earlier.message.removesuffix(_WITHIN_WARP) + _BETWEEN_WARPS
            self._found[kind, here.line, variant] = replace(earlier, message=message)
        message = f"{what}; {_advice(here, there, same, crosses, space)}"
        self.add(kind, message, here.line, here.block, here.thread, address, times, variant)

    def _name(self, party: Party, with_block: bool) -> str:
        thread = f"thread {self.thread_name(party.thread)}"
        if not with_block:
            return thread
        return f"block {_short(self.geometry.block_index(party.block), self.geometry.grid)} {thread}"

    def thread_name(self, thread: int) -> str:
        """A linear thread number as messages write it."""
        return _short(self.geometry.thread_index(thread), self.geometry.block)

    @property
    def findings(self) -> list[Hazard]:
        """All findings, by source line."""
        found = [replace(hazard, occurrences=self._times[key]) for key, hazard in self._found.items()]
        return sorted(found, key=lambda h: (h.line, h.kind))


def _short(index: tuple[int, int, int], extent: tuple[int, int, int]) -> str:
    return str(index[0]) if extent[1:] == (1, 1) else str(index)


def _advice(here: Party, there: Party, same: bool, crosses: bool, space: str) -> str:
    if same:
        return "let one thread write it, or use an atomic operation"
    if here.block != there.block:
        return "blocks run in no order: use two launches, a second array, or atomic operations"
    if "atomic" in (here.kind, there.kind):
        return "make both atomic, or put a barrier between them"
    if space == "global":
        return f"{_BETWEEN_WARPS}, or use an atomic operation where both change it"
    if here.thread // WARP == there.thread // WARP and not crosses:
        return _WITHIN_WARP
    return _BETWEEN_WARPS
