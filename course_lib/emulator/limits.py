"""Launch checks: what a GPU refuses, and the number it refuses it for.

Limits: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability", 9.0
(H200). Grid and block are normalised as CuPy does: missing dimensions are 1, and so is a 0.
"""

import operator
from dataclasses import dataclass

from .cubin import RESERVED_SHARED_BYTES, Resources
from .errors import LaunchError

Dim3 = tuple[int, int, int]
_AXES = "xyz"


@dataclass(frozen=True)
class GpuLimits:
    """Launch limits of one GPU. Sizes in bytes, register counts in 32-bit registers."""

    name: str = "NVIDIA H200"
    grid: Dim3 = (2**31 - 1, 65535, 65535)
    block: Dim3 = (1024, 1024, 64)
    threads_per_block: int = 1024
    warp_size: int = 32
    registers_per_block: int = 65536
    register_granularity: int = 256  # registers are handed to a warp in units of this size
    shared_per_block: int = 48 * 1024
    local_per_thread: int = 512 * 1024
    shared_per_block_optin: int = 227 * 1024
    sm_count: int = 132
    warps_per_sm: int = 64
    blocks_per_sm: int = 32
    shared_per_sm: int = 228 * 1024
    warp_granularity: int = 4  # an SM has four partitions


H200 = GpuLimits()


def dimensions(value: object, what: str) -> Dim3:
    """``value`` as three ints >= 1; ``what`` is "grid" or "block". Raises LaunchError.

    Like CuPy takes tuples of one to three integers (NumPy integers too).
    """
    if not isinstance(value, tuple):
        raise LaunchError(
            f"{what} must be a tuple, not {type(value).__name__} {value!r}: write {_as_tuple(value)}"
        )
    if not 1 <= len(value) <= 3:
        raise LaunchError(f"{what} {value} has {len(value)} dimensions; CUDA has one to three: (x, y, z)")
    sizes = [_size(v, f"{what} dimension {axis}") for v, axis in zip(value, _AXES, strict=False)]
    x, y, z = (max(1, size) for size in (*sizes, 1, 1)[:3])
    return x, y, z


def _as_tuple(value: object) -> str:
    if isinstance(value, (list, set)):
        return "(" + ", ".join(map(str, value)) + ("," if len(value) == 1 else "") + ")"
    return f"({value},)" if isinstance(value, int) else "(x,), (x, y) or (x, y, z)"


def _size(value: object, what: str) -> int:
    try:
        size = operator.index(value)
    except TypeError:
        advice = "; divide with //, as in (n + 255) // 256" if isinstance(value, float) else ""
        raise LaunchError(
            f"{what} must be an integer, not {type(value).__name__} {value!r}{advice}"
        ) from None
    if size < 0:
        raise LaunchError(f"{what} is {size}: it cannot be negative")
    return size


def shared_bytes(value: object) -> int:
    """Dynamic shared memory as a non-negative int. Raises LaunchError."""
    return _size(value, "shared_mem (bytes)")


def check_launch(
    name: str,
    grid: Dim3,
    block: Dim3,
    resources: Resources,
    dynamic_shared: int = 0,
    max_dynamic_shared: int | None = None,
    gpu: GpuLimits = H200,
) -> None:
    """Raise LaunchError, naming the limit, for a launch that ``gpu`` would refuse."""
    _check_axes(name, "grid", grid, gpu.grid, gpu)
    _check_axes(name, "block", block, gpu.block, gpu)
    threads = block[0] * block[1] * block[2]
    if threads > gpu.threads_per_block:
        product = " x ".join(map(str, block))
        raise LaunchError(
            f"{name}: block {block} has {product} = {threads} threads; "
            f"the limit is {gpu.threads_per_block} threads per block"
        )
    if threads > resources.max_threads:
        raise LaunchError(
            f"{name}: block {block} has {threads} threads, but the kernel's __launch_bounds__ "
            f"promises at most {resources.max_threads}"
        )
    _check_shared(name, resources.shared_bytes, dynamic_shared, max_dynamic_shared, gpu)
    _check_registers(name, threads, resources.registers, gpu)
    if resources.local_bytes > gpu.local_per_thread:
        raise LaunchError(
            f"{name}: {resources.local_bytes} bytes of local memory per thread; {gpu.name} has at most "
            f"{gpu.local_per_thread} (512 KB): use smaller arrays, or global memory"
        )


