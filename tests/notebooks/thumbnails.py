"""A small picture per chapter, and the README's table of chapters: `python -m tests.notebooks.thumbnails`.

A chapter's thumbnail is the last PNG of its code cell tagged `thumbnail`, on a white ground of one size.
"""

import base64
import io
import sys
from pathlib import Path

import numpy as np
from PIL import Image, ImageChops

from course_lib.chapters.course_map import CHAPTERS, Chapter
from tests.notebooks.check_format import ROOT, read

TAG = "thumbnail"
WIDTH, HEIGHT, MARGIN, COLOURS = 480, 270, 6, 128  # pixels; shown at half the width, sharp on fine screens
MOST_BYTES = 40 << 10
FOLDER = "notebooks/images/thumbnails"
START, END = "<!-- chapters: written by tests.notebooks.thumbnails -->", "<!-- end of chapters -->"
IN_A_ROW = 3


def main() -> int:
    """Write the thumbnail of every chapter that has a tagged cell, and the README's table."""
    missing = []
    for chapter in CHAPTERS:
        cells = tagged(chapter)
        if len(cells) != 1:
            missing.append(f"{chapter.notebook}: {len(cells)} cells tagged {TAG}, not 1")
            continue
        path(chapter).parent.mkdir(parents=True, exist_ok=True)
        write(small(picture(cells[0])), chapter)
    readme = ROOT / "README.md"
    readme.write_text(with_table(readme.read_text(encoding="utf-8")), encoding="utf-8")
    print(*missing, sep="\n", end="\n" if missing else "")
    return bool(missing)


def path(chapter: Chapter) -> Path:
    """Where the chapter's thumbnail lies."""
    return ROOT / FOLDER / f"{chapter.name}.png"


def stored(chapter: Chapter) -> Image.Image:
    """The chapter's thumbnail as it is in the file."""
    return Image.open(io.BytesIO(path(chapter).read_bytes()))


def tagged(chapter: Chapter) -> list:
    """The cells of the chapter's notebook tagged `thumbnail`; none where there is no notebook yet."""
    notebook = ROOT / "notebooks" / chapter.notebook
    cells = read(notebook).cells if notebook.exists() else []
    return [cell for cell in cells if TAG in cell.metadata.get("tags", [])]


def picture(cell) -> Image.Image:
    """The last PNG that the cell shows. Raises ValueError if it shows none."""
    shown = [output.data["image/png"] for output in cell.outputs if "image/png" in output.get("data", {})]
    if not shown:
        raise ValueError(f"cell {cell.id} is tagged {TAG} and shows no PNG")
    return Image.open(io.BytesIO(base64.b64decode(shown[-1]))).convert("RGB")


def small(image: Image.Image) -> Image.Image:
    """The picture without its white edges, scaled to fit and centred on white: WIDTH x HEIGHT pixels."""
    white = Image.new("RGB", image.size, "white")
    image = image.crop(ImageChops.difference(image, white).getbbox())
    room = WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN
    scale = min(room[0] / image.width, room[1] / image.height)
    image = image.resize((round(image.width * scale), round(image.height * scale)), Image.Resampling.LANCZOS)
    ground = Image.new("RGB", (WIDTH, HEIGHT), "white")
    ground.paste(image, ((WIDTH - image.width) // 2, (HEIGHT - image.height) // 2))
    return ground


def write(image: Image.Image, chapter: Chapter) -> None:
    """Save with few colours, rare ones too, and leave a file alone that shows the same already."""
    if not (path(chapter).exists() and alike(stored(chapter), image)):
        few = image.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        few.save(path(chapter), optimize=True)


def alike(one: Image.Image, other: Image.Image) -> bool:
    """Do two pictures show the same? Fewer colours and another Pillow make no difference."""
    if one.size != other.size:
        return False
    apart = np.abs(np.asarray(one.convert("RGB"), int) - np.asarray(other.convert("RGB"), int)).max(axis=2)
    return bool((apart > 48).mean() < 0.005)


def with_table(readme: str) -> str:
    """The README with its table of chapters as it should be. Raises ValueError if the marks are missing."""
    before, _, rest = readme.partition(START)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"README.md lacks the lines {START} and {END}")
    return f"{before}{START}\n{table()}\n{END}{after}"


def table() -> str:
    """The chapters as an HTML table, three in a row: picture, title with link, question."""
    cells = [_cell(chapter) for chapter in CHAPTERS]
    rows = ["\n".join(cells[i : i + IN_A_ROW]) for i in range(0, len(cells), IN_A_ROW)]
    return "<table>\n" + "\n".join(f"<tr>\n{row}\n</tr>" for row in rows) + "\n</table>"


def _cell(chapter: Chapter) -> str:
    link, shown = f"notebooks/{chapter.notebook}", f"{FOLDER}/{chapter.name}.png"
    return (
        f'<td width="33%" valign="top"><a href="{link}"><img src="{shown}" width="240" alt="A picture of the'
        f' chapter: {chapter.title}"></a><br>\n<a href="{link}"><b>{chapter.title}</b></a><br>\n'
        f"{chapter.question}</td>"
    )


if __name__ == "__main__":
    sys.exit(main())
