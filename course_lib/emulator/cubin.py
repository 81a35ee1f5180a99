"""Registers, shared, local and constant memory of a kernel, read from its cubin.

A cubin is an ELF file. The numbers ``cuobjdump -res-usage`` prints stand in the sections
``.nv.info`` (module) and ``.nv.info.<kernel>``, as records of one format byte, one
attribute byte and a 16-bit value or size; names follow cuobjdump's own listing (EIATTR_...).
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import lru_cache

from .errors import EmulatorError

MAX_THREADS_PER_BLOCK = 1024
RESERVED_SHARED_BYTES = 1024  # per block, kept by the system on sm_80 and later; part of .nv.shared

_FRAME_SIZE = 0x11
_REGCOUNT = 0x2F
_MAX_THREADS = 0x05
_FORMAT_SIZED = 4
_SHT_NOBITS = 8
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")


@dataclass(frozen=True)
class Resources:
    """What one kernel needs, per thread or per block.

    ``registers`` per thread; ``shared_bytes`` static, per block; ``local_bytes`` (stack and
    spills) per thread; ``constant_bytes`` of user ``__constant__`` memory in the module;
    ``max_threads`` per block (``__launch_bounds__`` or 1024).
    """

    registers: int
    shared_bytes: int
    local_bytes: int
    constant_bytes: int
    max_threads: int = MAX_THREADS_PER_BLOCK

    def as_dict(self) -> dict[str, int]:
        """The numbers by name, for JSON."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


@dataclass(frozen=True)
class _Section:
    name: str
    kind: int
    data: bytes
    size: int
    link: int


def kernels(cubin: bytes) -> list[str]:
    """Names of the kernels in a cubin, in the order of its sections."""
    return [name.removeprefix(".text.") for name in _sections(cubin) if name.startswith(".text.")]


@lru_cache(maxsize=512)
def resources(cubin: bytes, kernel: str) -> Resources:
    """What ``kernel`` (its mangled name) needs. Raises EmulatorError if the cubin lacks it."""
    sections = _sections(cubin)
    if f".text.{kernel}" not in sections:
        raise EmulatorError(f"the cubin holds {kernels(cubin)}, not {kernel!r}")
    number = _symbol_numbers(sections)[kernel]
    module = _per_symbol(sections[".nv.info"].data)
    own = dict(_records(sections[f".nv.info.{kernel}"].data)) if f".nv.info.{kernel}" in sections else {}
    shared = sections.get(f".nv.shared.{kernel}")
    reserved = RESERVED_SHARED_BYTES if ".nv.shared.reserved.0" in sections else 0
    constant = sections.get(".nv.constant3")
    threads = (
        struct.unpack_from("<3I", own[_MAX_THREADS]) if _MAX_THREADS in own else (MAX_THREADS_PER_BLOCK, 1, 1)
    )
    return Resources(
        registers=module.get((_REGCOUNT, number), 0),
        shared_bytes=max(0, shared.size - reserved) if shared else 0,
        local_bytes=module.get((_FRAME_SIZE, number), 0),
        constant_bytes=constant.size if constant else 0,
        max_threads=threads[0] * threads[1] * threads[2],
    )


def symbol_number(cubin: bytes, kernel: str) -> int:
    """Index of a kernel in the symbol table, as ``nvdisasm -fun`` wants it."""
    return _symbol_numbers(_sections(cubin))[kernel]


@lru_cache(maxsize=64)
def _sections(cubin: bytes) -> dict[str, _Section]:
    if cubin[:4] != b"\x7fELF" or cubin[4:6] != b"\x02\x01":
        raise EmulatorError("not a cubin: no 64-bit little-endian ELF header")
    table = struct.unpack_from("<Q", cubin, 0x28)[0]
    entry_size, count, names_at = struct.unpack_from("<3H", cubin, 0x3A)
    headers = [_SECTION.unpack_from(cubin, table + i * entry_size) for i in range(count)]
    names = cubin[headers[names_at][4] :]
    found = {}
    for name_at, kind, _flags, _address, offset, size, link, *_ in headers:
        name = _string(names, name_at)
        data = b"" if kind == _SHT_NOBITS else cubin[offset : offset + size]
        found[name] = _Section(name, kind, data, size, link)
    return found


def _string(table: bytes, offset: int) -> str:
    return table[offset : table.index(b"\0", offset)].decode()


def _symbol_numbers(sections: dict[str, _Section]) -> dict[str, int]:
    """Symbol name -> index in ``.symtab``."""
    strings = sections[".strtab"].data
    table = _SYMBOL.iter_unpack(sections[".symtab"].data)
    return {_string(strings, row[0]): number for number, row in enumerate(table)}


def _records(info: bytes) -> Iterator[tuple[int, bytes]]:
    """(attribute, payload) of each record of a ``.nv.info`` section."""
    at = 0
    while at + 4 <= len(info):
        form, attribute, value = struct.unpack_from("<BBH", info, at)
        at += 4
        size = value if form == _FORMAT_SIZED else 0
        yield attribute, info[at : at + size] if size else struct.pack("<H", value)
        at += size


def _per_symbol(info: bytes) -> dict[tuple[int, int], int]:
    """(attribute, symbol index) -> value, of the records that are such pairs."""
    wanted = ((a, p) for a, p in _records(info) if a in (_REGCOUNT, _FRAME_SIZE) and len(p) == 8)
    return {(a, symbol): value for a, p in wanted for symbol, value in (struct.unpack("<2I", p),)}
