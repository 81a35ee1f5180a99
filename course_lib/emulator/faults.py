"""Memory errors: which lane, which address, how far from which array."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import numpy as np

from .address import Value, lanes
from .errors import MemoryAccessError

if TYPE_CHECKING:
    from .fragment import Fragment

_RESTART = (
    "A real GPU would stop the kernel and the Python kernel would need a restart; here the next cell works."
)
_OUTSIDE = (
    "A real GPU may stop the kernel, and the Python kernel then needs a restart, or silently touch other "
    "memory; here the next cell works."
)


class ScatteredError(Exception):
    """The lanes of one access point into different arrays or state spaces; each group is served alone."""


def fault(fragment: Fragment, address: Value, offset: int, size: int, site: int, space: str) -> NoReturn:
    """Say what is wrong with an access of `size` bytes.

    Raises MemoryAccessError, or ScatteredError where each lane by itself is right.
    """
    plain = np.asarray(lanes(address))
    width = plain.dtype.type
    full = plain + width(offset % (1 << (8 * plain.dtype.itemsize)))
    misaligned = full & width(size - 1) != 0
    if misaligned.any():
        raise _error(
            fragment, full, misaligned, f"is not aligned: this access needs a multiple of {size}", site, space
        )
    outside = np.array([not _inside(fragment, int(one), size, space) for one in full.ravel()]).reshape(
        full.shape
    )
    if not outside.any():
        raise ScatteredError
    raise _error(
        fragment, full, outside, f"lies outside {_nearest(fragment, full, outside, space)}", site, space
    )


def refuse_store(fragment: Fragment, address: Value, offset: int, name: str, site: int) -> NoReturn:
    """Raise MemoryAccessError for a store to read-only memory."""
    plain = np.asarray(lanes(address))
    full = plain + plain.dtype.type(offset % (1 << (8 * plain.dtype.itemsize)))
    raise _error(
        fragment, full, np.ones(full.shape, np.bool_), f"goes to {name}, which is read-only", site, "global"
    )


def _inside(fragment: Fragment, address: int, size: int, space: str) -> bool:
    if space in ("local", "shared"):
        return address + size <= _limit(fragment, space)
    region = fragment.chunk.launch.memory.find(address)
    return region is not None and address + size <= region.end


def _limit(fragment: Fragment, space: str) -> int:
    return fragment.chunk.local_size if space == "local" else fragment.chunk.shared_size


def _nearest(fragment: Fragment, full: np.ndarray, outside: np.ndarray, space: str) -> str:
    if space in ("local", "shared"):
        return f"the {_limit(fragment, space)} bytes of {space} memory this launch has"
    address = int(full.ravel()[np.argmax(outside)])
    region = fragment.chunk.launch.memory.nearest(address)
    if region is None:
        return "every array passed to the kernel"
    if region.start <= address < region.end:
        distance = "across the end of"
    elif address >= region.end:
        distance = f"{address - region.end} bytes behind"
    else:
        distance = f"{region.start - address} bytes before"
    return f"every array; the nearest is {distance} {region.name} ({len(region.buffer)} bytes)"


def _error(
    fragment: Fragment, full: np.ndarray, mask: np.ndarray, what: str, site: int, space: str
) -> MemoryAccessError:
    block, thread = fragment.where(mask)
    geometry, program = fragment.chunk.geometry, fragment.chunk.program
    number = int(full.ravel()[np.argmax(mask)])
    count = int(np.broadcast_to(mask, fragment.lanes.shape).sum())
    end = _OUTSIDE if space == "global" and what.startswith("lies outside") else _RESTART
    return MemoryAccessError(
        f"{program.where(site)}: {program.access_kind(site)} at {space} address {number:#x} {what}. "
        f"First of {count} such threads: block {geometry.block_index(block)}, "
        f"thread {geometry.thread_index(thread)}. {end}"
    )
