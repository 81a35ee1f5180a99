"""A program ready to run: basic blocks as Python functions, and the facts about them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from .facts import Facts, facts_of
from .memory import GlobalMemory, Region
from .ptx import Instruction, Parameter, Reg, Variable
from .ranks import ranks
from .rounds import load_rounds
from .special import STAND_INS


@dataclass
class Block:
    """One basic block. `run(registers, fragment)` executes it; `leave` is the Chunk method that ends it.

    Blocks are named by number: `following`, `target`, `table` (of a switch), `callee`. `frame` is the
    local memory of the block's function in bytes.
    """

    number: int
    instructions: list[Instruction]
    sites: range
    leave: Callable
    following: int = -1
    target: int = -1
    table: tuple[int, ...] = ()
    callee: int = -1
    arguments: tuple[tuple[int, int], ...] = ()
    returns: tuple[tuple[int, int], ...] = ()
    live_in: list[int] = field(default_factory=list)
    member_mask: int | np.generic | None = None
    spins: bool = False
    exits: bool = False
    branches: bool = False
    frame: int = 0
    run: Callable = None  # type: ignore[assignment]

    @property
    def line(self) -> int:
        """CUDA source line of the block's first instruction that has one."""
        return next((i.line for i in self.instructions if i.line), 0)

    @property
    def successors(self) -> list[int]:
        """Blocks that may run next (calls count as falling through)."""
        return [number for number in (self.following, self.target, *self.table) if number >= 0]

    @property
    def works(self) -> bool:
        """False for a block that only returns or jumps."""
        return any(not i.opcode.startswith(("ret", "exit", "bra")) for i in self.instructions)


@dataclass(eq=False)
class Program:
    """An entry of a PTX module with every device function it calls.

    `variables`, `addresses` and `buffers` are those of the whole module: a pointer may lead to any of them.
    """

    kernel: str
    parameters: list[Parameter]
    blocks: list[Block]
    entry_block: int
    instructions: list[Instruction]
    initial_registers: list
    static_shared: int
    local_size: int
    recursive: bool
    shared_grain: int
    variables: dict[str, Variable]
    directives: dict[str, tuple[int, ...]]
    addresses: dict[str, int]
    buffers: dict[str, np.ndarray]
    python_source: str
    shared_arrays: dict[str, int] = field(default_factory=dict)  # name in the PTX -> byte

    # -- naming places --------------------------------------------------------

    def line(self, site: int) -> int:
        """CUDA source line of an instruction (0: unknown)."""
        return self.instructions[site].line

    def opcode(self, site: int) -> str:
        """Full opcode of an instruction."""
        return self.instructions[site].opcode

    def where(self, site: int) -> str:
        """Kernel and line, for messages."""
        line = self.line(site)
        return f"{self.kernel}, line {line}" if line else self.kernel

    def shared_place(self, byte: int) -> str:
        """A byte of shared memory by its array: "b_tile + 64 bytes (shared byte 1088)"."""
        before = [(start, name) for name, start in self.shared_arrays.items() if start <= byte]
        if not before:
            return f"shared byte {byte}"
        start, name = max(before)
        local = re.fullmatch(r"_ZZ.*?E(\d+)(\D\w*)", name)  # an array that a kernel declares
        name = local[2][: int(local[1])] if local else name
        return f"{name} + {byte - start} bytes (shared byte {byte})"

    def access_kind(self, site: int) -> str:
        """ "load", "store", "copy" or "atomic"; what `printf` reads for `%s`."""
        family, operation, *_ = self.opcode(site).split(".")
        names = {"ld": "load", "ldu": "load", "ldmatrix": "load", "st": "store", "stmatrix": "store"}
        names |= {"cp": "copy", "call": "read by printf"}
        return operation if family == "wmma" else names.get(family, "atomic")

    def barrier_line(self, pc: int) -> int:
        """CUDA source line of the barrier that ends block `pc`."""
        return self.blocks[pc].instructions[-1].line

    # -- facts ----------------------------------------------------------------

    @cached_property
    def facts(self) -> Facts:
        """What the memory instructions may do."""
        return facts_of(self.instructions)

    @cached_property
    def rounds(self) -> list[float]:
        """For each block, the rounds of global loads in one execution (see `rounds`)."""
        return [load_rounds(block.instructions) for block in self.blocks]

    @cached_property
    def ranks(self) -> list[int]:
        """Place of each block in the order in which lanes apart should run and meet again."""
        return ranks([block.successors for block in self.blocks])

    @cached_property
    def _post_dominators(self) -> list[set[int]]:
        """For each block, the blocks that every path from it to an exit runs through (a fixpoint)."""
        everything = set(range(len(self.blocks)))
        found = [everything if block.successors else {block.number} for block in self.blocks]
        changed = True
        while changed:
            changed = False
            for block in reversed(self.blocks):
                if not block.successors:
                    continue
                common = set.intersection(*(found[number] for number in block.successors)) | {block.number}
                if common != found[block.number]:
                    found[block.number] = common
                    changed = True
        return found

    def after_barrier(self, pc: int) -> set[int]:
        """Working blocks that each thread released from the barrier ending `pc` must run."""
        return {number for number in self._post_dominators[pc] if number != pc and self.blocks[number].works}

    @property
    def stand_ins(self) -> dict[str, str]:
        """Special registers the kernel reads that the emulator makes up (`%clock64`), and what they hold."""
        names = {o.name for one in self.instructions for o in one.operands if isinstance(o, Reg)}
        read = {name.lstrip("%") for name in names if name.startswith("%")}
        return {f"%{name}": STAND_INS[name] for name in sorted(read & set(STAND_INS))}

    # -- memory ---------------------------------------------------------------

    def map_variables(self, memory: GlobalMemory) -> dict[str, int]:
        """Map the global and constant variables of the module; returns their addresses by name."""
        regions = self.regions
        if any(region.buffer is not self.buffers[name] for name, region in regions.items()):
            self.__dict__.pop("regions", None)  # another program of the module has brought the buffers
            regions = self.regions
        memory.add_variables(list(regions.values()))
        return self.addresses

    @cached_property
    def regions(self) -> dict[str, Region]:
        """A region of memory for each variable, in ascending order."""
        return {
            name: Region(f"{v.space} variable {name}", self.addresses[name], self.buffers[name],
                         v.space == "global", v.space)
            for name, v in self.variables.items()
        }  # fmt: skip
