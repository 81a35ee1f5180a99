"""Barriers that stand outside every branch and loop of a kernel, by the text of its CUDA source.

A thread that does not come to such a barrier has returned before it. The compiler joins the ends of a kernel:
`if (late) { y[i] = 7; return; } __syncthreads(); y[i] = 1;` becomes, to the letter of PTX and SASS, what
`if (!late) __syncthreads();` with one store behind it becomes. Only the source tells the two apart.
"""

import re
from functools import lru_cache

from .signature import kernel_name

_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
# What may hide a branch, or leave a kernel's text in other ways: then nothing is said.
_OBSCURE = re.compile(r"\b(?:goto|asm)\b|^\s*#\s*(?:if|el|endif|line|undef)|\\\n", re.MULTILINE)
_MACRO = re.compile(r"^\s*#\s*define[^\n]*(?:[{};]|\b(?:if|else|for|while|do|switch|case)\b)", re.MULTILINE)
_BARRIER = re.compile(r"\b__syncthreads\s*\(")


@lru_cache(maxsize=512)
def plain_barriers(source: str, kernel: str) -> frozenset[int]:
    """Source lines, from 1, on which every `__syncthreads()` of `kernel` stands outside branches and loops.

    `kernel` is a plain name or a name expression. Empty where the text does not show it.
    """
    text = _TEXT.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), source)
    if _OBSCURE.search(text) or _MACRO.search(text):
        return frozenset()
    start = _body(text, kernel_name(kernel))
    if start is None:
        return frozenset()
    plain, nested, depth, at = set(), set(), 1, start
    while depth and at < len(text):
        if _BARRIER.match(text, at):
            begins = text[:at].rstrip()[-1] in ";{}"
            (plain if depth == 1 and begins else nested).add(text.count("\n", 0, at) + 1)
        depth += {"{": 1, "(": 1, "}": -1, ")": -1}.get(text[at], 0)
        at += 1
    return frozenset(plain - nested)


def _body(text: str, name: str) -> int | None:
    """Where the body of the kernel begins, behind its brace; None unless there is just one such kernel."""
    found = list(re.finditer(rf"__global__[^;{{}}]*\b{re.escape(name)}\s*\([^;{{}}]*\)\s*\{{", text))
    return found[0].end() if len(found) == 1 else None
