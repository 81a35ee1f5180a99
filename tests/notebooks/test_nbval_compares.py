"""The notebook tests really compare: one committed count changed in a copy fails, and nothing else."""

import re
import subprocess
import sys

import nbformat
import pytest

from tests.notebooks import check_format

CHAPTERS = [path for path in check_format.notebooks() if path.parent.name == "notebooks"]
COUNT = re.compile(r"\b\d+\b")


def _run(path, *options):
    """nbval's last line for one notebook, run as `make test` runs it."""
    command = [sys.executable, "-m", "pytest", "-q", "--rootdir", str(check_format.ROOT), *options]
    command += ["-c", str(check_format.ROOT / "pyproject.toml"), "--color=no", str(path)]
    run = subprocess.run(command, capture_output=True, text=True, cwd=check_format.ROOT)
    return run.stdout.strip().splitlines()[-1], run.stdout


def _change_one_count(book):
    """Add one to the first number printed in a cell that is compared; the new text."""
    for cell in book.cells:
        if cell.cell_type != "code" or check_format.IGNORE in cell.metadata.get("tags", []):
            continue
        for output in cell.outputs:
            holder, key = (output, "text") if output.output_type == "stream" else (output.data, "text/plain")
            if COUNT.search(holder.get(key, "")):
                holder[key] = COUNT.sub(lambda m: str(int(m[0]) + 1), holder[key], count=1)
                return holder[key]
    raise AssertionError("no cell of this notebook prints a number that is compared")


def _tiny(path, text):
    book = nbformat.v4.new_notebook(metadata=check_format.METADATA)
    output = nbformat.v4.new_output("stream", text=text)
    book.cells = [
        nbformat.v4.new_code_cell("sectors = 32", execution_count=1),
        nbformat.v4.new_code_cell("print(sectors, 'sectors')", execution_count=2, outputs=[output]),
    ]
    nbformat.write(book, path)


def test_a_changed_output_fails(tmp_path):
    _tiny(tmp_path / "right.ipynb", "32 sectors\n")
    _tiny(tmp_path / "changed.ipynb", "33 sectors\n")
    assert _run(tmp_path / "right.ipynb")[0].startswith("2 passed")
    assert _run(tmp_path / "changed.ipynb")[0].startswith("1 failed, 1 passed")


def test_workers_keep_a_notebook_together(tmp_path):
    """Its cells share one kernel: the second knows what the first set."""
    _tiny(tmp_path / "right.ipynb", "32 sectors\n")
    workers = ["-p", "conftest", "-n2", f"--rootdir={tmp_path}"]
    last, output = _run(tmp_path / "right.ipynb", *workers)
    assert last.startswith("2 passed"), output


@pytest.mark.skipif(not CHAPTERS, reason="no chapter yet")
def test_a_changed_count_of_a_chapter_fails(tmp_path):
    book = nbformat.read(CHAPTERS[0], as_version=4)
    changed = _change_one_count(book)
    nbformat.write(book, tmp_path / CHAPTERS[0].name)
    last, output = _run(tmp_path / CHAPTERS[0].name)
    assert re.match(r"1 failed, \d+ passed", last), output
    assert changed.splitlines()[0][:20] in output or "mismatch" in output
