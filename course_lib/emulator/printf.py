"""`printf` and `assert` of device code.

The compiler turns `printf` into a call of `vprintf(format, buffer)`: the arguments lie in
the buffer at their natural alignment, 4 bytes for int and 8 for double, long long and
pointers (CUDA C++ Programming Guide, "Formatted Output").
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from .address import Value, lanes
from .errors import EmulatorError

if TYPE_CHECKING:
    from .fragment import Fragment

MOST_LINES = 4096
_CONVERSION = re.compile(r"%([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+))?(hh|h|ll|l|z|j|t|L)?([diouxXcsfFeEgGaAp%])")


def print_lanes(
    fragment: Fragment, format_address: Value, buffer_address: Value, site: int
) -> np.ndarray:
    """Write one formatted text per lane, in order of block and thread; returns the numbers of arguments."""
    shape = fragment.lanes.shape
    formats = np.broadcast_to(lanes(format_address), shape).ravel()
    buffers = np.broadcast_to(lanes(buffer_address), shape).ravel()
    launch = fragment.chunk.launch
    texts = []
    counts = np.zeros(len(formats), np.uint32)
    for lane in range(min(len(formats), MOST_LINES - launch.printed)):
        reader = _Reader(fragment, lane, site)
        text, counts[lane] = _formatted(reader, reader.string(int(formats[lane])), int(buffers[lane]))
        texts.append(text)
    launch.printed += len(texts)
    if len(texts) < len(formats) and not launch.print_cut:
        launch.print_cut = True
        texts.append(f"[printf stops here: more than {MOST_LINES} lines]\n")
    sys.stdout.write("".join(texts))
    return counts.reshape(shape)


def fail_assertion(fragment: Fragment, message_address: Value, line: Value, site: int) -> NoReturn:
    """`__assertfail`: raise with the expression, place and thread."""
    first = int(np.ravel(lanes(message_address))[0])
    text = _Reader(fragment, 0, site).string(first)
    geometry = fragment.chunk.geometry
    block = geometry.block_index(int(fragment.lanes.lane_blocks[0]))
    thread = geometry.thread_index(int(fragment.lanes.lane_threads[0]))
    raise EmulatorError(
        f"{fragment.chunk.program.kernel}, line {int(np.ravel(line)[0])}: assertion failed: {text} "
        f"(block {block}, thread {thread}, {fragment.lanes.count} threads)"
    )


class _Reader:
    """Reads memory as one lane sees it, for the call at `site`."""

    def __init__(self, fragment: Fragment, lane: int, site: int) -> None:
        self.site = site
        ids = fragment.lanes.ids[lane : lane + 1]
        threads = fragment.chunk.geometry.threads
        alone = type(fragment.lanes)(fragment.lanes.geometry, ids // threads, ids % threads, False)
        self.fragment = type(fragment)(fragment.chunk, alone, [], fragment.pc)

    def number(self, address: int, dtype: str) -> int | float:
        """One number of a NumPy dtype at a generic address."""
        value = self.fragment.load(
            "generic", np.uint64(address), 0, np.dtype(dtype), 1, self.site, observe=False
        )
        return np.ravel(value)[0].item()

    def string(self, address: int) -> str:
        """A zero-terminated string."""
        found = bytearray()
        while byte := self.number(address + len(found), "u1"):
            found.append(int(byte))
        return found.decode("utf-8", "replace")


class _Buffer:
    """The arguments of one call, one after the other, each at its natural alignment."""

    def __init__(self, reader: _Reader, start: int) -> None:
        self.reader, self.at, self.taken = reader, start, 0

    def take(self, dtype: str) -> int | float:
        """The next argument."""
        size = np.dtype(dtype).itemsize
        self.at = -(-self.at // size) * size
        value = self.reader.number(self.at, dtype)
        self.at += size
        self.taken += 1
        return value


def _formatted(reader: _Reader, template: str, start: int) -> tuple[str, int]:
    """(text, number of arguments used)."""
    arguments = _Buffer(reader, start)
    return _CONVERSION.sub(lambda match: _converted(match, arguments), template), arguments.taken


def _converted(match: re.Match, arguments: _Buffer) -> str:
    flags, width, precision, length, kind = match.groups()
    if kind == "%":
        return "%"
    width = str(arguments.take("i4")) if width == "*" else width or ""
    precision = str(arguments.take("i4")) if precision == "*" else precision
    spec = f"%{flags}{width}" + (f".{precision}" if precision is not None else "")
    if kind == "s":
        return (spec + "s") % arguments.reader.string(int(arguments.take("u8")))
    if kind == "p":
        return (spec + "s") % hex(int(arguments.take("u8")))
    if kind in "fFeEgG":
        return (spec + kind) % arguments.take("f8")
    if kind in "aA":
        return (spec + "s") % float(arguments.take("f8")).hex()
    signed, wide = kind in "dic", length in ("l", "ll", "z", "j", "t")
    value = arguments.take(("i" if signed else "u") + ("8" if wide else "4"))
    return (spec + {"i": "d", "u": "d"}.get(kind, kind)) % value
