"""Special registers (PTX ISA, chapter "Special Registers"): threads, blocks and stand-ins for the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .isa.table import DTYPES

if TYPE_CHECKING:
    from .emit import Emitter

_LANES = ("tid", "ntid", "ctaid", "nctaid", "laneid", "warpid", "lanemask_eq", "lanemask_lt", "lanemask_le",
          "lanemask_gt", "lanemask_ge")  # fmt: skip
# Without clusters every block is a cluster of one (PTX ISA, "%cluster_ctaid").
_ALIASES = {"clusterid": "ctaid", "nclusterid": "nctaid"}
# Stand-ins, the same on every run: every block is on multiprocessor 0 of an H200.
_CONSTANTS = {"nwarpid": 64, "smid": 0, "nsmid": 132, "gridid": 1, "total_smem_size": 233472}
_CONSTANTS |= {"cluster_ctaid": 0, "cluster_nctaid": 1, "cluster_ctarank": 0, "cluster_nctarank": 1}
_CONSTANTS |= {"is_explicit_cluster": 0}
_CLOCKS = ("clock", "clock_hi", "clock64", "globaltimer", "globaltimer_lo", "globaltimer_hi")
# What each stand-in is, for whoever shows results that depend on it.
STAND_INS = {
    **dict.fromkeys(_CLOCKS, "counts executed basic blocks, 32 a step, not cycles or nanoseconds"),
    "smid": "is 0 for every block", "nsmid": "is that of an H200", "nwarpid": "is that of an H200",
    "warpid": "is the warp's number within its block", "gridid": "is always 1",
}  # fmt: skip


def special_register(emitter: Emitter, name: str, code: str) -> str:
    """Expression of a special register as type `code`. Raises UnsupportedError."""
    head, _, axis = name.lstrip("%").partition(".")
    head = _ALIASES.get(head, head)
    if head in _LANES:
        return emitter.convert(emitter.assign(f'F.special("{head + "." * bool(axis) + axis}")'), "u32", code)
    if head in _CLOCKS:
        return emitter.assign(f'F.clock("{DTYPES[code].name}", {32 * head.endswith("_hi")})')
    if head in _CONSTANTS:
        return emitter.constant(DTYPES[code].type(_CONSTANTS[head]))
    if head == "dynamic_smem_size":
        return emitter.convert(emitter.assign("F.dynamic_shared()"), "u32", code)
    if head.startswith("envreg"):
        return emitter.convert(emitter.assign(f"F.environment({int(head[6:] or 0)})"), "u32", code)
    raise emitter.refuse(f"special register {name}")
