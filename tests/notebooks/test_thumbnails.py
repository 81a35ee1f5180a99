"""Every chapter has one thumbnail, made from the picture it shows now, and a place in the README."""

import re

import numpy as np
import pytest
from PIL import Image

from course_lib.chapters.course_map import CHAPTERS
from tests.notebooks import thumbnails
from tests.notebooks.check_format import ROOT, notebooks

README = (ROOT / "README.md").read_text(encoding="utf-8")
each_chapter = pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.name)


def test_the_map_has_every_chapter_in_order():
    chapters = [path.name for path in notebooks() if path.parent.name == "notebooks"]
    assert [chapter.notebook for chapter in CHAPTERS] == chapters


@each_chapter
def test_thumbnail_is_current(chapter):
    cells = thumbnails.tagged(chapter)
    assert len(cells) == 1, f"{len(cells)} cells of {chapter.notebook} are tagged `thumbnail`, not 1"
    fresh = thumbnails.small(thumbnails.picture(cells[0]))
    assert thumbnails.alike(thumbnails.stored(chapter), fresh), "run `python -m tests.notebooks.thumbnails`"


@each_chapter
def test_thumbnail_is_small(chapter):
    assert thumbnails.path(chapter).stat().st_size <= thumbnails.MOST_BYTES
    assert thumbnails.stored(chapter).size == (thumbnails.WIDTH, thumbnails.HEIGHT)


@each_chapter
def test_readme_shows_the_chapter(chapter):
    (cell,) = re.findall(rf'<td[^>]*><a href="notebooks/{chapter.notebook}">.*?</td>', README, re.DOTALL)
    assert f'src="notebooks/images/thumbnails/{chapter.name}.png"' in cell
    assert chapter.title in cell
    assert chapter.question in cell


def test_the_readme_table_is_as_written():
    assert thumbnails.with_table(README) == README


def test_a_readme_without_marks_is_refused():
    with pytest.raises(ValueError, match="lacks the lines"):
        thumbnails.with_table("# A course")


def test_white_edges_go_and_the_shape_stays():
    page = Image.new("RGB", (300, 300), "white")
    page.paste("blue", (100, 100, 200, 150))  # twice as wide as high
    blue = np.asarray(thumbnails.small(page))[:, :, 0] == 0
    rows, columns = np.nonzero(blue.any(axis=1))[0], np.nonzero(blue.any(axis=0))[0]
    assert columns[-1] - columns[0] + 1 == pytest.approx(thumbnails.WIDTH - 2 * thumbnails.MARGIN, abs=2)
    assert rows[-1] - rows[0] + 1 == pytest.approx((thumbnails.WIDTH - 2 * thumbnails.MARGIN) / 2, abs=2)


def test_another_picture_is_not_alike():
    one, other = Image.new("RGB", (100, 100), "white"), Image.new("RGB", (100, 100), "white")
    other.paste("orange", (0, 0, 10, 10))  # a hundredth of the area
    assert thumbnails.alike(one, one)
    assert not thumbnails.alike(one, other)
