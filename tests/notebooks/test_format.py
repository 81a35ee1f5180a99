"""Every notebook has the course's form, and the check of it finds each fault."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tests.notebooks import check_format


@pytest.mark.parametrize("path", check_format.notebooks(), ids=lambda p: f"{p.parent.name}/{p.name}")
def test_form(path):
    assert check_format.problems(path) == []


def _code(source="x = 1", outputs=(), **metadata):
    return new_code_cell(source, outputs=list(outputs), metadata=metadata)


def _book(*cells, name="01_topic.ipynb", **metadata):
    """A notebook of good form around the given cells."""
    padding = [new_markdown_cell("text") for _ in range(20)]
    book = new_notebook(metadata=metadata or check_format.METADATA)
    book.cells = [*cells, *padding]
    for number, cell in enumerate(c for c in book.cells if c.cell_type == "code"):
        cell.execution_count = number + 1
    return book


def _problems(book, tmp_path, name="01_topic.ipynb"):
    check_format.write(book, tmp_path / name)
    return check_format.problems(tmp_path / name)


def test_a_good_notebook_passes(tmp_path):
    cuda = "\n".join(['extern "C" __global__ void f() {', *["// line"] * 28, "}"])
    kernel = f'source = r"""\n{cuda}\n"""'
    slider = _code("explore(f, n=[1, 2])", tags=["nbval-ignore-output"])
    assert _problems(_book(new_markdown_cell("# Coalescing"), _code(kernel), slider, _code()), tmp_path) == []


WIDGET = new_output("display_data", data={"application/vnd.jupyter.widget-view+json": {}})
ERROR = new_output("error", ename="ValueError", evalue="no", traceback=[])
FAULTS = {
    "trailing semicolon": _code("plt.show();"),
    "an empty code cell": _code("  "),
    "it shows a widget": _code(outputs=[WIDGET]),
    "its output changes": _code("explore(f, n=[1, 2])"),
    "more than one kernel": _code('a = "__global__"\nb = "__global__"'),
    "26 lines of Python": _code("\n".join(["x = 1"] * 26)),
    "31 lines of CUDA": _code('s = """' + "__global__\n" * 1 + "// line\n" * 30 + '"""'),
    "it ended in ValueError": _code(outputs=[ERROR]),
    "a path of the machine": _code(outputs=[new_output("stream", text="/home/someone/x.py:3: Warning")]),
    "stray metadata": _code(collapsed=True),
    "a picture inside the text": new_markdown_cell("![x](data:image/png;base64,AAAA)"),
    "a picture without alt text": new_markdown_cell("![](images/x.png)"),
    "number is in its title": new_markdown_cell("# 01 Coalescing"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_found(fault, tmp_path):
    found = _problems(_book(FAULTS[fault], _code(), _code()), tmp_path)
    assert len(found) == 1
    assert fault in found[0]


def test_a_cell_that_never_ran(tmp_path):
    book = _book(_code(), _code())
    book.cells[1].execution_count = None
    assert _problems(book, tmp_path) == ["1 code cells never ran"]


def test_cells_run_out_of_order(tmp_path):
    book = _book(_code(), _code())
    book.cells[1].execution_count = 7
    assert "from top to bottom" in _problems(book, tmp_path)[0]


def test_name_and_length(tmp_path):
    book = _book()
    assert "NN_topic" in _problems(book, tmp_path, "Topic.ipynb")[0]
    book.cells = book.cells[:19]
    assert "19 cells" in _problems(book, tmp_path)[0]


def test_long_cells_in_the_middle(tmp_path):
    assert "median code cell has 6 lines" in _problems(_book(_code("x = 1\n" * 6)), tmp_path)[0]


def test_fix_mends_what_has_one_answer(tmp_path, capsys):
    path = tmp_path / "01_topic.ipynb"
    book = _book(_code("plt.show();\n", scrolled=True), widgets={"state": {}})
    book.cells[1].id = book.cells[0].id
    book.nbformat_minor = 5
    path.write_text(nbformat.v4.writes(book, indent=4), encoding="utf-8")
    assert check_format.main([str(path)]) == 1
    assert check_format.main(["--fix", str(path)]) == 0
    assert nbformat.read(path, 4).cells[0].source == "plt.show()"
    assert "(--fix)" in capsys.readouterr().out
