"""Sliders that re-run a kernel: ``explore(function, OFFSET=range(0, 33))``.

A slider runs the function when it is released. The picture is rendered once to PNG and put into one image
element whose content is replaced, so nothing flickers or moves, and no matplotlib figure is left open.
Without ipywidgets, or outside Jupyter, the result for the starting values is shown instead.
"""

import base64
import inspect
import time
from collections.abc import Callable, Mapping

from matplotlib.figure import Figure

from .rendering import Rendered, call_and_render, in_notebook, pre, short_traceback

try:
    import ipywidgets
except ImportError:  # a reader without widgets still sees the static result
    ipywidgets = None


def explore(
    function: Callable, /, *, start: Mapping | None = None, output_height: int | None = None, **values
) -> "Explorer":
    """Show ``function`` with one control per keyword; the last expression of a notebook cell.

    Each value is a ``range``, a tuple ``(min, max)`` or ``(min, max, step)``, a list of choices, True/False,
    or a text, which gives a box to type or paste another into. A control starts at ``start[name]``, else at
    the function's own default, else at its first value. ``function`` takes the values by name, changes
    nothing, and returns a Figure, a string, an object with ``_repr_html_``, or a tuple of those with at most
    one Figure. The output keeps the height the first result needs, or ``output_height`` pixels.

    The first call happens here, so an error in it is raised here; a later one is shown in the output area.
    """
    explorer = Explorer(
        function, {name: Choice.of(name, given) for name, given in values.items()}, start or {}
    )
    explorer.first_run(output_height)
    if not in_notebook():
        print(explorer)
    return explorer


class Choice:
    """What one control can be: an even ``grid`` (min, max, step), a list of ``options``, or ``free`` text."""

    def __init__(self, options: list, grid: tuple | None = None, free: bool = False) -> None:
        self.options, self.grid, self.free = options, grid, free

    @classmethod
    def of(cls, name: str, given: object) -> "Choice":
        """Read a range, tuple, list or bool; TypeError or ValueError say what else was given."""
        if isinstance(given, bool):
            return cls([given, not given])
        if isinstance(given, str):
            return cls([given], free=True)
        if isinstance(given, range) and len(given):
            low, high = sorted((given[0], given[-1]))
            return cls(list(range(low, high + 1, abs(given.step))), (low, high, abs(given.step)))
        if isinstance(given, tuple) and len(given) in (2, 3) and all(_is_number(g) for g in given):
            low, high, step = given if len(given) == 3 else (*given, 1)
            if not (low < high and step > 0):
                raise ValueError(f"{name}={given!r}: expected (min, max, step) with min < max and step > 0")
            count = int((high - low) / step + 1e-9) + 1
            return cls([low + i * step for i in range(count)], (low, high, step))
        if isinstance(given, list) and given:
            return cls(list(given))
        raise TypeError(f"{name}={given!r}: expected a range, (min, max[, step]), a list, a bool or a text")

    def widget(self, name: str, value: object) -> "ipywidgets.Widget":
        """The control that offers these values."""
        common = {"description": name, "value": value, "style": {"description_width": "initial"}}
        wide = {"continuous_update": False, "layout": ipywidgets.Layout(width="min(100%, 560px)")}
        if self.grid:
            low, high, step = self.grid
            whole = all(isinstance(number, int) for number in self.grid)
            slider = ipywidgets.IntSlider if whole else ipywidgets.FloatSlider
            return slider(min=low, max=high, step=step, **common, **wide)
        if self.free:
            return ipywidgets.Text(**common, **wide)
        if all(isinstance(option, bool) for option in self.options):
            return ipywidgets.Checkbox(indent=False, **common)
        if all(_is_number(option) for option in self.options):
            return ipywidgets.SelectionSlider(options=self.options, **common, **wide)
        return ipywidgets.Dropdown(options=self.options, **common)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


