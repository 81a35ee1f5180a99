"""PTX kept in ``data/ptx/`` for machines without NVRTC, and how it gets there.

One JSON file per source, options and name expressions, named by their hash. Write them with
``python -m course_lib.emulator.stored [NOTEBOOK ...]``: the notebooks run on the
emulator and every kernel they compile is kept.
"""

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .sass import sass, sass_lines

if TYPE_CHECKING:
    from .compile import Compiled

FOLDER = Path(__file__).resolve().parents[2] / "data" / "ptx"
RECORD = "COURSE_RECORD_PTX"  # a folder: every compile of this process is written there

_recordings: list[list["Compiled"]] = []


def key(source: str, options: tuple[str, ...], name_expressions: tuple[str, ...]) -> str:
    """Hash that names the stored entry of one compile request."""
    text = json.dumps([source, list(options), list(name_expressions)])
    return hashlib.sha256(text.encode()).hexdigest()


def load(source: str, options: tuple[str, ...], name_expressions: tuple[str, ...]) -> dict[str, Any] | None:
    """The stored entry of a compile request, or None."""
    path = FOLDER / f"{key(source, options, name_expressions)[:24]}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def save(compiled: "Compiled", folder: Path = FOLDER) -> Path:
    """Write one entry; returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    name = key(compiled.source, compiled.options, compiled.name_expressions)
    entry = {
        "key": name,
        "options": list(compiled.options),
        "name_expressions": list(compiled.name_expressions),
        "lowered": dict(compiled.lowered),
        "resources": {entry: compiled.resources(entry).as_dict() for entry in compiled.entries},
        "ptx": compiled.ptx,
        "sass": {entry: sass(compiled.cubin, entry) for entry in compiled.entries},
        "lines": {
            entry: [(r.source_line, r.ptx_line) for r in sass_lines(compiled.cubin, entry)]
            for entry in compiled.entries
        },
    }
    path = folder / f"{name[:24]}.json"
    path.write_text(json.dumps(entry, indent=1) + "\n", encoding="utf-8")
    return path


@contextmanager
def record_compiles() -> Iterator[list["Compiled"]]:
    """Collect every result of ``compile_source`` inside the block, cached ones included."""
    found: list[Compiled] = []
    _recordings.append(found)
    try:
        yield found
    finally:
        _recordings.remove(found)


def note(compiled: "Compiled") -> None:
    """Called by ``compile_source`` with each result."""
    for found in _recordings:
        found.append(compiled)
    folder = os.environ.get(RECORD)
    if folder and compiled.cubin:
        save(compiled, Path(folder))


def record_notebooks(notebooks: list[Path], folder: Path = FOLDER) -> int:
    """Run notebooks on the emulator, keep the PTX of their kernels; returns the number of entries."""
    import nbformat
    from nbclient import NotebookClient

    before = os.environ.copy()
    searched = os.pathsep.join(filter(None, [str(FOLDER.parents[1]), before.get("PYTHONPATH")]))
    os.environ.update({RECORD: str(folder.resolve()), "COURSE_BACKEND": "emulator", "PYTHONPATH": searched})
    try:
        for path in notebooks:
            notebook = nbformat.read(path, as_version=4)
            resources = {"metadata": {"path": str(path.parent)}}
            NotebookClient(notebook, timeout=600, resources=resources).execute()
            print(f"{path.name}: kernels kept", file=sys.stderr)
    finally:
        os.environ.clear()
        os.environ.update(before)
    return len(list(folder.glob("*.json")))


def main(arguments: list[str] | None = None) -> int:
    """Command line: notebooks to run (default: all, dropping entries none uses), ``--folder`` to write to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "notebooks", nargs="*", type=Path, help="default: all of notebooks/ and its solutions"
    )
    parser.add_argument("--folder", type=Path, default=FOLDER)
    chosen = parser.parse_args(arguments)
    root = FOLDER.parents[1] / "notebooks"
    notebooks = chosen.notebooks or sorted(root.rglob("[0-9]*.ipynb"))
    if not chosen.notebooks:
        for old in chosen.folder.glob("*.json"):
            old.unlink()
    count = record_notebooks(notebooks, chosen.folder)
    print(f"{count} entries in {chosen.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
