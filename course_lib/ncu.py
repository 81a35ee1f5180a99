"""Nsight Compute beside `profile`: the command for a kernel, what `ncu` prints, both side by side.

`ncu` is NVIDIA's profiler of single kernels. It counts what the hardware did, which needs a GPU and, on many
machines, a permission. Options after its manual, https://docs.nvidia.com/nsight-compute/NsightComputeCli .
"""

import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .metric_names import (
    FEWEST_SECTORS,
    FFMA,
    INSTRUCTIONS,
    LD_REQUESTS,
    LD_SECTORS,
    LD_WAVEFRONTS,
    REGISTERS,
    SECTORS,
    ST_REQUESTS,
    ST_SECTORS,
    ST_WAVEFRONTS,
)
from .ncu_text import Measured, read
from .profile import as_emulated, profile
from .report import PLAIN_NAMES, Cell, Table

__all__ = ["METRICS", "Measured", "against", "command", "compare", "measure", "prepare", "read"]

METRICS = (
    LD_REQUESTS,
    LD_SECTORS,
    ST_REQUESTS,
    ST_SECTORS,
    LD_WAVEFRONTS,
    ST_WAVEFRONTS,
    SECTORS,
    FEWEST_SECTORS,
    "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum",
    "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum",
    FFMA,
    INSTRUCTIONS,
    "smsp__thread_inst_executed.sum",
    REGISTERS,
)
# metrics whose count here follows the PTX, and why the machine code may differ
FOLLOWS_PTX = {
    INSTRUCTIONS: "machine instructions are others, and others in number",
    "smsp__thread_inst_executed.sum": "machine instructions are others, and others in number",
    "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum": "ptxas joins mul and add, and expands "
    "division, roots and the like",
    "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum": "ptxas joins mul and add, and expands "
    "division, roots and the like",
    FFMA: "ptxas joins mul and add, and expands division, roots and the like",
    REGISTERS: "ncu reports what is allotted: never below 16; ptxas may be another version",
}
TIMEOUT_SECONDS = 120


def command(script: str, kernel: str = "", metrics: Sequence[str] = METRICS, python: str = "python") -> str:
    """The `ncu` call that counts the first launch of `kernel` in a script, as CSV; no metrics: all there are.

    `--clock-control none` leaves the clocks alone: by default ncu locks them to the base clock, and times are
    then not those of your program. Names with blanks or brackets are quoted for a shell.
    """
    return shlex.join(_words(script, kernel, metrics, python))


def _words(script: str, kernel: str, metrics: Sequence[str], python: str) -> list[str]:
    if isinstance(metrics, str):
        metrics = (metrics,)
    words = ["ncu", "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none"]
    if kernel.startswith("_Z"):  # ncu's plain names are the functions' own, without what C++ adds
        words += ["--kernel-name-base", "mangled"]
    words += ["--kernel-name", kernel, "--launch-count", "1"] if kernel else []
    words += ["--metrics", ",".join(metrics)] if metrics else ["--set", "full"]
    return [*words, python, script]


def compare(
    counted: Mapping[str, float], by_ncu: Mapping[str, float], caption: str = "", evidence: str = "measured"
) -> Table:
    """A row per metric that both know: counted by the emulator, counted by ncu, and why they may differ.

    `evidence`: "measured" for what ncu counted here and now, "recorded" for what it counted earlier.
    """
    rows = []
    for name in METRICS:
        if name not in counted or name not in by_ncu or not (counted[name] or by_ncu[name]):
            continue
        ours, theirs = counted[name], by_ncu[name]
        verdict = "equal" if ours == theirs else FOLLOWS_PTX.get(name, "differs")
        tint = ("0,158,115", 0.4) if ours == theirs else ("230,159,0", 0.4)
        cells = [Cell(PLAIN_NAMES.get(name, name), tip=name), Cell(f"{ours:,.10g}"), Cell(f"{theirs:,.10g}")]
        rows.append([*cells, Cell(verdict, *tint)])
    return Table(["metric", "counted", f"{evidence} by ncu", "verdict"], rows, {0, 3}, caption)


def prepare(
    folder: Path, kernel: Any, grid: tuple, block: tuple, args: Sequence[Any], shared_mem: int = 0
) -> Path:
    """Write a script with its data that launches a kernel once through CuPy; returns its path."""
    emulated = as_emulated(kernel)
    lowered = emulated.compiled.lowered if emulated.name.startswith("_Z") else {}
    expressions = tuple(text for text, mangled in lowered.items() if mangled == emulated.name) or None
    folder.mkdir(parents=True, exist_ok=True)
    arrays = {
        f"a{i}": value.get() if hasattr(value, "get") else np.asarray(value) for i, value in enumerate(args)
    }
    np.savez(folder / "arguments.npz", **arrays)
    (folder / "kernel.cu").write_text(emulated.code, encoding="utf-8")
    script = folder / "launch.py"
    script.write_text(
        "import pathlib\nimport cupy\nimport numpy\n\n"
        "here = pathlib.Path(__file__).parent\n"
        "saved = numpy.load(here / 'arguments.npz')\n"
        "args = [saved[f'a{i}'] for i in range(len(saved))]\n"
        "args = tuple(cupy.asarray(a) if a.ndim else a[()] for a in args)\n"
        "source = (here / 'kernel.cu').read_text()\n"
        f"module = cupy.RawModule(code=source, options={tuple(emulated.options)!r}, "
        f"name_expressions={expressions!r})\n"
        f"kernel = module.get_function({(expressions or (emulated.name,))[0]!r})\n"
        f"kernel.max_dynamic_shared_size_bytes = max({shared_mem}, kernel.max_dynamic_shared_size_bytes)\n"
        f"kernel({tuple(grid)!r}, {tuple(block)!r}, args, shared_mem={shared_mem})\n"
        "cupy.cuda.Device().synchronize()\n",
        encoding="utf-8",
    )
    return script


def measure(kernel: Any, grid: tuple, block: tuple, args: Sequence[Any], shared_mem: int = 0) -> Measured:
    """Run `ncu` on one launch here. Raises ValueError that says why not, and what to do."""
    if shutil.which("ncu") is None:
        raise ValueError(
            "there is no ncu on the PATH; it comes with the CUDA toolkit, or alone as Nsight Compute"
        )
    with tempfile.TemporaryDirectory() as folder:
        script = prepare(Path(folder), kernel, grid, block, args, shared_mem)
        call = _words(str(script), as_emulated(kernel).name, METRICS, sys.executable)
        try:
            done = subprocess.run(call, capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise ValueError(f"ncu took more than {TIMEOUT_SECONDS} s: count a smaller launch") from error
    return read(done.stdout + done.stderr)[0]


def against(kernel: Any, grid: tuple, block: tuple, args: Sequence[Any], shared_mem: int = 0) -> Table | None:
    """`profile` beside `ncu` for one launch; where ncu cannot count, the reason is printed."""
    counted = profile(kernel, grid, block, args, shared_mem)
    try:
        return compare(counted, measure(kernel, grid, block, args, shared_mem), f"{counted.kernel}, this GPU")
    except (ValueError, OSError, subprocess.SubprocessError) as reason:
        print(f"not measured: {reason}")
        return None
