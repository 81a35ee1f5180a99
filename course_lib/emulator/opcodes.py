"""Facts read off the text of a PTX opcode."""

from __future__ import annotations

SPACES = ("global", "shared", "local", "const", "param")
ATOMICS = ("add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas")
_WARP_SYNC = ("shfl.sync", "vote.sync", "match.", "redux.sync", "elect.sync", "bar.warp.sync",
              "wmma.", "mma.", "ldmatrix", "stmatrix", "movmatrix")  # fmt: skip


def family(opcode: str) -> str:
    """`ld.global.f32` -> `ld`."""
    return opcode.split(".", 1)[0]


def is_warp_sync(opcode: str) -> bool:
    """Instructions with a member mask, which wait for all lanes it names."""
    return opcode.startswith(_WARP_SYNC)


def space_of(opcode: str) -> str:
    """State space of a memory opcode, "generic" where none is named (`shared::cta` counts as shared)."""
    parts = (part.split("::")[0] for part in opcode.split(".")[1:])
    return next((part for part in parts if part in SPACES), "generic")


def memory_form(opcode: str) -> tuple[str, str, str]:
    """(state space, type, atomic operation or "") of a memory opcode; hints are dropped."""
    parts = opcode.split(".")[1:]
    operation = next((part for part in parts if part in ATOMICS), "")
    return space_of(opcode), parts[-1], operation
