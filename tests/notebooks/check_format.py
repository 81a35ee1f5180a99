"""The form of the course's notebooks: `python -m tests.notebooks.check_format [--fix] [NOTEBOOK ...]`.

`--fix` mends what has one right answer (metadata, cell ids, key order, a trailing semicolon).
"""

import ast
import re
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

ROOT = Path(__file__).parents[2]
KERNELSPEC = {"display_name": "Python 3", "language": "python", "name": "python3"}
METADATA = {"kernelspec": KERNELSPEC, "language_info": {"name": "python"}}
CELL_METADATA = {"tags", "jupyter"}
IGNORE = "nbval-ignore-output"
MOST_PYTHON, MOST_CUDA, MOST_MEDIAN, CELLS = 25, 30, 5, range(20, 46)
_CHANGING = re.compile(r"\b(explore|doctor|benchmark|interact)\(")
_MACHINE_PATH = re.compile(r"/(home|root|Users|mnt)/\w+")


def main(arguments: list[str]) -> int:
    """Check, and with `--fix` mend, the named notebooks or all; the exit status is 1 for any problem."""
    fixing = "--fix" in arguments
    paths = [Path(a) for a in arguments if a != "--fix"] or notebooks()
    found = 0
    for path in paths:
        if fixing:
            book = read(path)
            mend(book)
            write(book, path)
        for problem in problems(path):
            print(f"{path}: {problem}")
            found = 1
    return found


def notebooks() -> list[Path]:
    """Every notebook of the course."""
    folder = ROOT / "notebooks"
    return sorted(p for p in folder.rglob("*.ipynb") if ".ipynb_checkpoints" not in p.parts)


def read(path: Path) -> NotebookNode:
    """A notebook as it is in the file: `nbformat.read` would mend it on the way."""
    return nbformat.v4.reads(path.read_text(encoding="utf-8"))


def write(book: NotebookNode, path: Path) -> None:
    """Write a notebook in nbformat's own form."""
    path.write_text(nbformat.v4.writes(book) + "\n", encoding="utf-8")


def problems(path: Path) -> list[str]:
    """Everything wrong with the form of a notebook, in words."""
    book = read(path)
    if (book.nbformat, book.nbformat_minor) < (4, 5):
        return [f"nbformat is {book.nbformat}.{book.nbformat_minor}, not 4.5 (--fix)"]
    found = [*_whole(book, path), *_order(book)]
    for number, cell in enumerate(book.cells):
        check = _code if cell.cell_type == "code" else _text
        found += [f"cell {number}: {problem}" for problem in (*check(cell), *_any(cell))]
    return found


def mend(book: NotebookNode) -> None:
    """Bring metadata, ids and line ends into the one right form."""
    book.nbformat, book.nbformat_minor = 4, 5
    book.metadata = nbformat.from_dict(METADATA)
    seen = set()
    for cell in book.cells:
        cell.metadata = nbformat.from_dict({k: v for k, v in cell.metadata.items() if k in CELL_METADATA})
        if cell.get("id") is None or cell.id in seen:
            cell.id = new_code_cell().id
        seen.add(cell.id)
        if cell.cell_type == "code":
            cell.source = re.sub(r"[;\s]+\Z", "", cell.source)


def _whole(book: NotebookNode, path: Path) -> Iterator[str]:
    if path.read_text(encoding="utf-8") != nbformat.v4.writes(book) + "\n":
        yield "the file is not written as nbformat writes it (--fix)"
    if book.metadata != METADATA:
        yield f"the notebook's metadata is not kernelspec python3 alone: {sorted(book.metadata)} (--fix)"
    if not re.fullmatch(r"\d\d_[a-z0-9_]+\.ipynb", path.name):
        yield "the name is not NN_topic.ipynb"
    ids = [cell.get("id") for cell in book.cells]
    if None in ids or len(set(ids)) < len(ids):
        yield "cell ids are missing or repeated (--fix)"
    if len(book.cells) not in CELLS:
        yield f"{len(book.cells)} cells; a chapter has {CELLS.start} to {CELLS.stop - 1}"
    sizes = [len(c.source.splitlines()) for c in book.cells if c.cell_type == "code"]
    if sizes and statistics.median(sizes) > MOST_MEDIAN:
        yield f"the median code cell has {statistics.median(sizes):g} lines, more than {MOST_MEDIAN}"


def _order(book: NotebookNode) -> Iterator[str]:
    """nbval compares nothing in a cell that never ran, and a reader trusts what ran from top to bottom."""
    counts = [cell.execution_count for cell in book.cells if cell.cell_type == "code"]
    if None in counts:
        yield f"{counts.count(None)} code cells never ran"
    elif counts != list(range(1, len(counts) + 1)):
        yield "the cells were not run once from top to bottom in a fresh kernel"


def _any(cell: NotebookNode) -> Iterator[str]:
    if extra := set(cell.metadata) - CELL_METADATA:
        yield f"stray metadata {sorted(extra)} (--fix)"


def _text(cell: NotebookNode) -> Iterator[str]:
    if "data:image" in cell.source or cell.get("attachments"):
        yield "a picture inside the text; keep it as a file, with alt text"
    if re.search(r"!\[\s*\]\(", cell.source):
        yield "a picture without alt text"
    if re.match(r"#\s+(chapter\s+)?\d", cell.source, re.IGNORECASE):
        yield "the chapter's number is in its title"


def _code(cell: NotebookNode) -> Iterator[str]:
    tags = cell.metadata.get("tags", [])
    if not cell.source.strip():
        yield "an empty code cell"
    if cell.source.rstrip().endswith(";"):
        yield "a trailing semicolon prints all the same under nbval (--fix)"
    if _CHANGING.search(cell.source) and IGNORE not in tags:
        yield f"its output changes from run to run: tag it {IGNORE}"
    if cell.source.count("__global__") > 1:
        yield "more than one kernel"
    yield from _lengths(cell.source, "capstone" in tags)
    yield from _outputs(cell, tags)


def _lengths(source: str, capstone: bool) -> Iterator[str]:
    cuda = sum(len(kernel.strip().splitlines()) for kernel in _kernels(source))
    python = len(source.splitlines()) - cuda
    if python > MOST_PYTHON:
        yield f"{python} lines of Python, more than {MOST_PYTHON}"
    if cuda > MOST_CUDA and not capstone:
        yield f"{cuda} lines of CUDA, more than {MOST_CUDA}"


def _kernels(source: str) -> list[str]:
    """The strings of a cell that hold CUDA."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # a magic, for example
        return []
    constants = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return [text for text in constants if "__global__" in text or "__device__" in text]


def _outputs(cell: NotebookNode, tags: list[str]) -> Iterator[str]:
    for output in cell.outputs:
        if output.output_type == "error":
            yield f"it ended in {output.ename}: {output.evalue}"
        if "application/vnd.jupyter.widget-view+json" in output.get("data", {}) and IGNORE not in tags:
            yield f"it shows a widget: tag it {IGNORE}"
        text = output.get("text", "") + output.get("data", {}).get("text/plain", "")
        if _MACHINE_PATH.search(text):
            yield "its output shows a path of the machine it ran on"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