def _check_axes(name: str, what: str, sizes: Dim3, limits: Dim3, gpu: GpuLimits) -> None:
    for axis, size, limit in zip(_AXES, sizes, limits, strict=True):
        if size > limit:
            raise LaunchError(
                f"{name}: {what} {sizes}: {what} dimension {axis} is {size}; the limit is {limit}"
            )


def _check_shared(name: str, static: int, dynamic: int, allowed: int | None, gpu: GpuLimits) -> None:
    if allowed is None:
        allowed = default_dynamic_shared(static, gpu)
    if static + dynamic > gpu.shared_per_block_optin:
        raise LaunchError(
            f"{name}: {_parts(static, dynamic)} of shared memory per block; {gpu.name} has at most "
            f"{gpu.shared_per_block_optin} bytes (227 KB) for a block"
        )
    if dynamic > allowed:
        raise LaunchError(
            f"{name}: {_parts(static, dynamic)} of shared memory per block; unless more is asked for, the "
            f"limit is {gpu.shared_per_block} bytes (48 KB), and max_dynamic_shared_size_bytes is {allowed}. "
            f"Set kernel.max_dynamic_shared_size_bytes = {dynamic} before the launch "
            f"({gpu.name} allows up to {gpu.shared_per_block_optin - static})"
        )


def _parts(static: int, dynamic: int) -> str:
    return f"{static} static + {dynamic} dynamic = {static + dynamic} bytes" if static else f"{dynamic} bytes"


def default_dynamic_shared(static: int, gpu: GpuLimits = H200) -> int:
    """Dynamic shared bytes a kernel may use before it asks for more: what 48 KB leave."""
    return max(0, gpu.shared_per_block - static)


def check_max_dynamic_shared(name: str, static: int, wanted: object, gpu: GpuLimits = H200) -> int:
    """The value for ``max_dynamic_shared_size_bytes``, or LaunchError above the GPU's limit."""
    size = _size(wanted, "max_dynamic_shared_size_bytes")
    if static + size > gpu.shared_per_block_optin:
        raise LaunchError(
            f"{name}: max_dynamic_shared_size_bytes = {size} with {static} static bytes; "
            f"{gpu.name} allows at most {gpu.shared_per_block_optin - static} (227 KB less the static part)"
        )
    return size


def _registers_per_warp(registers: int, gpu: GpuLimits) -> int:
    unit = gpu.register_granularity
    return -(-max(registers, 1) * gpu.warp_size // unit) * unit


def _warps_for_registers(registers: int, gpu: GpuLimits) -> int:
    """Warps that fit into the register file; partitions fill evenly."""
    warps = gpu.registers_per_block // _registers_per_warp(registers, gpu)
    return warps // gpu.warp_granularity * gpu.warp_granularity


def max_threads(resources: Resources, gpu: GpuLimits = H200) -> int:
    """The largest block the kernel can be launched with, as CUDA's function attribute says."""
    by_registers = _warps_for_registers(resources.registers, gpu) * gpu.warp_size
    return min(resources.max_threads, gpu.threads_per_block, by_registers)


def _check_registers(name: str, threads: int, registers: int, gpu: GpuLimits) -> None:
    warps = -(-threads // gpu.warp_size)
    fit = _warps_for_registers(registers, gpu)
    if warps > fit:
        per_warp = _registers_per_warp(registers, gpu)
        raise LaunchError(
            f"{name}: too many resources requested for launch. The limit is registers: {registers} per "
            f"thread make {per_warp} per warp (units of {gpu.register_granularity}), so a block of {threads} "
            f"threads needs {per_warp * warps} of {gpu.registers_per_block}. 0 blocks fit on an SM. Use at "
            f"most {fit * gpu.warp_size} threads per block, or __launch_bounds__({threads})"
        )


def resident_blocks(threads: int, resources: Resources, dynamic_shared: int, gpu: GpuLimits = H200) -> int:
    """Blocks of one kernel that fit on the whole GPU at once (for cooperative launches)."""
    warps = -(-threads // gpu.warp_size)
    per_sm = min(
        gpu.blocks_per_sm, gpu.warps_per_sm // warps, _warps_for_registers(resources.registers, gpu) // warps
    )
    shared = resources.shared_bytes + dynamic_shared + RESERVED_SHARED_BYTES
    return min(per_sm, gpu.shared_per_sm // shared) * gpu.sm_count
