"""The parameter list of a kernel, read from its CUDA source as far as plain text allows.

This serves messages and warnings only; what is passed follows the PTX. Whatever the
text does not show (macros, generated code) gives None.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_QUALIFIERS = re.compile(
    r"\b(?:const|volatile|restrict|__restrict__|__restrict|__grid_constant__|register)\b"
)
# after a * nothing but qualifiers can stand before the name: a word there is a macro such as RESTRICT
_AFTER_STAR = re.compile(r"([*&])\s*(?:[A-Za-z_]\w*\s+)+(?=[A-Za-z_]\w*$)")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_TYPE_WORDS = frozenset(
    (
        "void",
        "bool",
        "char",
        "short",
        "int",
        "long",
        "float",
        "double",
        "signed",
        "unsigned",
        "struct",
        "enum",
    )
)


@dataclass(frozen=True)
class SourceParameter:
    """One parameter as written: ``name``, ``ctype`` without qualifiers (``float*``)."""

    name: str
    ctype: str
    pointer: bool
    const: bool  # the pointed-to data (or the value) is const

    @property
    def base(self) -> str:
        """The type without its pointer star."""
        return self.ctype.rstrip("*& ")


@lru_cache(maxsize=512)
def parse_signature(source: str, kernel: str) -> tuple[SourceParameter, ...] | None:
    """Parameters of ``kernel`` (a plain name or a name expression such as ``scale<float>``), or None."""
    name, arguments = _split_expression(kernel)
    text = _COMMENTS.sub(lambda m: " " * len(m.group()), source)
    for match in re.finditer(rf"\b{re.escape(name)}\s*\(", text):
        before = text[: match.start()]
        head = before[max(before.rfind(c) for c in ";}") + 1 :]
        if "__global__" not in head:
            continue
        inside = _parenthesised(text, match.end() - 1)
        if inside is None:
            return None
        parameters = [_parameter(part) for part in _split(inside) if part.strip() not in ("", "void")]
        if None in parameters:
            return None
        return tuple(_substitute(parameters, _template_names(head), arguments))
    return None


def _split_expression(kernel: str) -> tuple[str, list[str]]:
    """``ns::scale<float, 4>`` -> ("scale", ["float", "4"])."""
    bare, _, rest = kernel.partition("<")
    arguments = _split(rest.rsplit(">", 1)[0]) if rest else []
    return bare.strip().lstrip("&").split("::")[-1].strip(), [a.strip() for a in arguments]


def kernel_name(kernel: str) -> str:
    """The kernel's own name in a plain name or a name expression."""
    return _split_expression(kernel)[0]


def _parenthesised(text: str, opening: int) -> str | None:
    depth = 0
    for at in range(opening, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return text[opening + 1 : at]
    return None


def _split(text: str) -> list[str]:
    """Split at commas outside brackets."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += {"<": 1, "(": 1, "[": 1, ">": -1, ")": -1, "]": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]


def _parameter(text: str) -> SourceParameter | None:
    text = text.split("=")[0].strip()
    text, arrays = re.subn(r"\[[^\]]*\]\s*$", "", text)
    const = bool(re.search(r"\bconst\b", text.split("*")[0]))
    plain = _AFTER_STAR.sub(r"\1 ", " ".join(_QUALIFIERS.sub(" ", text).split()))
    match = re.search(r"([A-Za-z_]\w*)$", plain)
    if not plain or "(" in plain:
        return None
    name, ctype = (match.group(), plain[: match.start()].strip()) if match else ("", plain)
    if not ctype or name in _TYPE_WORDS:  # an unnamed parameter
        name, ctype = "", plain
    ctype = ctype.replace(" *", "*").replace("* ", "*") + "*" * arrays
    return SourceParameter(name, ctype, ctype.endswith("*"), const)


def _template_names(head: str) -> list[str]:
    match = re.search(r"\btemplate\s*<(.*)>", head, re.DOTALL)
    if not match:
        return []
    names = [_IDENTIFIER.findall(part.split("=")[0]) for part in _split(match.group(1))]
    return [found[-1] for found in names if found]


def _substitute(
    parameters: list[SourceParameter], names: list[str], arguments: list[str]
) -> list[SourceParameter]:
    """Put template arguments in place of template parameter names in the types."""
    given = dict(zip(names, arguments, strict=False))

    def filled(ctype: str) -> str:
        return _IDENTIFIER.sub(lambda m: given.get(m.group(), m.group()), ctype)

    return [SourceParameter(p.name, c := filled(p.ctype), c.endswith("*"), p.const) for p in parameters]
