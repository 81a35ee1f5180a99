"""A kernel in three languages side by side: each CUDA line, the PTX made of it, and the SASS made of that.

``Listing(kernel)`` shows all of it, in the order of the source. The ties come from ``-lineinfo``: NVRTC
notes the source line of every PTX instruction, and ``nvdisasm -gi -gp`` the source and PTX line of every
machine instruction. ptxas moves instructions about, so the SASS of one line need not stand together in the
program.
"""

import re
from collections.abc import Collection
from html import escape
from itertools import zip_longest
from typing import Any

from .emulator.sass import SassLine
from .profile import as_emulated
from .tables import text_table

HEADER = ("line", "CUDA C++", "PTX", "SASS")
_BAND = "rgba(127,127,127,0.12)"  # a translucent grey band: reads on light and dark ground alike
_CELL = "text-align:left;vertical-align:top;padding:2px 8px"
_CODE = (
    "margin:0;padding:0;background:none;font-family:var(--jp-code-font-family,monospace);font-size:11px;"
    "line-height:1.35;white-space:pre"
)
# so that all columns fit a page: the source is broken after so many letters, PTX and SASS keep their lines
_SOURCE = _CODE.replace("white-space:pre", "white-space:pre-wrap;overflow-wrap:anywhere;width:35ch")
_FILLING = ("NOP", "BRA `(.L_x")  # after the last EXIT: a jump to itself and padding
_LABEL = re.compile(r"(\$?\w+):")


def ptx_lines(kernel: Any) -> list[tuple[int, int, str]]:
    """(source line, PTX line, text) of every PTX instruction of a kernel, labels before their target."""
    emulated = as_emulated(kernel)
    text = emulated.ptx.split("\n")
    found = []
    for instruction in emulated.program.instructions:
        if instruction.opcode.startswith("param."):
            continue
        shown = " ".join(text[instruction.ptx_line - 1].split())
        label = _LABEL.fullmatch(_above(text, instruction.ptx_line - 2))
        found.append((instruction.line, instruction.ptx_line, f"{label[1]}: {shown}" if label else shown))
    return found


def machine_lines(kernel: Any) -> list[SassLine]:
    """The machine instructions of a kernel, without the padding after its end, one blank between words."""
    lines = as_emulated(kernel).compiled.sass_lines(as_emulated(kernel).name)
    shown = [line._replace(text=" ".join(line.text.split())) for line in lines]
    while shown and shown[-1].text.startswith(_FILLING):
        shown.pop()
    return shown


class Listing:
    """Source, PTX and SASS of a kernel in columns. ``lines``: the source lines to show, or all."""

    def __init__(self, kernel: Any, lines: Collection[int] = ()) -> None:
        emulated = as_emulated(kernel)
        source = dict(enumerate(emulated.code.split("\n"), 1))
        ptx, sass = ptx_lines(emulated), machine_lines(emulated)
        numbers = sorted({line for line, *_ in ptx} | {one.source_line for one in sass})
        self.kernel = emulated.name
        self.rows = [
            (
                number,
                source.get(number, "").rstrip() if number else "(no source line)",
                [text for line, _, text in ptx if line == number],
                [one.text for one in sass if one.source_line == number],
            )
            for number in numbers
            if not lines or number in lines
        ]

    @property
    def caption(self) -> str:
        """How many instructions there are of either kind."""
        ptx, sass = (sum(len(row[i]) for row in self.rows) for i in (2, 3))
        return f"{self.kernel}: {ptx} PTX instructions, {sass} SASS instructions for CC 9.0"

    def __repr__(self) -> str:
        rows = []
        for number, source, ptx, sass in self.rows:
            rows += [list(row) for row in zip_longest([number], [source], ptx, sass, fillvalue="")]
        return f"{self.caption}\n" + text_table(rows, HEADER)

    def _repr_html_(self) -> str:
        head = "".join(f'<th style="{_CELL}">{escape(name)}</th>' for name in HEADER)
        body = "".join(_row_html(i, *row) for i, row in enumerate(self.rows))
        return (
            '<div style="overflow-x:auto"><table class="course-listing" style="border-collapse:collapse">'
            f'<caption style="text-align:left">{escape(self.caption)}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        )


def _row_html(index: int, number: int, source: str, ptx: list[str], sass: list[str]) -> str:
    band = f"background:{_BAND}" if index % 2 else "background:none"
    cells = [str(number), source, "\n".join(ptx), "\n".join(sass)]
    styles = (_CODE, _SOURCE, _CODE, _CODE)
    shown = "".join(
        f'<td style="{_CELL}"><pre style="{style}">{escape(text)}</pre></td>'
        for style, text in zip(styles, cells, strict=True)
    )
    return f'<tr style="{band}">{shown}</tr>'


def _above(text: list[str], at: int) -> str:
    """The line before an instruction, notes and directives passed over."""
    while at > 0 and (not text[at].strip() or text[at].strip().startswith((".", "//"))):
        at -= 1
    return text[at].strip()
