"""Running small kernels in tests: CUDA C through NVRTC, or PTX as it stands."""

from dataclasses import replace

import numpy as np

from course_lib.emulator import RawKernel
from course_lib.emulator.codegen import load
from course_lib.emulator.prepared import Prepared
from course_lib.emulator.run import Launch, launch

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"


def kernel(body: str, parameters: str = "int *out", before: str = "", **settings: object) -> RawKernel:
    """`extern "C" __global__ void k(parameters) { body }` behind the declarations in `before`."""
    return RawKernel(f'{before}\nextern "C" __global__ void k({parameters}) {{ {body} }}', "k", **settings)


def run(
    body: str,
    *arguments: object,
    parameters: str = "int *out",
    before: str = "",
    grid: int | tuple = 1,
    block: int | tuple = 32,
    shared_mem: int = 0,
    **settings: object,
) -> np.ndarray:
    """Launch such a kernel; returns the first argument (changed in place)."""
    grid, block = ((size,) if isinstance(size, int) else size for size in (grid, block))
    kernel(body, parameters, before, **settings)(grid, block, arguments, shared_mem=shared_mem)
    return arguments[0]


def ptx_entry(body: str, parameters: str = ".param .u64 out", before: str = "") -> str:
    """A PTX module with one entry `k`. `%rd0` is to hold the address of the array `out`."""
    registers = ".reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<20>; .reg .f32 %f<9>; .reg .b64 %rd<9>;"
    start = "ld.param.u64 %rd0, [out]; cvta.to.global.u64 %rd0, %rd0; mov.u32 %r0, %tid.x;"
    return f"{HEAD}{before}\n.visible .entry k({parameters})\n{{\n{registers}\n{start}\n{body}\n}}\n"


def store(register: str, kind: str = "u32") -> str:
    """PTX that stores a register to `out[tid]`. Uses %rd8."""
    size = 8 if kind.endswith("64") else 4
    return f"mad.wide.u32 %rd8, %r0, {size}, %rd0; st.global.{kind} [%rd8], {register}; ret;"


def run_ptx(
    body: str, out: np.ndarray, *, threads: int | None = None, before: str = "", grid: int = 1
) -> np.ndarray:
    """Run the entry made of `body` with one thread per element of `out`; returns `out`."""
    program = load(ptx_entry(body, before=before), "k")
    launch(Prepared(program, (grid, 1, 1), (threads or len(out), 1, 1), [out]))
    return out


def launched(
    made: RawKernel,
    grid: int,
    block: int,
    arguments: tuple,
    step_budget: int | None = None,
    **settings: object,
) -> Launch:
    """Launch with the settings of `run.launch` (seed, observe)."""
    prepared = made.prepare((grid,), (block,), arguments)
    return launch(replace(prepared, step_budget=step_budget), **settings)
