"""PTX text -> tokens, and the reader that hands them out while it follows the CUDA source line."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .errors import UnsupportedError
from .ptx import Imm

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<string>"(?:[^"\\]|\\.)*") |
    (?P<name>[%$A-Za-z_.][\w$%.]*(?:::[\w.]+)*) |
    (?P<number>0[fF][0-9A-Fa-f]{8}|0[dD][0-9A-Fa-f]{16}|0[xX][0-9A-Fa-f]+U?|0[bB][01]+U?|
               \d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+U?) |
    (?P<mark>[-+{}()\[\],;:@!|=<>*&~?/^])
    )""",
    re.VERBOSE,
)
_LOC = re.compile(r"\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:.*inlined_at\s+(\d+)\s+(\d+)\s+(\d+))?")
_LEARNERS_FILE = re.compile(r'\.file\s+(\d+)\s+"(?:[^"]*/)?kernel\.cu"')
_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|/\*.*?\*/|//[^\n]*', re.DOTALL)
_LINE_DIRECTIVES = (".version", ".target", ".address_size", ".file", ".section")


@dataclass(frozen=True)
class Token:
    """`kind` is "name", "number", "string", "mark" or "loc" (then `text` is a CUDA source line)."""

    kind: str
    text: str
    ptx_line: int


def tokens(text: str) -> list[Token]:
    """All tokens of a PTX text. Raises UnsupportedError at a character PTX does not have."""
    found: list[Token] = []
    lines = _SourceLines(text)
    for number, line in enumerate(_without_comments(text).split("\n"), 1):
        stripped = line.strip()
        if stripped.startswith((".loc ", ".loc\t")):
            found.append(Token("loc", lines.of(stripped), number))
        elif not stripped.startswith(_LINE_DIRECTIVES):
            found.extend(_line_tokens(line.rstrip(), number))
    return found


def _without_comments(text: str) -> str:
    """Comments become the line breaks they hold; strings stay."""
    return _COMMENT.sub(lambda m: m[0] if m[0][0] == '"' else "\n" * m[0].count("\n"), text)


def _line_tokens(line: str, number: int) -> list[Token]:
    found, at = [], 0
    while at < len(line):
        match = _TOKEN.match(line, at)
        if match is None:
            raise UnsupportedError(f"PTX line {number}: cannot read {line[at:].strip()!r}")
        kind, text = match.lastgroup or "", match.group(match.lastgroup or 0)
        parts = re.findall(r"\.[^.]+", text) if text[0] == "." else [text]  # `.reg.b32` is `.reg .b32`
        found += [Token(kind, part, number) for part in parts]
        at = match.end()
    return found


class _SourceLines:
    """CUDA lines of `.loc` directives; code of a header counts at the learner's line that uses it."""

    def __init__(self, text: str) -> None:
        match = _LEARNERS_FILE.search(text)
        self.file = match[1] if match else "1"
        self.callers: dict[tuple[str, ...], tuple[str, ...]] = {}

    def of(self, directive: str) -> str:
        """The line, "0" where the directive leads to none of the learner's file."""
        match = _LOC.match(directive)
        if match is None:
            return "0"
        place, caller = match.groups()[:3], match.groups()[3:]
        if caller[0] is not None:
            self.callers[place] = caller
        else:
            self.callers.pop(place, None)
        for _ in range(64):  # inlined calls are never nested deeper; a circle would be endless
            if place[0] == self.file:
                return place[1]
            if place not in self.callers:
                break
            place = self.callers[place]
        return "0"


class Reader:
    """Walks through tokens; `line` is the CUDA source line of the last `.loc` that named one."""

    def __init__(self, text: str) -> None:
        self.tokens = tokens(text)
        self.at = 0
        self.line = 0

    def peek(self) -> str:
        """Text of the next token, "" at the end."""
        while self.at < len(self.tokens) and self.tokens[self.at].kind == "loc":
            self.line = int(self.tokens[self.at].text) or self.line
            self.at += 1
        return self.tokens[self.at].text if self.at < len(self.tokens) else ""

    def take(self, expected: str | None = None) -> str:
        """The next token, which must be `expected` where that is given. Raises UnsupportedError."""
        text = self.peek()
        if text == "" or (expected is not None and text != expected):
            wanted = f"expected {expected!r}, found" if expected else "unexpected"
            raise UnsupportedError(f"PTX line {self.ptx_line()}: {wanted} {text or 'the end of the text'!r}")
        self.at += 1
        return text

    def accept(self, text: str) -> bool:
        """Take the next token if it is `text`."""
        if self.peek() != text:
            return False
        self.at += 1
        return True

    def ptx_line(self) -> int:
        """PTX line of the next token."""
        return self.tokens[min(self.at, len(self.tokens) - 1)].ptx_line if self.tokens else 0

    def integer(self) -> int:
        """An integer literal with an optional sign."""
        sign = -1 if self.accept("-") else 1
        text = self.take()
        if not text[0].isdigit():
            raise UnsupportedError(f"PTX line {self.ptx_line()}: expected a number, found {text!r}")
        return sign * int(Imm(text).value())

    def offset(self) -> int:
        """`+ n` or `- n` if one follows, else 0."""
        if self.accept("+"):
            return self.integer()
        return self.integer() if self.peek() == "-" else 0

    def skip_statement(self) -> None:
        """Skip to behind the next `;` or `}` outside braces."""
        depth = 0
        while self.peek():
            word = self.take()
            depth += (word == "{") - (word == "}")
            if depth <= 0 and word in (";", "}"):
                return
