"""Rows as text and as HTML."""

from course_lib.tables import html_table, text_table


def test_numbers_are_aligned_to_the_right():
    assert text_table([("a", "1"), ("bb", "1,000")]) == "a       1\nbb  1,000"


def test_a_header_is_a_line_of_its_own():
    assert text_table([("a", 1)], header=("name", "n")).splitlines()[0] == "name  n"


def test_cells_are_escaped():
    assert "&lt;b&gt;" in html_table([("<b>",)], header=("x",), caption="c")
