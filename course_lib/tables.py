"""Two ways to show rows: HTML in a notebook, aligned text elsewhere."""

from collections.abc import Sequence
from html import escape


def html_table(rows: Sequence[Sequence[object]], header: Sequence[str] = (), caption: str = "") -> str:
    """Rows of cells as an HTML table; every cell is escaped."""
    parts = [f"<caption style='text-align:left'>{escape(caption)}</caption>"] if caption else []
    if header:
        parts.append("<thead>" + _html_row(header, "th") + "</thead>")
    parts.append("<tbody>" + "".join(_html_row(row, "td") for row in rows) + "</tbody>")
    return "<table>" + "".join(parts) + "</table>"


def text_table(rows: Sequence[Sequence[object]], header: Sequence[str] = ()) -> str:
    """Rows of cells as lines, the columns aligned: numbers to the right, everything else to the left."""
    cells = [[str(cell) for cell in row] for row in ([header] if header else []) + list(rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    right = [_numeric(column[1 if header else 0 :]) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right, strict=True))
        for row in cells
    ]
    return "\n".join(line.rstrip() for line in lines)


def _html_row(cells: Sequence[object], tag: str) -> str:
    parts = (f"<{tag} style='text-align:left'>{escape(str(cell))}</{tag}>" for cell in cells)
    return "<tr>" + "".join(parts) + "</tr>"


def _numeric(column: Sequence[str]) -> bool:
    plain = (cell.replace(",", "").replace(".", "", 1).rstrip("%") for cell in column if cell)
    return all(cell.isdigit() for cell in plain)
