"""A fragment: lanes that are at the same instruction, with their registers.

Generated code calls the methods here for everything that needs more than the
operands: memory, special registers, warp-wide operations and parameters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import printf
from .address import Address, AddressBase, lanes
from .errors import MemoryAccessError
from .lanes import LaneSet, Selector
from .memory import LOCAL_WINDOW, SHARED_WINDOW, WINDOW_SIZE

if TYPE_CHECKING:
    from .run import Chunk

_SIGN = 1 << 63
_WRAP = 1 << 64


class Scattered(Exception):
    """The lanes of one access point into different arrays or state spaces; each group is served alone."""


class Fragment:
    """`registers` is the current function's list; `frames` holds the callers' below it."""

    __slots__ = ("_row_offsets", "chunk", "frames", "key", "lanes", "origin", "pc", "registers", "spins", "worked")

    def __init__(self, chunk: Chunk, lanes: LaneSet, registers: list, pc: int, frames: tuple = ()) -> None:
        self.chunk = chunk
        self.lanes = lanes
        self.registers = registers
        self.pc = pc
        self.frames = frames
        self.origin: Origin | None = None
        self.spins = 0
        self.worked = 0
        self._row_offsets: dict = {}

    # -- where the lanes are --------------------------------------------------

    @property
    def covers_blocks(self) -> bool:
        """True when every block of the chunk has lanes here."""
        return self.lanes.product and len(self.lanes.blocks) == self.chunk.blocks

    @property
    def covers_chunk(self) -> bool:
        """True when every thread of the chunk is here."""
        return self.lanes.count == self.chunk.blocks * self.chunk.geometry.threads

    def rows_of_lanes(self) -> np.ndarray:
        """Row of every lane's block within the chunk, shape (lanes,)."""
        return self.lanes.lane_blocks - self.chunk.first_block

    def special(self, name: str) -> np.ndarray | np.generic:
        """A special register's value."""
        return self.lanes.special(name)

    def clock(self, dtype: str) -> np.generic:
        """`%clock`: a deterministic stand-in that counts executed steps, not cycles."""
        return np.dtype(dtype).type(self.chunk.steps & 0xFFFFFFFF)

    def parameter(self, offset: int, dtype: str) -> np.generic:
        """A by-value parameter, or a pointer, of the launch."""
        return self.chunk.launch.parameter(offset, dtype)

    def symbol(self, name: str, offset: int) -> np.uint64:
        """Address of a global or constant variable."""
        return np.uint64(self.chunk.launch.symbols[name] + offset)

    def builtin(self, name: str, arguments: list):  # noqa: ANN201
        """A function of NVIDIA's device runtime: `vprintf` or `__assertfail`."""
        if name == "vprintf":
            return printf.print_lanes(self, *arguments)
        return printf.fail_assertion(self, arguments[0], arguments[2])

    # -- locating memory ------------------------------------------------------

    def _global(self, address: Address | np.generic, offset: int, size: int, shift: int, site: int):  # noqa: ANN202
        """(buffer view's first element, element indices) for a checked global access."""
        memory = self.chunk.launch.memory
        if type(address) is Address:
            base = address.base
            first = (base.low + address.offset + offset) % _WRAP
            span, bits = base.span, base.bits
        else:
            base, first, span, bits = None, (int(address) + offset) % _WRAP, 0, 0
        region = memory.find(first)
        if region is None or first + span + size > region.end or (bits | first) & (size - 1):
            self._fault(address, offset, size, site, None)
        return region, (first - region.start) >> shift, 0 if base is None else base.indices(shift)

    def _rows(self, stride: int, per_lane: bool) -> np.ndarray | int:
        """Start of each lane's block (or, for local memory, lane) in units of which a row has `stride`."""
        key = (stride, per_lane)
        found = self._row_offsets.get(key)
        if found is None:
            chunk = self.chunk
            if per_lane:
                ids = self.lanes.ids - chunk.first_block * chunk.geometry.threads
                found = (ids * stride).reshape(self.lanes.shape)
            elif chunk.blocks == 1:
                found = 0
            else:
                rows = (self.lanes.blocks - chunk.first_block) * stride
                found = rows[:, None] if self.lanes.product else rows
            self._row_offsets[key] = found
        return found

    def _window(self, address: Address | np.generic, offset: int, size: int, shift: int, site: int, local: bool):  # noqa: ANN202
        """(first element, element indices over all rows) for a checked shared or local access."""
        limit = self.chunk.local_size if local else self.chunk.shared_size
        row = self.chunk.local_row if local else self.chunk.shared_row
        if type(address) is Address:
            base = address.base
            wrap = 1 << (8 * base.array.dtype.itemsize)
            first, span, bits = (base.low + address.offset + offset) % wrap, base.span, base.bits
        else:
            base, span, bits = None, 0, 0
            first = (int(address) + offset) % (1 << (8 * address.dtype.itemsize))
        if first + span + size > limit or (bits | first) & (size - 1):
            self._fault(address, offset, size, site, "local" if local else "shared")
        rows = self._rows(row >> shift, local)
        if base is None:
            return first >> shift, rows
        key = (local, shift)
        known = base.notes.get(key)
        if known is None or known[0] is not self.lanes:
            known = base.notes[key] = (self.lanes, base.indices(shift) + rows)
        return first >> shift, known[1]

    def _locate(self, space: str, address, offset: int, dtype: np.dtype, count: int, site: int):  # noqa: ANN001, ANN202
        """(space, address in it, flat view, first element, indices, region or None) of an access. Raises Scattered."""
        if space == "generic":
            space, address = self._resolve(address)
        shift = dtype.itemsize.bit_length() - 1
        size = dtype.itemsize * count
        if space == "global":
            region, first, indices = self._global(address, offset, size, shift, site)
            return space, address, region.view(dtype), first, indices, region
        local = space == "local"
        first, indices = self._window(address, offset, size, shift, site, local)
        buffer = self.chunk.local_memory if local else self.chunk.shared_memory
        return space, address, buffer.view(dtype), first, indices, None

    # -- loads and stores -----------------------------------------------------

    def load(self, space: str, address, offset: int, dtype: np.dtype, count: int, site: int,
             observe: bool = True):  # noqa: ANN001, ANN201  # fmt: skip
        """`count` neighbouring elements per lane: one value, or a list for vector loads."""
        try:
            space, address, view, first, indices, region = self._locate(space, address, offset, dtype, count, site)
        except Scattered:
            return self._scattered_load(space, address, offset, dtype, count, site)
        if observe:
            self.chunk.observe(self, space, address, offset, dtype.itemsize * count, site, False, None, region)
        values = [view[first + k] if type(indices) is int else view[first + k :].take(indices) for k in range(count)]
        return values[0] if count == 1 else values

    def store(self, space: str, address, offset: int, values: list, dtype: np.dtype, site: int) -> None:  # noqa: ANN001
        """Write one or several neighbouring elements per lane; of equal places the highest lane wins."""
        try:
            space, address, view, first, indices, region = self._locate(
                space, address, offset, dtype, len(values), site
            )
        except Scattered:
            self._scattered_store(space, address, offset, values, dtype, site)
            return
        if region is not None and not region.writable:
            self._refuse_store(region.name, site)
        self.chunk.observe(self, space, address, offset, dtype.itemsize * len(values), site, True, values[0], region)
        for k, value in enumerate(values):
            if type(indices) is int and np.ndim(value) == 0:
                view[first + k] = value
            else:
                shape = np.broadcast_shapes(np.shape(indices), np.shape(value))
                view[first + k :][np.broadcast_to(indices, shape)] = value

    def _resolve(self, address):  # noqa: ANN001, ANN202
        """State space of generic addresses and the addresses within it. Raises Scattered."""
        plain = np.asarray(lanes(address))
        low, high = int(plain.min()), int(plain.max())
        for space, window in (("shared", SHARED_WINDOW), ("local", LOCAL_WINDOW)):
            if window <= low and high < window + WINDOW_SIZE:
                inside = lanes(address) - np.uint64(window)
                return space, Address(AddressBase(inside), 0) if np.ndim(inside) else inside
        if low < SHARED_WINDOW + WINDOW_SIZE and high >= LOCAL_WINDOW and low != high:
            raise Scattered
        return "global", address

    def _parts(self, address):  # noqa: ANN001, ANN202
        """Lanes grouped by the memory they point into: (fragment, selector, addresses) of each group."""
        full = np.broadcast_to(lanes(address), self.lanes.shape)
        borders = [LOCAL_WINDOW, LOCAL_WINDOW + WINDOW_SIZE, SHARED_WINDOW, SHARED_WINDOW + WINDOW_SIZE]
        borders += self.chunk.launch.memory.starts
        group = np.searchsorted(np.array(borders, np.uint64), full, side="right")
        for number in np.unique(group):
            part, selector = self.lanes.subset(group == number)
            yield Fragment(self.chunk, part, [], self.pc), selector, Address(AddressBase(selector.take(full)), 0)

    def _scattered_load(self, space: str, address, offset: int, dtype: np.dtype, count: int, site: int):  # noqa: ANN001, ANN202
        results = [np.empty(self.lanes.shape, dtype) for _ in range(count)]
        for part, selector, chosen in self._parts(address):
            loaded = part.load(space, chosen, offset, dtype, count, site)
            for result, value in zip(results, loaded if count > 1 else [loaded], strict=True):
                selector.put(result, np.broadcast_to(value, part.lanes.shape))
        return results[0] if count == 1 else results

    def _scattered_store(self, space: str, address, offset: int, values: list, dtype: np.dtype, site: int) -> None:  # noqa: ANN001
        for part, selector, chosen in self._parts(address):
            taken = [selector.take(np.broadcast_to(value, self.lanes.shape)) for value in values]
            part.store(space, chosen, offset, taken, dtype, site)

    # -- atomics --------------------------------------------------------------

    def atomic(self, space: str, address, offset: int, function, operands: list, dtype: np.dtype, site: int):  # noqa: ANN001, ANN201
        """Read-modify-write, lane after lane where lanes share a word; returns the old values."""
        try:
            space, address, view, first, indices, region = self._locate(space, address, offset, dtype, 1, site)
        except Scattered:
            old = np.empty(self.lanes.shape, dtype)
            for part, selector, chosen in self._parts(address):
                taken = [selector.take(np.broadcast_to(value, self.lanes.shape)) for value in operands]
                got = part.atomic(space, chosen, offset, function, taken, dtype, site)
                selector.put(old, np.broadcast_to(got, part.lanes.shape))
            return old
        if region is not None and not region.writable:
            self._refuse_store(region.name, site)
        self.chunk.observe(self, "atomic " + space, address, offset, dtype.itemsize, site, True, None, region)
        places = np.broadcast_to(indices, self.lanes.shape).ravel() + first
        values = [np.broadcast_to(value, self.lanes.shape).ravel() for value in operands]
        old = np.empty(len(places), dtype)
        order = np.argsort(places, kind="stable")
        ordered = places[order]
        starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        rank = np.arange(len(places)) - np.repeat(starts, np.diff(np.r_[starts, len(places)]))
        by_rank = order[np.argsort(rank, kind="stable")]
        at = 0
        for size in np.bincount(rank):
            chosen = by_rank[at : at + size]
            at += size
            before = view[places[chosen]]
            old[chosen] = before
            view[places[chosen]] = function(before, *(value[chosen] for value in values))
        return old.reshape(self.lanes.shape)

    # -- warps ----------------------------------------------------------------

    def warp(self, function, operands: list, site: int, poison: bool = True) -> list:  # noqa: ANN001
        """Apply a warp instruction; undefined results are poisoned and reported."""
        rows = [self.lanes.to_warps(lanes(value)) for value in operands]
        active = self.lanes.active if not self.lanes.whole_warps else np.ones(rows[0].shape, np.bool_)
        *results, undefined = function(active, *rows)
        if self.chunk.shadow is not None:
            self.chunk.shadow.warp_barrier(self)
        if undefined is not None and (undefined & active).any():
            self.chunk.report_inactive(self, undefined & active, site)
            results = [_poison(value, undefined) if poison and value.dtype != np.bool_ else value for value in results]
        return [self.lanes.from_warps(np.broadcast_to(value, active.shape)) for value in results]

    def sync_warp(self) -> None:
        """`bar.warp.sync`: orders shared accesses of the warp's lanes."""
        if self.chunk.shadow is not None:
            self.chunk.shadow.warp_barrier(self)

    def active_mask(self) -> np.ndarray:
        """`activemask.b32`."""
        bits = (self.lanes.active * (np.uint32(1) << np.arange(32, dtype=np.uint32))).sum(1, dtype=np.uint32)
        return self.lanes.from_warps(np.broadcast_to(bits[:, None], self.lanes.active.shape))

    # -- errors ---------------------------------------------------------------

    def where(self, mask: np.ndarray) -> tuple[int, int]:
        """Linear (block, thread) of the first lane where `mask` holds."""
        at = int(np.argmax(np.broadcast_to(mask, self.lanes.shape)))
        return int(self.lanes.lane_blocks[at]), int(self.lanes.lane_threads[at])

    def _fault(self, address, offset: int, size: int, site: int, space: str | None) -> None:  # noqa: ANN001
        plain = np.asarray(lanes(address))
        width = plain.dtype.type
        full = plain + width(offset % (1 << (8 * plain.dtype.itemsize)))
        misaligned = full & width(size - 1) != 0
        if misaligned.any():
            self._raise_access(full, misaligned, f"is not aligned: this access needs a multiple of {size}", site, space)
        outside = np.array([not self._inside(int(one), size, space) for one in full.ravel()]).reshape(full.shape)
        if not outside.any():
            raise Scattered
        self._raise_access(full, outside, f"lies outside {self._nearest(full, outside, space)}", site, space)

    def _inside(self, address: int, size: int, space: str | None) -> bool:
        if space is not None:
            return address + size <= (self.chunk.local_size if space == "local" else self.chunk.shared_size)
        region = self.chunk.launch.memory.find(address)
        return region is not None and address + size <= region.end

    def _nearest(self, full: np.ndarray, outside: np.ndarray, space: str | None) -> str:
        if space is not None:
            limit = self.chunk.local_size if space == "local" else self.chunk.shared_size
            return f"the {limit} bytes of {space} memory this launch has"
        address = int(full.ravel()[np.argmax(outside)])
        region = self.chunk.launch.memory.nearest(address)
        if region is None:
            return "every array passed to the kernel"
        beyond = f"{address - region.end} bytes behind" if address >= region.end else f"{region.start - address} bytes before"
        if region.start <= address < region.end:
            beyond = "across the end of"
        return f"every array; the nearest is {beyond} {region.name} ({len(region.buffer)} bytes)"

    def _raise_access(self, full: np.ndarray, mask: np.ndarray, what: str, site: int, space: str | None) -> None:
        block, thread = self.where(mask)
        geometry, program = self.chunk.geometry, self.chunk.program
        number = int(full.ravel()[np.argmax(mask)])
        count = int(np.broadcast_to(mask, self.lanes.shape).sum())
        raise MemoryAccessError(
            f"{program.where(site)}: {program.access_kind(site)} at {space or 'global'} address {number:#x} {what}. "
            f"First of {count} such threads: block {geometry.block_index(block)}, thread {geometry.thread_index(thread)}. "
            "A real GPU would stop the kernel and the Python kernel would need a restart; here the next cell works."
        )

    def _refuse_store(self, name: str, site: int) -> None:
        raise MemoryAccessError(f"{self.chunk.program.where(site)}: store to {name}, which is read-only")


class Origin:
    """What a fragment was split from, so that the whole can be restored when its parts meet again."""

    __slots__ = ("frames", "initial", "lanes", "origin", "registers", "selector")

    def __init__(self, parent: Fragment, selector: Selector, initial: list) -> None:
        self.lanes = parent.lanes
        self.registers = parent.registers
        self.frames = parent.frames
        self.origin = parent.origin
        self.selector = selector
        self.initial = initial


def _poison(value: np.ndarray, undefined: np.ndarray) -> np.ndarray:
    pattern = np.frombuffer(b"\xff\x7f" * 8, value.dtype)[0]
    return np.where(undefined, pattern, value)
