"""How often a warp waits for global memory: loads that are in flight together count as one round.

A property of the code: it follows from the order of the PTX instructions in a basic block. Within a block,
ptxas starts a load as early as it may. A load must come later than another one

* if its address depends on what that one brings,
* if a store stands between that waits for the value, and the two might be to the same address (anything but
  `ld.global.nc`, which is what `const ... __restrict__` becomes),
* if a barrier or an atomic stands between and an instruction before it waits for the value.

A wait for asynchronous copies (`cp.async.wait_group N`) that leaves N groups in flight is the N + 1st part of
a round: in a loop that starts a group a turn, N + 1 turns share the latency.

Loops: a round for each time around, unless the PTX is unrolled. (ptxas unrolls a loop of known trip count,
and some others, further; then this counts too many.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .ptx import Imm, Instruction, Mem, Operand, Pair, Reg, Vec

_SPACES = {"shared", "local", "const", "param"}  # a load or store without one of these may be global
_FENCES = {"bar", "barrier", "membar", "fence", "atom", "red", "call"}


def load_rounds(instructions: Iterable[Instruction]) -> float:
    """Rounds of global loads and asynchronous copies in one execution of a basic block by a warp."""
    instructions = list(instructions)
    return _plain_rounds(instructions) + sum(_waited_for_copies(one) for one in instructions)


def _waited_for_copies(instruction: Instruction) -> float:
    """The part of a latency that a warp waits here for its asynchronous copies, in a loop."""
    if not instruction.opcode.startswith("cp.async.wait_"):
        return 0
    kept = instruction.operands[0] if instruction.operands else None
    return 1 / (1 + int(kept.value())) if isinstance(kept, Imm) else 1


def _plain_rounds(instructions: Iterable[Instruction]) -> int:
    ready: dict[str, int] = {}  # register -> rounds until its value is there
    waited = after_store = after_fence = rounds = 0
    for instruction in instructions:
        kind, *modifiers = instruction.opcode.split(".")
        is_global = _SPACES.isdisjoint(part.split("::")[0] for part in modifiers)
        written, read = _registers(instruction, kind)
        depth = max((ready.get(name, 0) for name in read), default=0)
        if kind in ("ld", "ldu") and is_global:
            depth = max(depth, after_fence, 0 if "nc" in modifiers else after_store) + 1
            rounds = max(rounds, depth)
        else:
            waited = max(waited, depth)
        if kind == "st" and is_global:
            after_store = max(after_store, depth)
        if kind in _FENCES and not (kind in ("atom", "red") and not is_global):
            after_fence = max(after_fence, waited)
        for name in written:
            ready[name] = depth
    return rounds


def _registers(instruction: Instruction, kind: str) -> tuple[list[str], list[str]]:
    """Names of the registers that an instruction writes, and of those it reads."""
    operands = instruction.operands
    results = 0 if kind in ("st", "bra", "bar", "red", "ret", "exit") else 1
    written = [name for operand in operands[:results] for name in _names(operand)]
    read = [name for operand in operands[results:] for name in _names(operand)]
    if instruction.guard is not None:
        read.append(instruction.guard.name)
    return written, read


def _names(operand: Operand) -> Iterator[str]:
    if isinstance(operand, Reg):
        yield operand.name
    elif isinstance(operand, Mem):
        yield from _names(operand.base)
    elif isinstance(operand, Vec):
        for item in operand.items:
            yield from _names(item)
    elif isinstance(operand, Pair):
        yield from (operand.first.name, operand.second.name)
