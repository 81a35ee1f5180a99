"""Sliders: what a control offers, one reused figure, visible errors, a static result without widgets."""

import base64
import gc
import warnings

import ipywidgets
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from course_lib import rendering, sliders
from course_lib.pictures import warp_to_sectors
from course_lib.sliders import Choice, explore


@pytest.fixture
def notebook(monkeypatch):
    """Behave as inside a Jupyter kernel."""
    monkeypatch.setattr(sliders, "in_notebook", lambda: True)


def show_offset(OFFSET=3):  # noqa: N803 - the name a chapter uses
    return warp_to_sectors(np.arange(32) * 4 + 4 * OFFSET), f"OFFSET is {OFFSET}"


@pytest.mark.parametrize(
    ("given", "options", "widget"),
    [
        (range(0, 33), list(range(33)), ipywidgets.IntSlider),
        (range(8, 0, -2), [2, 4, 6, 8], ipywidgets.IntSlider),
        ((1, 3), [1, 2, 3], ipywidgets.IntSlider),
        ((0, 10, 5), [0, 5, 10], ipywidgets.IntSlider),
        ((0.0, 1.0, 0.25), [0.0, 0.25, 0.5, 0.75, 1.0], ipywidgets.FloatSlider),
        ([4, 8, 32], [4, 8, 32], ipywidgets.SelectionSlider),
        (["row", "column"], ["row", "column"], ipywidgets.Dropdown),
        (True, [True, False], ipywidgets.Checkbox),
        ("ampere_sgemm_128x64_nn", ["ampere_sgemm_128x64_nn"], ipywidgets.Text),
    ],
)
def test_what_a_value_offers(given, options, widget):
    choice = Choice.of("x", given)
    assert choice.options == options
    control = choice.widget("x", options[-1])
    assert type(control) is widget
    assert control.value == options[-1]
    assert getattr(control, "continuous_update", False) is False


@pytest.mark.parametrize("given", [5, (), [], range(0), (1, 2, 3, 4), ("a", "b")])
def test_other_values_are_refused_by_name(given):
    with pytest.raises(TypeError, match="stride="):
        Choice.of("stride", given)


def test_an_empty_interval_is_refused():
    with pytest.raises(ValueError, match="min < max"):
        Choice.of("x", (3, 1))


def test_starting_values(notebook):
    assert explore(show_offset, OFFSET=range(33)).values == {"OFFSET": 3}
    assert explore(show_offset, OFFSET=range(33), start={"OFFSET": 7}).values == {"OFFSET": 7}
    assert explore(lambda n: "text", n=[4, 8]).values == {"n": 4}
    with pytest.raises(ValueError, match="starts at 3"):
        explore(show_offset, OFFSET=[8, 16])
    with pytest.raises(ValueError, match="no control"):
        explore(show_offset, OFFSET=range(33), start={"offset": 7})


def test_a_text_box_takes_any_text(notebook):
    shown = explore(lambda name: f"{len(name)} letters", name="abc")
    shown.controls["name"].value = "a longer <name>"
    assert "15 letters" in shown.text.value


def test_a_change_replaces_the_picture(notebook):
    explorer = explore(show_offset, OFFSET=range(33))
    first = bytes(explorer.picture.value)
    assert first.startswith(b"\x89PNG")
    explorer.controls["OFFSET"].value = 8
    assert bytes(explorer.picture.value) != first
    assert "OFFSET is 8" in explorer.text.value
    assert "s</small>" in explorer.status.value
    assert "course-picture" in explorer.picture._dom_classes


def test_one_figure_and_one_height_after_ten_changes(notebook):
    explorer = explore(show_offset, OFFSET=range(33))
    output = explorer.box.children[-1]
    height, figure = output.layout.height, explorer.figures[0]
    gc.collect()
    alive = sum(isinstance(o, Figure) for o in gc.get_objects())
    for offset in range(10, 20):
        explorer.controls["OFFSET"].value = offset
    gc.collect()
    assert sum(isinstance(o, Figure) for o in gc.get_objects()) == alive
    assert explorer.figures == [figure]
    assert plt.get_fignums() == []
    assert output.layout.height == height


