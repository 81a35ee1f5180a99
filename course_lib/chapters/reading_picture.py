"""Chapter 13, reading kernels: the machine instructions of kernels in their order."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ..listing import machine_lines
from ..pictures.style import (
    BLACK,
    BLUE,
    FAINT,
    GREEN,
    INK,
    ORANGE,
    PAPER,
    VERMILION,
    boxes,
    clean,
    new_figure,
)

KINDS = {
    "load from global memory": BLUE,
    "store to global memory": VERMILION,
    "load or store of spilled registers": ORANGE,
    "floating-point arithmetic": GREEN,
    "branch or call": BLACK,
    "addresses, tests, constants": FAINT,
}
FOLD = 100  # instructions in a row: more would be hair lines
_HATCHES = {VERMILION: "////", ORANGE: "xxx"}  # not told by colour alone
_LOAD, _STORE, _SPILL, _FLOAT, _BRANCH, _REST = KINDS
_OPCODE = re.compile(r"(?:@!?U?P\w+\s+)?([A-Z0-9]+)((?:\.\w+)*)")
_WIDTHS = {"128": 16, "64": 8, "U16": 2, "S16": 2, "U8": 1, "S8": 1}
_FLOATS = re.compile(r"F(ADD|MUL|FMA|SEL|SETP|MNMX)|MUFU|HFMA2|HADD2|HMUL2")


def opcode(text: str) -> str:
    """`@!P1 FFMA.FTZ R8, R7, R0, R7` -> FFMA."""
    match = _OPCODE.match(text)
    return match[1] if match else ""


def kind(text: str) -> str:
    """Which of `KINDS` a machine instruction is."""
    name = opcode(text)
    if name in ("LDL", "STL"):
        return _SPILL
    if name in ("LDG", "STG"):
        return _LOAD if name == "LDG" else _STORE
    if name in ("BRA", "BRX", "CALL", "RET", "BSSY", "BSYNC"):
        return _BRANCH
    return _FLOAT if _FLOATS.match(name) else _REST


def width(text: str) -> int:
    """Bytes a load or store moves per thread; 0 for anything else."""
    match = _OPCODE.match(text)
    if not match or match[1] not in ("LDG", "STG", "LDL", "STL", "LDS", "STS"):
        return 0
    return next((_WIDTHS[part] for part in match[2].split(".") if part in _WIDTHS), 4)


def order_picture(kernels: Mapping[str, Any], title: str = "") -> Figure:
    """A row per kernel: its machine instructions in order; a load or store is as high as it is wide.

    A kernel of more than `FOLD` instructions takes several rows.
    """
    listed = _rows({name: [line.text for line in machine_lines(kernel)] for name, kernel in kernels.items()})
    longest = max(len(texts) for texts in listed.values())
    figure = new_figure(9.0, 1.5 + 0.75 * len(listed))
    axes = clean(
        figure.add_axes((0.16, 0.62 / figure.get_figheight(), 0.82, 1 - 1.32 / figure.get_figheight()))
    )
    for row, texts in enumerate(listed.values()):
        _draw_row(axes, -row, texts)
    axes.set_xlim(-0.5, max(longest, 24) + 0.5)
    axes.set_ylim(-len(listed) + 0.35, 1.0)
    axes.set_yticks([0.1 - row for row in range(len(listed))], [_label(name) for name in listed], color=BLACK)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    more = f", {FOLD} a row" if longest == FOLD else ""
    axes.set_xlabel(f"machine instruction, in the order of the program (counted){more}", color=INK)
    axes.set_title(title, color=BLACK, fontsize=12, fontweight="bold", pad=24)
    present = {kind(text) for texts in listed.values() for text in texts}
    marks = [
        Patch(facecolor=colour, edgecolor=INK, linewidth=0.5, hatch=_HATCHES.get(colour), label=name)
        for name, colour in KINDS.items()
        if name in present
    ]
    axes.legend(
        handles=marks, frameon=False, fontsize=8, ncol=len(marks), loc="lower center",
        bbox_to_anchor=(0.46, 1.0), columnspacing=1.2, handlelength=1.4,
    )  # fmt: skip
    return figure


def _rows(listed: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """The rows of the picture: a kernel's name, and from which instruction on where it is folded."""
    found = {}
    for name, texts in listed.items():
        for first in range(0, len(texts), FOLD):
            found[f"{name}, from {first}" if first else name] = texts[first : first + FOLD]
    return found


def _label(name: str) -> str:
    """What stands beside a row: of a kernel that goes on, only from where."""
    return name.rsplit(", ", 1)[-1] if ", from " in name else name


def _draw_row(axes: Any, bottom: float, texts: list[str]) -> None:
    """One row: a box per instruction, 0.2 high for 4 bytes and 0.8 high for 16."""
    kinds = [kind(text) for text in texts]
    heights = np.array([_height(text) for text in texts])
    at = np.arange(len(texts))
    for name, colour in KINDS.items():
        here = np.array([found == name for found in kinds])
        if here.any():
            boxes(
                axes, at[here], bottom, 0.9, heights[here], facecolors=colour,
                edgecolors=PAPER if colour == FAINT else INK, linewidths=0.5, hatch=_HATCHES.get(colour),
            )  # fmt: skip


def _height(text: str) -> float:
    return max(0.2, 0.05 * width(text)) if kind(text) in (_LOAD, _STORE, _SPILL) else 0.12
