"""Chapter 00: the map of the course as a table in Markdown, with a link to each chapter."""

from .course_map import CHAPTERS


def markdown_table() -> str:
    """Symptom, telling counter, bottleneck, and the chapter that cures it."""
    lines = ["| what you see | read | the bottleneck | the cure | chapter |", "|---|---|---|---|---|"]
    for one in CHAPTERS[1:]:
        link = f"[{one.title.lower()}]({one.notebook})"
        lines.append(f"| {one.symptom} | {one.counter} | {one.bottleneck} | {one.cure} | {link} |")
    return "\n".join(lines)


class CourseMap:
    """The table, as a notebook shows it."""

    def __repr__(self) -> str:
        return markdown_table()

    def _repr_markdown_(self) -> str:
        return markdown_table()