def test_figures_a_function_opens_itself_are_closed_and_others_left_alone(notebook):
    def plot(n):
        figure, axes = plt.subplots()
        axes.plot([0, n])
        return figure

    mine = plt.figure()
    explorer = explore(plot, n=range(12))
    for n in range(1, 11):
        explorer.controls["n"].value = n
    assert plt.get_fignums() == [mine.number]
    plt.close(mine)


def divide(n):
    return f"{12 // n}"


def test_an_error_is_shown_and_the_next_value_works(notebook):
    explorer = explore(divide, n=range(5), start={"n": 4})
    assert "3" in explorer.text.value
    explorer.controls["n"].value = 0
    assert "course-error" in explorer.text.value
    assert "ZeroDivisionError" in explorer.text.value
    assert "in divide, line" in explorer.text.value
    assert "12 // n" in explorer.text.value
    assert explorer.status.value.startswith("<small>error")
    explorer.controls["n"].value = 2
    assert "course-error" not in explorer.text.value


def test_a_stale_picture_is_hidden_while_an_error_shows(notebook):
    def sometimes(n):
        return show_offset(n)[0] if n else 1 / n

    explorer = explore(sometimes, n=range(3), start={"n": 1})
    explorer.controls["n"].value = 0
    assert explorer.picture.layout.display == "none"
    explorer.controls["n"].value = 2
    assert explorer.picture.layout.display is None


def test_interrupting_a_run_stops_it(notebook):
    def endless(n):
        if n:
            raise KeyboardInterrupt
        return "fine"

    explorer = explore(endless, n=range(2))
    explorer.controls["n"].value = 1
    assert explorer.status.value.startswith("<small>stopped")


def test_an_error_at_the_starting_values_is_raised(notebook):
    with pytest.raises(ZeroDivisionError):
        explore(divide, n=range(5))


def test_running_is_announced_before_the_function_runs(notebook):
    seen = []
    explorer = explore(lambda n: seen.append(explorer.status.value if n else "") or "x", n=range(3))
    explorer.controls["n"].value = 1
    assert seen[-1] == "running…"


def test_prints_and_warnings_are_shown(notebook):
    def talk(n):
        print("hello <b>")
        warnings.warn("careful", stacklevel=1)

    explorer = explore(talk, n=range(2))
    assert "hello &lt;b&gt;" in explorer.text.value
    assert "UserWarning: careful" in explorer.text.value


def test_a_static_picture_lies_beside_the_widgets(notebook):
    bundle = explore(show_offset, OFFSET=range(33))._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG")
    assert bundle["text/plain"] == "show_offset(OFFSET=3)\nOFFSET is 3"


def test_without_ipywidgets_the_static_result_is_shown(notebook, monkeypatch):
    monkeypatch.setattr(sliders, "ipywidgets", None)
    bundle = explore(show_offset, OFFSET=range(33))._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "image/png"}


def test_outside_jupyter_the_static_result_is_printed(capsys):
    explore(show_offset, OFFSET=range(33))
    assert capsys.readouterr().out == "show_offset(OFFSET=3)\nOFFSET is 3\n"


def test_extremes_are_what_a_chapter_must_test(notebook):
    explorer = explore(lambda a=2, b="y": "", a=range(5), b=["x", "y", "z"])
    assert explorer.extremes() == [{"a": 2, "b": "y"}, {"a": 0, "b": "x"}, {"a": 4, "b": "z"}]


def test_rendering_takes_what_is_displayable():
    class Table:
        def _repr_html_(self):
            return "<table><tr><td>1</td></tr></table>"

        def __repr__(self):
            return "Table 1"

    rendered = rendering.render([Table(), "a < b", None, 7])
    assert rendered.html.startswith("<table>")
    assert "a &lt; b" in rendered.html
    assert rendered.text == "Table 1\na < b\n7"
    with pytest.raises(TypeError, match="one picture"):
        rendering.render([Figure(), Figure()])
