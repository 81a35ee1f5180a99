"""Links lead somewhere, chapters lead on to each other, and one thing has one word."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from course_lib.chapters.course_map import CHAPTERS
from course_lib.report import PLAIN_NAMES
from tests.notebooks.check_format import ROOT, notebooks, read

BOOKS = notebooks()
NAMED = [f"{path.parent.name}/{path.stem}" for path in BOOKS]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "notebooks/glossary.md"]
GLOSSARY = PAGES[-1].read_text(encoding="utf-8")
TERMS = re.findall(r"^- \*\*(.+?)\*\*: ", GLOSSARY, re.MULTILINE)
LINK = re.compile(r'\]\(([^)\s]+)\)|(?:href|src)="([^"]+)"')
# Loose or double words, and the one that the glossary has for it.
OTHER_WORDS = {
    r"\bunder ?way\b": "in flight",
    r"\b(loads|bytes|them) on the way\b": "in flight",
    r"\blater chapter": "a link to the chapter",
    r"\bchapters? \d": "a link to the chapter",
    r"\belement-?wise\b": "point-wise",
    r"\bthread coarsing\b": "thread coarsening",
    r"\bscratchpad\b": "shared memory",
    r"\bwavefront conflicts?\b": "conflict",
}


def prose(path: Path) -> str:
    """The text of a page, or of a notebook's Markdown cells."""
    if path.suffix == ".md":
        return path.read_text(encoding="utf-8")
    return "\n\n".join(cell.source for cell in read(path).cells if cell.cell_type == "markdown")


def links(path: Path) -> list[str]:
    """The relative links of a page or notebook; what stands in code is none."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "", prose(path), flags=re.DOTALL)
    return [link for link in map(max, LINK.findall(text)) if not re.match(r"[a-z]+:", link)]


def anchors(path: Path) -> set[str]:
    """What a link may name after `#`: headings as JupyterLab, or for a page GitHub, turns them into ids."""
    headings = re.findall(r"^#+ +(.+?) *$", prose(path), re.MULTILINE)
    if path.suffix == ".ipynb":
        return {re.sub(r"[`*]", "", heading).replace(" ", "-") for heading in headings}
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(path: Path) -> Iterator[str]:
    """The links of a page or notebook that lead nowhere."""
    for link in links(path):
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        if not target.exists() or (anchor and anchor not in anchors(target)):
            yield link


@pytest.mark.parametrize("path", [*PAGES, *BOOKS], ids=[*(page.name for page in PAGES), *NAMED])
def test_every_link_leads_somewhere(path):
    assert list(broken(path)) == []


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.name)
def test_a_chapter_leads_on(chapter):
    found = {link.partition("#")[0] for link in links(ROOT / "notebooks" / chapter.notebook)}
    others = {other.notebook for other in CHAPTERS} - {chapter.notebook}
    assert "glossary.md" in found
    assert found & others, "it links no other chapter"
    if chapter.number + 1 < len(CHAPTERS):
        assert CHAPTERS[chapter.number + 1].notebook in found, "it does not link the next chapter"


@pytest.mark.parametrize("path", BOOKS, ids=NAMED)
def test_titles_have_no_number(path):
    title = re.search(r"^# +(.+)$", prose(path), re.MULTILINE)
    assert title
    assert not re.search(r"\d", title[1])


@pytest.mark.parametrize("path", BOOKS, ids=NAMED)
def test_one_word_for_one_thing(path):
    sources = "\n".join(cell.source for cell in read(path).cells)
    found = {other: word for other, word in OTHER_WORDS.items() if re.search(other, sources, re.IGNORECASE)}
    assert not found, "the course says " + ", ".join(found.values())


@pytest.mark.parametrize(
    "path", [path for path in BOOKS if path.parent.name == "notebooks"], ids=lambda p: p.stem
)
def test_chapters_end_alike(path):
    sections = re.findall(r"^## +(.+?) *$", prose(path), re.MULTILINE)
    assert sections[-1] == "The next bottleneck" or path.stem == CHAPTERS[-1].name
    exercises = re.findall(r"^#+ (Exercise \d+): ", prose(path), re.MULTILINE)
    assert exercises == [f"Exercise {n + 1}" for n in range(len(exercises))]


def test_glossary_is_sorted():
    assert len(TERMS) == GLOSSARY.count("\n- ")
    assert [term.lower() for term in TERMS] == sorted({term.lower() for term in TERMS})


@pytest.mark.parametrize("term", TERMS)
def test_a_term_is_used_and_its_chapter_named(term):
    entry = GLOSSARY.partition(f"- **{term}**: ")[2].partition("\n- ")[0]
    assert re.search(r"\]\(\d\d_\w+\.ipynb", entry), "the entry links no chapter"
    sources = "\n".join(cell.source for path in BOOKS for cell in read(path).cells).lower()
    for word in term.lower().split(", "):
        assert word in sources, f"no notebook says {word}"


def _rows(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Row label -> metric pairs of the dicts written out in a piece of Python."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                pair = getattr(key, "value", None), getattr(value, "value", None)
                if all(isinstance(side, str) for side in pair):
                    yield pair


@pytest.mark.parametrize("path", BOOKS, ids=NAMED)
def test_rows_written_in_a_notebook_have_the_usual_names(path):
    for cell in read(path).cells:
        if cell.cell_type == "code":
            for label, metric in _rows(ast.parse(cell.source)):
                assert label.startswith(PLAIN_NAMES.get(metric, label))


@pytest.mark.parametrize("path", sorted((ROOT / "course_lib/chapters").glob("*.py")), ids=lambda p: p.stem)
def test_rows_of_a_chapter_have_the_usual_names(path):
    module = importlib.import_module(f"course_lib.chapters.{path.stem}")
    tables = [value for name, value in vars(module).items() if name.isupper() and isinstance(value, dict)]
    for label, metric in (row for table in tables for row in table.items()):
        if isinstance(metric, str) and isinstance(label, str):
            assert label.startswith(PLAIN_NAMES.get(metric, label))
