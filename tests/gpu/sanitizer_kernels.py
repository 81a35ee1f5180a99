"""The kernels of `sanitizer_kernels.cu`, with what compute-sanitizer and the emulator should say of each.

What the tools look at (Compute Sanitizer user's guide): memcheck at out-of-bounds and misaligned accesses,
racecheck at shared memory only, initcheck at global memory only, synccheck at barriers. No tool looks at
races in global memory, unwritten shared memory, shuffles or divisions. Needs nothing but Python.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
FILE = Path(__file__).with_suffix(".cu")


@dataclass(frozen=True)
class Kernel:
    """`source`: CUDA C++; `tool`: which should report it (or ""); `found`: what the emulator reports."""

    name: str
    source: str
    tool: str
    found: tuple[str, ...]
    block: int
    faults: bool
    hangs: bool
    grid: int = 2

    @property
    def n(self) -> int:
        """Elements of each array."""
        return self.grid * self.block

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools that can run it."""
        return () if self.hangs else ("memcheck",) if self.faults else TOOLS


def _kernels() -> dict[str, Kernel]:
    head, *parts = re.split(r"^//: ", FILE.read_text(), flags=re.MULTILINE)
    return {kernel.name: kernel for kernel in (_kernel(head, part) for part in parts)}


def _kernel(head: str, part: str) -> Kernel:
    line, text = part.split("\n", 1)
    name, facts = line.split(": ")
    tool, found, settings = [fact.strip() for fact in f"{facts} | ".split("|")[:3]]
    block = re.search(r"block (\d+)", settings)
    if "__pipeline" not in text:
        head = re.sub(r"^#include.*\n", "", head, flags=re.MULTILINE)  # compiles sooner
    return Kernel(
        name=name,
        source=head + re.split(r"^// --", text, flags=re.MULTILINE)[0],
        tool=tool.strip("-"),
        found=tuple(sorted(found.split(", "))) if found != "-" else (),
        block=int(block[1]) if block else 128,
        faults="faults" in settings,
        hangs="hangs" in settings,
    )


KERNELS = _kernels()