class Explorer:
    """A function, its controls, and the one output they share. ``values`` are the current ones."""

    def __init__(self, function: Callable, choices: dict[str, Choice], start: Mapping) -> None:
        self.function, self.choices = function, choices
        self.values = {
            name: _starting_value(function, name, choice, start) for name, choice in choices.items()
        }
        if unknown := set(start) - set(choices):
            raise ValueError(f"start names {sorted(unknown)}, which have no control")
        self.figures: list[Figure] = []  # reused for every picture
        self.rendered = Rendered()
        self.box = self.status = self.picture = self.text = None
        self.controls: dict = {}

    def extremes(self) -> list[dict]:
        """Keyword arguments with all controls at their start, their first and their last value, for tests."""
        ends = [{name: choice.options[i] for name, choice in self.choices.items()} for i in (0, -1)]
        return [dict(self.values), *ends]

    def first_run(self, output_height: int | None) -> None:
        """Call the function at the starting values and build the widgets, where there are any."""
        began = time.perf_counter()
        self.rendered = call_and_render(self.function, self.values, self.figures)
        if ipywidgets is not None and in_notebook():
            self._build(output_height or self.rendered.total_height)
            self._show(self.rendered, f"computed here in {time.perf_counter() - began:.2f} s")

    def _build(self, height: int) -> None:
        """Controls above, a status line, and an output box of fixed height with one image and one text."""
        layout = ipywidgets.Layout
        for name, choice in self.choices.items():
            self.controls[name] = choice.widget(name, self.values[name])
            self.controls[name].observe(self._changed, "value")
        self.status = ipywidgets.HTML()
        self.picture = ipywidgets.Image(format="png", layout=layout(max_width="100%", object_fit="contain"))
        self.text = ipywidgets.HTML(layout=layout(width="100%"))
        for widget, css_class in ((self.status, "status"), (self.picture, "picture"), (self.text, "result")):
            widget.add_class(f"course-{css_class}")
        room = layout(height=f"{height}px", overflow="auto", align_items="flex-start", flex="0 0 auto")
        output = ipywidgets.VBox([self.picture, self.text], layout=room)
        self.box = ipywidgets.VBox([*self.controls.values(), self.status, output])
        self.box.add_class("course-explore")

    def _changed(self, _change: object) -> None:
        """Run for the controls' values and show the result or what went wrong: no caller would see it."""
        self.values = {name: control.value for name, control in self.controls.items()}
        self.status.value = "running…"
        began = time.perf_counter()
        try:
            rendered = call_and_render(self.function, self.values, self.figures)
        except (Exception, KeyboardInterrupt) as error:
            message = short_traceback(error, self.function)
            rendered = Rendered(html=pre(message, "course-error"), text=message)
            note = "stopped" if isinstance(error, KeyboardInterrupt) else "error"
            self._show(rendered, f"{note} after {time.perf_counter() - began:.2f} s")
        else:
            self._show(rendered, f"computed here in {time.perf_counter() - began:.2f} s")

    def _show(self, rendered: Rendered, note: str) -> None:
        """Replace the contents of the picture, the text and the status line."""
        self.rendered = rendered
        if rendered.png is not None:
            self.picture.layout.width = f"{rendered.width}px"
            self.picture.value = rendered.png
        self.picture.layout.display = "none" if rendered.png is None else None
        self.text.value = rendered.html
        self.status.value = f"<small>{note}</small>"

    def __repr__(self) -> str:
        """The values and the text of the result; deterministic if the function is."""
        name = getattr(self.function, "__name__", "function")
        call = f"{name}({', '.join(f'{key}={value!r}' for key, value in self.values.items())})"
        return f"{call}\n{self.rendered.text}".rstrip()

    def _repr_mimebundle_(self, **_) -> dict:
        """The widgets, and beside them the static picture for readers that cannot show widgets."""
        bundle = dict(self.box._repr_mimebundle_()) if self.box is not None else {}
        bundle["text/plain"] = repr(self)
        if self.rendered.png is not None:
            bundle["image/png"] = base64.b64encode(self.rendered.png).decode()
        return bundle


def _starting_value(function: Callable, name: str, choice: Choice, start: Mapping) -> object:
    """``start[name]``, else the parameter's default, else the first value; ValueError if not on offer."""
    parameter = inspect.signature(function).parameters.get(name)
    default = parameter.default if parameter else inspect.Parameter.empty
    first = choice.options[0] if default is inspect.Parameter.empty else default
    value = start.get(name, first)
    if value not in choice.options:
        offered = f"{choice.options[0]!r} to {choice.options[-1]!r}"
        raise ValueError(f"{name} starts at {value!r}, which is not among its values, {offered}")
    return value
