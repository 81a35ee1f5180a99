"""Chapter 00: the map of the course, its sweeps, pictures and sliders."""

import pytest

from course_lib.chapters.course_map import CHAPTERS, chapter


def test_the_map_has_every_chapter_once_in_order():
    assert [one.number for one in CHAPTERS] == list(range(14))
    assert len({one.topic for one in CHAPTERS}) == 14
    assert chapter("tiling").notebook == "02_tiling.ipynb"
    assert chapter("tiling").link("notebooks/") == "[02_tiling](notebooks/02_tiling.ipynb)"
    with pytest.raises(KeyError, match="coalescing"):
        chapter("nothing")
