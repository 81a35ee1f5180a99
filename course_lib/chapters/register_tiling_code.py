"""Chapter 09, register tiling: how early the machine code of a kernel starts its loads."""

import re
from typing import Any

from ..profile import as_emulated


def between(kernel: Any) -> int:
    """Multiply-adds that stand in the machine code between a load of the main loop and the use of its value.

    The least over all loads from global memory; read off the SASS for an H200, in which a warp's instructions
    start in this order.
    """
    text = [re.sub(r"^\s*/\*\w+\*/\s+", "", line).strip() for line in as_emulated(kernel).sass.splitlines()]
    loop = text[slice(*_longest_loop(text))]
    return min(_until_used(loop, at) for at, line in enumerate(loop) if "LDG" in line)


def _longest_loop(text: list[str]) -> tuple[int, int]:
    """First and last line of the longest loop: from a label to a branch back to it."""
    labels = {line.rstrip(":"): at for at, line in enumerate(text) if re.fullmatch(r"\.L_x_\d+:", line)}
    back = [
        (labels[found[1]], at)
        for at, line in enumerate(text)
        if (found := re.search(r"\bBRA\b.*(\.L_x_\d+)", line)) and labels.get(found[1], at) < at
    ]
    return max(back, key=lambda ends: ends[1] - ends[0])


def _until_used(loop: list[str], at: int) -> int:
    """FFMA instructions between the load in line `at` and the first instruction that reads what it brings."""
    width, first = re.search(r"LDG(\S*)\s+R(\d+)", loop[at]).groups()  # type: ignore[union-attr]
    brought = {f"R{int(first) + i}" for i in range(4 if ".128" in width else 2 if ".64" in width else 1)}
    count = 0
    for line in loop[at + 1 :] + loop[:at]:
        stores = re.search(r"\bST\w", line)  # its first operand is read too
        read = line if stores else line.partition(",")[2]
        if brought & set(re.findall(r"\bR\d+", read)):
            return count
        count += "FFMA" in line
    return count
