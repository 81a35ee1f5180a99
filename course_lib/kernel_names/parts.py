"""A name cut into parts, each with its meaning and with how well that meaning is known."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

SOURCES = ("documented", "inferred", "unknown")
_SEPARATORS = "_ :<>(),"


@dataclass(frozen=True)
class Part:
    """A piece of a kernel's name. ``source`` says how its meaning is known:

    "documented": in the library's documentation or open source; "inferred": read from many names, by people
    outside the library's maker; "unknown": nobody told us, and we do not guess.
    """

    text: str
    meaning: str
    source: str = "documented"

    def __post_init__(self) -> None:
        if self.source not in SOURCES:
            raise ValueError(f"source {self.source!r} of {self.text!r}: use one of {', '.join(SOURCES)}")


Meaning = str | Callable[[re.Match], Iterable[Part]]


@dataclass(frozen=True)
class Rule:
    """A regular expression that must match up to a separator (or, if ``open``, up to anywhere)."""

    pattern: re.Pattern
    meaning: Meaning
    source: str = "documented"
    open: bool = False


def rule(pattern: str, meaning: Meaning, source: str = "documented", *, open: bool = False) -> Rule:
    """A rule; ``meaning`` may quote groups as {0}, {1}, or be a function from the match to parts."""
    return Rule(re.compile(pattern), meaning, source, open)


def guessed(pattern: str, meaning: Meaning, *, open: bool = False) -> Rule:
    """A rule whose meaning is inferred."""
    return rule(pattern, meaning, "inferred", open=open)


def scan(text: str, rules: Sequence[Rule]) -> list[Part]:
    """Cut ``text`` from left to right; everywhere the first rule that fits wins, else a word is unknown."""
    found: list[Part] = []
    at = 0
    while at < len(text):
        if text[at] in _SEPARATORS:
            at += 1
            continue
        parts = _first_fit(text, at, rules) or [unknown(_word(text, at))]
        found += parts
        at = _after(text, at, parts)
    return found


def unknown(text: str) -> Part:
    """A part nobody explained."""
    return Part(text, "unknown", "unknown")


def _after(text: str, at: int, parts: Sequence[Part]) -> int:
    for part in parts:
        at = text.index(part.text, at) + len(part.text)
    return at


def _first_fit(text: str, at: int, rules: Sequence[Rule]) -> list[Part]:
    for candidate in rules:
        match = candidate.pattern.match(text, at)
        if not match or not match.group():
            continue
        closed = match.end() == len(text) or text[match.end()] in _SEPARATORS
        if closed or candidate.open:
            return _parts(match, candidate)
    return []


def _parts(match: re.Match, fitting: Rule) -> list[Part]:
    if callable(fitting.meaning):
        return list(fitting.meaning(match))
    return [Part(match.group(), fitting.meaning.format(match.group(), *match.groups()), fitting.source)]


def _word(text: str, at: int) -> str:
    end = at
    while end < len(text) and text[end] not in _SEPARATORS:
        end += 1
    return text[at:end]
