"""What stored outputs say was recorded stands in `data/recorded`: an output of an earlier record is stale.

A failure here is mended by executing the notebook again.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest

from course_lib.recorded import FOLDER, Table
from course_lib.recorded import read as read_table
from tests.notebooks.check_format import ROOT, notebooks, read

CAPTION = re.compile(r"recorded on [^;\n\"<]*?\d{4}-\d\d-\d\d[^;\n\"<]*")
# What the tables of a chapter begin with, and those of several.
TABLES = dict(
    zip(
        (f"{number:02}" for number in range(14)),
        "start coalescing tiling bank divergence fusion occupancy waves flash register_tiling pipeline "
        "launch precision reading".split(),
        strict=True,
    )
)
SHARED = "rate"
FORMATS = (".3g", ".4g", ".5g", ".3f", ",.1f", ",.2f")
BOOKS = notebooks()
NAMED = [f"{path.parent.name}/{path.stem}" for path in BOOKS]


@cache
def tables(chapter: str) -> list[Table]:
    """The recorded tables that a notebook may show."""
    names = (TABLES[chapter], SHARED)
    return [read_table(path) for path in sorted(FOLDER.glob("*/*.csv")) if path.stem.startswith(names)]


def captions(chapter: str) -> str:
    """The captions of the tables of a chapter, and of what `ncu` counted."""
    by_ncu = (
        json.loads(path.read_text(encoding="utf-8"))["provenance"] for path in FOLDER.glob("*/ncu_*.json")
    )
    told = [
        f"recorded on {ncu['gpu']}, driver {ncu['driver']}, {ncu['date']}, by {ncu['tool']}" for ncu in by_ncu
    ]
    return "\n".join([*told, *(table.caption for table in tables(chapter))])


def outputs(path: Path) -> Iterator[tuple[str, str]]:
    """Every text and table of the stored outputs, with the id of its cell."""
    for cell in read(path).cells:
        for output in cell.get("outputs", []):
            for text in (output.get("text"), *map(output.get("data", {}).get, ("text/plain", "text/html"))):
                if text:
                    yield cell.id, text


@pytest.mark.parametrize("path", BOOKS, ids=NAMED)
def test_every_caption_is_that_of_a_table_there_is(path):
    there = captions(path.stem[:2])
    stale = {
        cell: said
        for cell, text in outputs(path)
        for said in CAPTION.findall(text)
        if said.strip() not in there
    }
    assert not stale


@pytest.mark.parametrize("path", BOOKS, ids=NAMED)
def test_every_recorded_time_in_a_table_is_in_a_recorded_table(path):
    ms = [ms for table in tables(path.stem[:2]) for ms in table.ms]
    there = {format(scale * one, form) for scale in (1, 1e3) for one in ms for form in FORMATS}
    stale = [
        (cell, row[at])
        for cell, text in outputs(path)
        for header, *rows in grids(text)
        for at, name in enumerate(header)
        if re.search(r"\brecorded (ms|µs)", name)
        for row in rows
        if row[at:] and row[at].strip() not in there | {""}
    ]
    assert not stale


def test_the_readme_shows_no_caption_of_a_table_that_is_gone():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    there = "\n".join(map(captions, TABLES))
    assert [said for said in CAPTION.findall(text) if said.strip() not in there] == []


def test_a_stale_caption_and_a_stale_time_are_found():
    stale = "recorded on NVIDIA H200, driver 1.2, CUDA 13.2, CuPy 14.2.0, 2020-01-01, by x: median of 3"
    assert CAPTION.findall(f"n = 4; {stale}; more") == [stale]
    assert stale not in captions("00")
    page = "<table><tr><th>launch</th><th>recorded ms, H200</th></tr><tr><td>a</td><td>0.5</td></tr></table>"
    assert list(grids(page)) == [[["launch", "recorded ms, H200"], ["a", "0.5"]]]


class _Grids(HTMLParser):
    """The rows of every table of a page, as texts."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[list[list[str]]] = []
        self.inside = False

    def handle_starttag(self, tag: str, attrs: list) -> None:
        if tag == "table":
            self.found.append([])
        elif tag == "tr" and self.found:
            self.found[-1].append([])
        elif tag in ("td", "th") and self.found:
            self.found[-1][-1].append("")
        self.inside = tag in ("td", "th") or (self.inside and tag not in ("table", "tr", "caption"))

    def handle_data(self, data: str) -> None:
        if self.inside and self.found and self.found[-1] and self.found[-1][-1]:
            self.found[-1][-1][-1] += data

    def handle_endtag(self, tag: str) -> None:
        self.inside = self.inside and tag not in ("td", "th")


def grids(page: str) -> Iterator[list[list[str]]]:
    """Tables of a page: lists of rows, the first of them the header."""
    parser = _Grids()
    parser.feed(page)
    yield from (grid for grid in parser.found if grid)
