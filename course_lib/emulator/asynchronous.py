"""cp.async: copies from global to shared memory that arrive when the thread waits for them.

The source is read when the copy is issued; until the thread that issued it waits for its group, the
destination holds poison, and to read or write there is a finding. Hardware may deliver earlier; a program
may not count on it (PTX ISA, "cp.async": reading the destination before completion is undefined). The wait
makes the data visible to that thread only, as a store by it would: others need a barrier after it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .address import Plain, Value, lanes
from .fragment import Fragment
from .memory import POISON
from .ragged import ragged_load
from .request import Request
from .tally import SiteTally

if TYPE_CHECKING:
    from .chunk import Chunk

WORD = np.dtype(np.uint32)
KIND = "asynchronous copy not waited for"
COPY_SPACES = ("async.ca", "async.cg")  # as a SiteTally names the two cache operators


@dataclass
class Waiting:
    """Copies of one instruction: who issued them, in which group, which words they bring and where to.

    `offsets` (bytes within the block), `ids`, `groups`: one number per lane. `places` (in the chunk's shared
    memory) and `values`: (lanes, words).
    """

    fragment: Fragment
    offsets: np.ndarray
    ids: np.ndarray
    groups: np.ndarray
    places: np.ndarray
    values: np.ndarray
    site: int
    serial: int

    def part(self, chosen: np.ndarray) -> Waiting:
        """The copies of some lanes (bools)."""
        lanes = self.fragment.lanes.subset(chosen.reshape(self.fragment.lanes.shape))[0]
        fragment = Fragment(self.fragment.chunk, lanes, [], self.fragment.pc)
        arrays = {
            name: getattr(self, name)[chosen] for name in ("offsets", "ids", "groups", "places", "values")
        }
        return replace(self, fragment=fragment, **arrays)


class Copies:
    """The asynchronous copies of a chunk of blocks that nobody has waited for yet."""

    def __init__(self, chunk: Chunk) -> None:
        self.chunk = chunk
        self.waiting: list[Waiting] = []
        self.serial = 0  # copies issued so far
        self.mbarriers: dict = {}  # (row of the block, byte) -> MBarrier; see there
        self.committed = np.zeros(0, np.int64)
        self.owner = np.zeros(0, np.int32)  # per word of shared memory: thread + 1 while a copy is in flight

    def _ids(self, fragment: Fragment) -> np.ndarray:
        """Numbers of the fragment's lanes within the chunk; makes room for the groups of all threads."""
        threads = self.chunk.geometry.threads
        if not self.committed.size:
            self.committed = np.zeros(self.chunk.blocks * threads, np.int64)
            if self.chunk.hazards is not None:
                self.owner = np.zeros(self.chunk.blocks * self.chunk.shared_row // 4, np.int32)
        return fragment.lanes.ids - self.chunk.first_block * threads

    # -- issuing --------------------------------------------------------------

    def issue(
        self,
        fragment: Fragment,
        target: Value,
        target_offset: int,
        source: Value,
        source_offset: int,
        size: int,
        amount: Plain | None,
        cache: str,
        site: int,
    ) -> None:
        """Start a copy of `size` bytes a lane; `amount` (None: all) come from the source, the rest are 0."""
        ids, shape = self._ids(fragment), fragment.lanes.shape
        tally = self._tally(cache, site)
        before = tally.requests, tally.lanes
        values = ragged_load(fragment, source, source_offset, size, amount, site)
        words = size // 4
        place = fragment._locate("shared", target, target_offset, WORD, words, site)
        columns = [values[:, k].reshape(shape) for k in range(words)]
        if self.chunk.observer is not None:
            request = Request("shared", target, target_offset, size, site, True, columns)
            self.chunk.observer.access(fragment, request)
        tally.requests, tally.lanes = before[0] + fragment.lanes.warp_count, before[1] + fragment.lanes.count
        first = np.broadcast_to(place.indices, shape).ravel() + place.first
        places = first[:, None] + np.arange(words)
        place.view[places] = POISON
        offsets = within(fragment, target, target_offset)
        self.serial += 1
        groups = self.committed[ids]
        self.waiting.append(Waiting(fragment, offsets, ids, groups, places, values, site, self.serial))
        if self.owner.size:
            self.owner[places] = fragment.lanes.lane_threads[:, None] + 1

    def _tally(self, cache: str, site: int) -> SiteTally:
        """The counts of a copy instruction; both its halves, the load and the store, add to them."""
        fresh = SiteTally(f"async.{cache}", False)
        return fresh if self.chunk.tally is None else self.chunk.tally.sites.setdefault(site, fresh)

    # -- waiting --------------------------------------------------------------

    def commit(self, fragment: Fragment) -> None:
        """cp.async.commit_group: what each lane has issued so far becomes its next group."""
        self.committed[self._ids(fragment)] += 1

    def wait(self, fragment: Fragment, keep: int | None) -> None:
        """cp.async.wait_group: all but the last `keep` groups arrive; None: wait_all, everything arrives."""
        if keep is None:
            self.commit(fragment)
        ids = self._ids(fragment)
        limit = np.full(self.committed.shape, -1, np.int64)
        limit[ids] = self.committed[ids] - (keep or 0)
        self._finish(lambda copies: copies.groups < limit[copies.ids])

    def deliver(self, ids: np.ndarray, serial: int) -> None:
        """All copies that lanes of the chunk had issued when `serial` copies were issued arrive."""
        self._finish(lambda copies: (copies.serial <= serial) & np.isin(copies.ids, ids))

    def _finish(self, which: Callable[[Waiting], np.ndarray]) -> None:
        """Let the copies arrive for which `which` says so, lane by lane."""
        remaining = []
        for copies in self.waiting:
            done = which(copies)
            if done.all():
                self._arrive(copies)
            elif done.any():
                self._arrive(copies.part(done))
                remaining.append(copies.part(~done))
            else:
                remaining.append(copies)
        self.waiting = remaining

    def _arrive(self, copies: Waiting) -> None:
        self.chunk.shared_memory.view(WORD)[copies.places] = copies.values
        if self.owner.size:
            self.owner[copies.places] = 0
        if self.chunk.observer is not None:
            width = 4 * copies.values.shape[1]
            self.chunk.observer.copy_arrived(copies.fragment, copies.offsets, width, copies.site)

    # -- watching -------------------------------------------------------------

    def check(self, fragment: Fragment, request: Request) -> None:
        """Report lanes that touch shared memory to which a copy is in flight; count what is in flight."""
        places = within(fragment, request.address, request.offset)
        rows, words = fragment.rows_of_lanes(), self.chunk.shared_row // 4
        first = places // 4 + rows * words
        if self.chunk.tally is not None and not request.store:
            in_flight = 4 * np.count_nonzero(self.owner[rows[0] * words : (rows[0] + 1) * words])
            self.chunk.tally.in_flight = max(self.chunk.tally.in_flight, in_flight)
        for word in range(max(1, request.width // 4)):
            owner = self.owner[first + word]
            if owner.any():
                self._report(fragment, owner, places + 4 * word, request)
                return

    def _report(
        self, fragment: Fragment, owner: np.ndarray, offsets: np.ndarray, request: Request
    ) -> None:
        at = int(np.argmax(owner != 0))
        block, thread = int(fragment.lanes.lane_blocks[at]), int(fragment.lanes.lane_threads[at])
        issuer = int(owner[at]) - 1
        verb = "writes" if request.store else "reads"
        place, name = self.chunk.program.shared_place(int(offsets[at])), self.chunk.hazards.thread_name
        then = "first" if issuer == thread else "in that thread, then __syncthreads()"
        message = (
            f"thread {name(thread)} {verb} {place}, to which thread {name(issuer)} copies "
            "asynchronously without having waited yet; wait (cp.async.wait_group, __pipeline_wait_prior) "
            f"{then}"
        )
        line = self.chunk.program.line(request.site)
        lanes_hit = int((owner != 0).sum())
        self.chunk.hazards.add(KIND, message, line, block, thread, int(offsets[at]), lanes_hit, verb)  # type: ignore[union-attr]


def within(fragment: Fragment, address: Value, offset: int) -> np.ndarray:
    """Bytes from the start of the block's shared memory, one number per lane."""
    return np.broadcast_to(lanes(address), fragment.lanes.shape).ravel().astype(np.int64) + offset


# -- counting -------------------------------------------------------------------------


def copy_metrics(sites: dict[int, SiteTally]) -> dict[str, float]:
    """What Nsight Compute calls LDGSTS: the load and the store that one copy instruction makes."""
    copies = [site for site in sites.values() if site.space in COPY_SPACES]
    metrics: dict[str, float] = {"smsp__inst_executed_op_ldgsts.sum": sum(site.requests for site in copies)}
    for space, name in zip(COPY_SPACES, ("cache_access", "cache_bypass"), strict=True):
        chosen = [site for site in copies if site.space == space]
        stem = "pipe_lsu_mem_global_op_ldgsts_" + name
        metrics[f"sm__sass_l1tex_t_requests_{stem}.sum"] = sum(site.requests for site in chosen)
        metrics[f"sm__sass_l1tex_t_sectors_{stem}.sum"] = sum(site.sectors for site in chosen)
    stem = "mem_shared_op_ldgsts.sum"
    metrics[f"l1tex__data_pipe_lsu_wavefronts_{stem}"] = sum(site.wavefronts for site in copies)
    metrics[f"l1tex__data_bank_conflicts_pipe_lsu_{stem}"] = sum(site.conflicts for site in copies)
    return metrics


# -- called by generated code ---------------------------------------------------------


def start_copy(fragment: Fragment, *what: Any) -> None:
    """cp.async; see Copies.issue."""
    fragment.chunk.copies.issue(fragment, *what)


def commit_group(fragment: Fragment) -> None:
    """cp.async.commit_group."""
    fragment.chunk.copies.commit(fragment)


def wait_group(fragment: Fragment, keep: int | None) -> None:
    """cp.async.wait_group, cp.async.wait_all (None)."""
    fragment.chunk.copies.wait(fragment, keep)


def ignored(predicate: Plain, size: int) -> np.ndarray:
    """ignore-src as a number of bytes."""
    return np.where(predicate, 0, size)
