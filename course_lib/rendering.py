"""What a function returned, as one picture (PNG bytes) and one piece of HTML; errors in a few lines."""

import contextlib
import io
import sys
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from html import escape

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from .pictures.style import reused

CSS_DPI = 96  # a browser's pixels per inch: a figure 9 inches wide is shown 864 pixels wide
PNG_DPI = 120  # a little finer than shown, for dense screens; a multiple of it costs latency


@dataclass(frozen=True)
class Rendered:
    """A picture (or None), its size on the screen in pixels, HTML below it, and the same as plain text."""

    png: bytes | None = None
    width: int = 0
    height: int = 0
    html: str = ""
    text: str = ""

    @property
    def total_height(self) -> int:
        """Pixels that picture and text need, roughly."""
        lines = self.html.count("\n") + 1.4 * self.html.count("<tr") + self.html.count("<p") + bool(self.html)
        return self.height + round(22 * lines) + 16


def call_and_render(function: Callable, values: dict, pool: list[Figure]) -> Rendered:
    """Call ``function(**values)`` and render what it returns and prints, warnings included.

    It may return a Figure, a string, an object with ``_repr_html_``, None, or a tuple of those with at most
    one Figure. Figures drawn with ``pictures`` come from ``pool``; those it opened through pyplot are
    closed again.
    """
    before = set(plt.get_fignums())
    printed = io.StringIO()
    try:
        with (
            warnings.catch_warnings(record=True) as caught,
            contextlib.redirect_stdout(printed),
            reused(pool),
        ):
            warnings.simplefilter("always")
            result = function(**values)
        parts = list(result) if isinstance(result, tuple) else [result]
        notes = printed.getvalue().rstrip("\n").split("\n") if printed.getvalue() else []
        notes += [f"{w.category.__name__}: {w.message}" for w in caught]
        return render([*parts, "\n".join(notes) or None])
    finally:
        for number in set(plt.get_fignums()) - before:
            plt.close(number)


def render(parts: list) -> Rendered:
    """Render figures, strings, objects with ``_repr_html_`` and None in order. TypeError for two figures."""
    figures = [part for part in parts if isinstance(part, Figure)]
    others = [part for part in parts if part is not None and not isinstance(part, Figure)]
    if len(figures) > 1:
        raise TypeError("a slider shows one picture; draw both as axes of one figure")
    html = "".join(_html(part) for part in others)
    text = "\n".join(part if isinstance(part, str) else repr(part) for part in others)
    if not figures:
        return Rendered(html=html, text=text)
    width, height = (round(inches * CSS_DPI) for inches in figures[0].get_size_inches())
    return Rendered(png(figures[0]), width, height, html, text)


def png(figure: Figure) -> bytes:
    """The figure as PNG, packed fast rather than small."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=PNG_DPI, pil_kwargs={"compress_level": 1})
    return buffer.getvalue()


def _html(part: object) -> str:
    make = getattr(part, "_repr_html_", None)
    html = make() if callable(make) else None
    return html if html is not None else pre(part if isinstance(part, str) else repr(part))


def pre(text: str, css_class: str = "course-text") -> str:
    """Preformatted, escaped text."""
    return f'<pre class="{css_class}" style="margin:4px 0;white-space:pre-wrap">{escape(text)}</pre>\n'


def short_traceback(error: BaseException, function: Callable, most: int = 3) -> str:
    """The error and the last ``most`` places it came through, from ``function`` on, source lines included."""
    frames = traceback.extract_tb(error.__traceback__)
    code = getattr(function, "__code__", None)
    inside = [
        i for i, f in enumerate(frames) if code and (f.filename, f.name) == (code.co_filename, code.co_name)
    ]
    frames = frames[inside[0] :] if inside else frames[-1:]
    shown = [frames[0], *frames[1:][-(most - 1) :]] if frames else []
    lines = [f"{type(error).__name__}: {error}"]
    lines += [f"  in {f.name}, line {f.lineno}" + (f": {f.line}" if f.line else "") for f in shown]
    return "\n".join(lines)


def in_notebook() -> bool:
    """True inside a Jupyter kernel, where a display can show widgets."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell is not None and hasattr(shell, "kernel")
