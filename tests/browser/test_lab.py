"""A reader's way through a notebook: open JupyterLab, run everything, drag a slider, see the picture change.

The screenshots are left in `artifacts/browser/`.
"""

import os
import statistics
import textwrap

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from tests.browser import lab
from tests.notebooks import check_format

PICTURES = check_format.ROOT / "artifacts" / "browser"
CHAPTERS = [p for p in check_format.notebooks() if p.parent.name == "notebooks"]
MOST_MS = 2000  # a slow machine passes; `make bench` reports the time that the course promises
pytestmark = pytest.mark.browser

SLIDER = """
    from matplotlib import pyplot as plt
    from course_lib import doctor, explore

    print(doctor())

    def squares(n=3):
        figure, axes = plt.subplots()
        axes.plot([i * i for i in range(n)])
        return figure

    explore(squares, n=range(1, 41))
"""


@pytest.fixture(scope="module")
def chromium():
    """A running browser. Where none is installed the tests are skipped, except in CI."""
    if lab.chromium() is None:
        words = "no Chromium or Chrome found: JupyterLab itself was not tested"
        pytest.fail(words) if os.environ.get("CI") else pytest.skip(words)
    with lab.browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def chapters(tmp_path_factory):
    """A server of the course's notebooks; its URL."""
    with lab.server(check_format.ROOT / "notebooks", tmp_path_factory.mktemp("lab")) as url:
        yield url


def _book(folder, name, source):
    """A folder with a notebook of one cell."""
    book = new_notebook(cells=[new_code_cell(textwrap.dedent(source).strip())])
    book.metadata.update(check_format.METADATA)
    (folder / "books").mkdir()
    nbformat.write(book, folder / "books" / f"{name}.ipynb")
    return folder / "books"


def _walk(browser, url, name):
    """Open and run a notebook and drag each of its sliders three times; (ms per drag, printed, errors)."""
    page = lab.open_notebook(browser, url, name)
    lab.run_all(page)
    times = []
    for explorer in page.locator(".course-explore:has(.noUi-handle)").all():
        times += [lab.drag(page, explorer, pixels) for pixels in (60, 60, -40)]
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURES / f"{name.removesuffix('.ipynb')}.png")
    printed, errors = lab.outputs(page)
    lab.close_notebook(page)
    return times, printed, errors


def _report(record_property, name, times):
    """One line at the end of the run."""
    record_property(name, f"release to new picture {statistics.median(times):.0f} ms, n={len(times)}")


def test_a_slider_changes_the_picture(chromium, tmp_path, record_property):
    with lab.server(_book(tmp_path, "slider", SLIDER), tmp_path) as url:
        times, printed, errors = _walk(chromium, url, "slider.ipynb")
    _report(record_property, "slider", times)
    assert errors == []
    assert "and the server's manager" in printed
    assert len(times) == 3
    assert statistics.median(times) < MOST_MS


@pytest.mark.slow
@pytest.mark.parametrize("path", CHAPTERS, ids=lambda p: p.name)
def test_a_chapter_runs_and_its_sliders_move(path, chromium, chapters, record_property):
    times, _, errors = _walk(chromium, chapters, path.name)
    assert errors == []
    if times:
        _report(record_property, path.name, times)
        assert statistics.median(times) < MOST_MS


def test_an_error_output_is_seen(chromium, tmp_path):
    with lab.server(_book(tmp_path, "wrong", "1 / 0"), tmp_path) as url:
        times, _, errors = _walk(chromium, url, "wrong.ipynb")
    assert times == []
    assert "ZeroDivisionError" in errors[0]
