"""What the name of a library's kernel says: `explain("ampere_sgemm_128x64_nn")`.

A profiler lists kernels by names such as `cutlass3x_sm100_simt_sgemm_f32_f32_f32_f32_f32_64x64x16_...`. Here
a name is cut into parts, each with its meaning and with how well that is known. What nobody has explained is
called unknown.
"""

from dataclasses import dataclass

from ..report import Cell, Table
from .cpp import demangle, explain_cpp, family, source_names
from .cpp_words import KERNELS
from .frameworks import explain_framework
from .gemm import explain_gemm
from .parts import Part, unknown

__all__ = ["Explanation", "Part", "explain"]

_TINTS = {"documented": "0,158,115", "inferred": "230,159,0", "unknown": "213,94,0"}  # Okabe-Ito
MOST_LETTERS = 5000
_CUT = ("...", "…")
_COPIES = ("memcpy", "memset", "cuda memcpy", "cuda memset")


@dataclass(frozen=True)
class Explanation:
    """A kernel's name, the family it belongs to, and its parts in order. `plain` is the demangled name."""

    name: str
    family: str
    parts: tuple[Part, ...]
    plain: str = ""

    @property
    def unknown(self) -> list[str]:
        """The parts that nobody has explained."""
        return [part.text for part in self.parts if part.source == "unknown"]

    def table(self) -> Table:
        """A row per part."""
        rows = [
            [
                Cell(_short(part.text), tip=part.text, code=True),
                Cell(_short(part.meaning, 100), tip=part.meaning),
                Cell(part.source, _TINTS[part.source], 0.5),
            ]
            for part in self.parts
        ]
        caption = f"{_short(self.plain or self.name, 110)}: {self.family}"
        return Table(["part", "meaning", "how known"], rows, {0, 1, 2}, caption)

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def explain(name: str) -> Explanation:
    """Explain the name of a GPU kernel as profilers print it, mangled or not, even if its end is cut off.

    Never fails on a name: what is not understood is a part called unknown. Raises TypeError for anything but
    a string.
    """
    if not isinstance(name, str):
        raise TypeError(f"a kernel's name is a string, not {type(name).__name__}")
    rest = "..." if len(name) > MOST_LETTERS else ""  # its last part then says that it was cut off
    name = " ".join(name[:MOST_LETTERS].split()) + rest
    if name.startswith("_Z"):
        plain = demangle(name)
        return _mangled(name) if plain is None else _plain(plain, name)
    return _plain(name, name)


def _short(text: str, most: int = 60) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _plain(plain: str, name: str) -> Explanation:
    found, parts = _explained(plain)
    if plain.endswith(_CUT) and parts:
        parts[-1] = Part(parts[-1].text, "cut off here", "unknown")
    return Explanation(
        name, found, tuple(part for part in parts if part.text), plain if plain != name else ""
    )


def _explained(plain: str) -> tuple[str, list[Part]]:
    if plain.lower().lstrip("[").startswith(_COPIES):
        return "copy, no kernel", [Part(plain, "a copy or fill by the driver, listed among the kernels")]
    head, bracket, parameters = plain.partition("(")
    found = explain_framework(head) or explain_gemm(head)
    if found:
        inside = parameters.rstrip().removesuffix(")")
        return found[0], found[1] + ([Part(inside, "types of its parameters")] if bracket and inside else [])
    if "<" in plain or "::" in plain or plain.startswith("void ") or plain.endswith(")"):
        return family(plain), explain_cpp(plain, _nested)
    if plain in KERNELS and "_" in plain:
        return family(plain), explain_cpp(plain, _nested)
    return "unknown", [unknown(plain)] if plain else []


def _nested(text: str) -> list[Part] | None:
    """A template argument that is itself a kernel's name, such as Kernel2's."""
    found = explain_gemm(text.strip())
    return found[1] if found else None


def _mangled(name: str) -> Explanation:
    words = source_names(name)
    parts = [Part("_Z", "a mangled C++ name; its end is missing or nothing here can demangle it")]
    parts += [Part(word, "an identifier in it", "inferred") for word in words]
    return Explanation(name, "C++ (mangled)", tuple(parts))
