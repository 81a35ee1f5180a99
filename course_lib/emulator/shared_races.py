"""Races and undefined reads in the shared memory of a chunk of blocks.

While all blocks do the same in step, one copy of the shadow serves them all. Loads matter only
to a store that follows before the next barrier, so they are entered when one comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .address import Address, Value
from .hazards import Party
from .lanes import WARP, LaneSet
from .order import Order, site_of
from .shadow import Access, Conflict, Shadow

if TYPE_CHECKING:
    from .chunk import Chunk
    from .fragment import Fragment
    from .request import Request

MOST_LOADS = 256


class SharedRaces:
    """Watches every access to the shared memory of one chunk; findings go to the launch's log."""

    def __init__(self, chunk: Chunk, order: Order) -> None:
        self.chunk, self.order = chunk, order
        self.grain = chunk.program.shared_grain
        self.words = chunk.shared_row // self.grain
        self.shadow = Shadow(self.words, chunk.geometry.threads)
        self.rows = 1
        self.loads: list[Access] = []

    def event(self, barrier_of_all: bool) -> None:
        """The order is about to change: by a barrier of all blocks, or otherwise."""
        if barrier_of_all:
            self.loads.clear()
        else:
            self._enter_loads()

    def access(self, kind: str, fragment: Fragment, request: Request) -> None:
        """Check and note a "load", "store" or "atomic" that is about to happen."""
        access = self._described(kind, fragment, request)
        if kind == "load":
            self._check_load(access)
            self.loads.append(access)
            if len(self.loads) > MOST_LOADS:
                self._enter_loads()
            return
        if kind == "atomic":
            self._check_written(access, self.shadow.traces["store"].when.take(access.place))
        self._enter_loads()
        self._report(access, self.shadow.enter(access))

    def _check_load(self, access: Access) -> None:
        when = self.shadow.traces["store"].when.take(access.place)
        if not when.all():
            self._check_written(access, when)
        if "atomic" in self.shadow.traces or self.shadow.recent(access, when):
            self._report(access, self.shadow.conflicts(access))

    def _enter_loads(self) -> None:
        for access in self.loads:
            self.shadow.note(access)
        self.loads.clear()

    # -- what an access touches -----------------------------------------------

    def _described(self, kind: str, fragment: Fragment, request: Request) -> Access:
        lanes, address, width, values = fragment.lanes, request.address, request.width, request.values
        index, first = self._index(address, request.offset)
        alike = lanes.product and (np.ndim(index) == 0 or index.shape[0] == 1)
        if alike and fragment.covers_blocks and self.order.uniform and self.rows == 1:
            rows, own = 0, lanes.threads
            who, places = self._alike(lanes, address, index, first, width)
        else:
            self._expand()
            rows, own = fragment.rows_of_lanes(), lanes.lane_threads
            who = (rows * self.chunk.geometry.threads + own).astype(np.int32)
            place = np.broadcast_to(index, lanes.shape).ravel() + (first + rows * self.words)
            places = place + np.arange(max(1, width // self.grain))[:, None]
            rows = 0 if self.order.uniform else rows
        access = Access(kind, who, own, rows, places, self.order, self.order.stamp(request.site))
        if values is not None:
            copies = 1 if self.rows > 1 or self.chunk.blocks == 1 else self.chunk.blocks
            access.new = lambda: stored_words(values, lanes.shape, copies, self.grain)
            access.old = lambda: self._memory(copies)[:, places]
        return access

    def _alike(
        self, lanes: LaneSet, address: Value, index: np.ndarray | int, first: int, width: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """(threads, places) of an access that is the same in every block; loops come here again and again."""
        notes = address.base.notes if type(address) is Address else {}
        key = ("alike", lanes, first, width, self.grain)
        if key not in notes:
            place = np.broadcast_to(index, (1, len(lanes.threads)))[0] + first
            places = place + np.arange(max(1, width // self.grain))[:, None]
            notes[key] = (lanes.threads.astype(np.int32), places)
        return notes[key]

    def _index(self, address: Value, offset: int) -> tuple[np.ndarray | int, int]:
        shift = self.grain.bit_length() - 1
        if type(address) is not Address:
            return 0, (int(address) + offset) >> shift
        base = address.base
        wrap = (1 << 8 * base.array.dtype.itemsize) - 1
        return base.indices(shift), (base.low + address.offset + offset & wrap) >> shift

    def _memory(self, copies: int) -> np.ndarray:
        words = self.chunk.shared_memory.view(f"u{self.grain}")
        return words.reshape(copies, -1)

    def _expand(self) -> None:
        """Give every block a copy of the shadow."""
        if self.rows < self.chunk.blocks:
            self._enter_loads()
            self.shadow.copies(self.chunk.blocks)
            self.rows = self.chunk.blocks

    # -- findings -------------------------------------------------------------

    def _check_written(self, access: Access, when: np.ndarray) -> None:
        """Report words that are read though no store (`when`: the last one) or atomic wrote them."""
        mask = when == 0
        if "atomic" in self.shadow.traces:
            mask &= self.shadow.traces["atomic"].when.take(access.place) == 0
        if not mask.any():
            return
        block, thread, byte = self._first(access, mask)
        place = self.chunk.program.shared_place(byte)
        message = f"{place} is read before any thread wrote it; its value is undefined"
        line = self.chunk.program.line(site_of(access.stamp))
        self.chunk.hazards.add("uninitialised read", message, line, block, thread, byte, _lanes(mask))

    def _report(self, access: Access, conflicts: list[Conflict]) -> None:
        threads, line = self.chunk.geometry.threads, self.chunk.program.line
        for conflict in conflicts:
            block, thread, byte = self._first(access, conflict.mask)
            at = np.unravel_index(np.argmax(conflict.mask), conflict.mask.shape)
            here = Party(access.kind, block, thread, line(site_of(access.stamp)))
            before = access.stamp if conflict.when is None else int(conflict.when[at])
            there = Party(conflict.earlier, block, int(conflict.other[at]) % threads, line(site_of(before)))
            same = conflict.when is None
            place, count = self.chunk.program.shared_place(byte), _lanes(conflict.mask)
            apart = access.threads // WARP != conflict.other % threads // WARP
            crosses = bool((apart & conflict.mask).any())
            self.chunk.hazards.race("shared", place, here, there, same, byte, count, crosses)

    def _first(self, access: Access, mask: np.ndarray) -> tuple[int, int, int]:
        """Linear block and thread numbers of the first lane of a mask, and its byte in shared memory."""
        word, lane = np.unravel_index(np.argmax(mask), mask.shape)
        row, place = divmod(int(access.place[word, lane]), self.words)
        return self.chunk.first_block + row, int(access.threads[lane]), place * self.grain


def stored_words(values: Sequence[np.ndarray], shape: tuple, copies: int, grain: int) -> np.ndarray:
    """The bits that lanes of `shape` store: (copies, words, lanes), in unsigned integers of `grain` bytes."""
    rows = [np.ascontiguousarray(np.broadcast_to(value, shape)).reshape(copies, -1) for value in values]
    lanes = np.stack(rows, -1)
    words = lanes.view(f"u{grain}")
    return words.reshape(copies, lanes.shape[1], -1).transpose(0, 2, 1)


def _lanes(mask: np.ndarray) -> int:
    return int(mask.any(0).sum())
