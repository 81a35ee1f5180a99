"""What `cooperative_groups::this_grid().sync()` needs: a barrier in global memory.

The address of a workspace is handed to the kernel in %envreg1 (high half) and %envreg2; it is zero
in a launch that is not cooperative, and the kernel then executes trap (driver_abi.h of cooperative
groups). The blocks count in the workspace's second word and spin; chunks that only spin are set
aside, so that all blocks get there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .memory import GlobalMemory
    from .program import Program

_WORKSPACE = "the barrier of the grid"


def environment(memory: GlobalMemory, cooperative: bool, number: int) -> np.uint32:
    """Value of %envreg<number>."""
    if not cooperative or number not in (1, 2):
        return np.uint32(0)
    region = next((r for r in memory.regions if r.name == _WORKSPACE), None)
    if region is None:
        region = memory.add(_WORKSPACE, np.zeros(64, np.uint8))
    return np.uint32(region.start >> 32 if number == 1 else region.start & 0xFFFFFFFF)


def advice(program: Program, cooperative: bool) -> str:
    """What to do when a kernel traps because it was not launched cooperatively."""
    asks = any("envreg" in str(operand) for one in program.instructions for operand in one.operands)
    if cooperative or not asks:
        return ""
    return ". this_grid().sync() needs RawKernel(..., enable_cooperative_groups=True)"
