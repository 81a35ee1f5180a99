"""The stack of local memory: where the frame of a device function lies, and room for recursion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import EmulatorError
from .local import LocalMemory

if TYPE_CHECKING:
    from .chunk import Chunk
    from .fragment import Fragment

STACK_LIMIT = 8 * 1024
"""Bytes of local memory per thread a recursion may use. A GPU gives 1 KB unless the host asks for more."""


def base(fragment: Fragment) -> int:
    """Offset of the current function's frame: behind those of its callers. Makes room for it."""
    chunk = fragment.chunk
    blocks = chunk.program.blocks
    start = sum(blocks[frame.following].frame for frame in fragment.frames)
    needed = start + blocks[fragment.pc].frame
    if needed > chunk.local_size:
        _grow(chunk, needed)
    return start


def _grow(chunk: Chunk, needed: int) -> None:
    """Double the local memory of every thread of the chunk until `needed` bytes fit."""
    if needed > STACK_LIMIT:
        raise EmulatorError(
            f"{chunk.program.kernel}: the functions need more than {STACK_LIMIT // 1024} KB of stack per "
            "thread; a recursion that does not end is the usual reason (a GPU gives 1 KB by default)"
        )
    size = chunk.local_size
    while size < needed:
        size *= 2
    size = min(size, STACK_LIMIT)
    threads = chunk.blocks * chunk.geometry.threads
    grown, old = LocalMemory(threads, size), chunk.local
    grown.touch(0, old.row)
    rows = grown.memory.reshape(threads, size)
    rows[:, : old.row] = old.memory[: threads * old.row].reshape(threads, old.row)
    chunk.local, chunk.local_size = grown, size


def check_depth(fragment: Fragment) -> None:
    """Refuse endless recursion. Raises EmulatorError."""
    if len(fragment.frames) > 1000:
        raise EmulatorError(
            f"{fragment.chunk.program.kernel}: more than 1,000 nested calls of device functions; "
            "a recursion that does not end is the usual reason"
        )
