"""The chapters' kernels come from `data/ptx/` where there is no compiler, as on macOS."""

import ast
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest

from course_lib.emulator import sass, stored
from course_lib.emulator.compile import compile_source
from course_lib.emulator.errors import UnsupportedError

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
EVERY = sorted(NOTEBOOKS.rglob("[0-9]*.ipynb"))
CHAPTERS = [path for path in EVERY if path.parent == NOTEBOOKS]


def literal_kernels(path: Path) -> list[tuple[str, tuple[str, ...]]]:
    """(source, options) of every `cp.RawKernel(...)` of a notebook whose arguments are written out."""
    found = []
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type != "code":
            continue
        for node in ast.walk(ast.parse(cell.source)):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "RawKernel":
                options = next((k.value for k in node.keywords if k.arg == "options"), ast.Tuple([]))
                try:
                    found.append((ast.literal_eval(node.args[0]), tuple(ast.literal_eval(options))))
                except ValueError:
                    continue
    return found


@pytest.mark.parametrize("path", EVERY, ids=[f"{p.parent.name}/{p.stem}" for p in EVERY])
def test_every_written_kernel_is_stored(path: Path) -> None:
    kernels = [kernel for kernel in literal_kernels(path) if "your code here" not in kernel[0]]
    missing = [source for source, options in kernels if stored.load(source, options, ()) is None]
    assert not missing, f"{len(missing)} of {len(kernels)}: run `python -m course_lib.emulator.stored {path}`"


WITH_KERNELS = {path.stem: one for path in CHAPTERS for one in literal_kernels(path) if stored.load(*one, ())}


@pytest.mark.parametrize("chapter", WITH_KERNELS)
def test_stored_machine_code_is_what_nvdisasm_shows(chapter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read, not disassembled again, where the PTX is the stored one; nvdisasm is the authority."""
    source, options = WITH_KERNELS[chapter]
    compiled = compile_source(source, options)
    (entry, *_), cubin = compiled.entries, compiled.cubin
    shown = sass.sass(cubin, entry), sass.sass_lines(cubin, entry)
    monkeypatch.setattr(sass, "_listing", None)
    assert (compiled.sass(entry), compiled.sass_lines(entry)) == shown


def test_a_kernel_of_another_compiler_is_disassembled() -> None:
    """The PTX begins with the build of the compiler; what another one stored says nothing about this one."""
    compiled = compile_source(*next(iter(WITH_KERNELS.values())))
    other = replace(compiled, ptx=compiled.ptx.replace("Build ID: CL-", "Build ID: CL-1"), cubin=b"")
    assert compiled.sass(compiled.entries[0])
    with pytest.raises(UnsupportedError, match="needs NVIDIA's compiler"):
        other.sass(other.entries[0])


def test_a_chapter_runs_without_a_compiler(tmp_path: Path) -> None:
    """As the reader of a Mac would: every cell, counts from the stored SASS included."""
    environment = os.environ | {"COURSE_STORED_PTX": "1", "COURSE_BACKEND": "emulator"}
    command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute"]
    command += ["--output-dir", str(tmp_path), str(NOTEBOOKS / "02_tiling.ipynb")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
