"""Tables of what was counted: per source line, side by side for several kernels, and the hazards found.

Each has a plain-text form (`repr`, what nbval compares) and an HTML form. The HTML leaves text colours to
JupyterLab's theme and only tints cells with translucent colour, so it reads well on light and dark ground.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from textwrap import wrap

from .pictures.style import number_text
from .tables import text_table

# Nsight Compute's metric (or this course's own, course__...) -> its name in every table of the course
PLAIN_NAMES = {
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": "global load requests",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": "sectors loaded",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum": "global store requests",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": "sectors stored",
    "memory_l2_theoretical_sectors_global": "sectors, loads and stores",
    "memory_l2_theoretical_sectors_global_ideal": "sectors needed at least",
    "course__l1_tags_global.sum": "128-byte lines looked up",
    "course__l1_wavefronts_global.sum": "L1 wavefronts of global loads",
    "course__l2_pairs_global.sum": "pairs of sectors asked of L2 (estimate)",
    "course__load_rounds.sum": "rounds of loads",
    "smsp__sass_inst_executed_op_shared_ld.sum": "shared load requests",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": "shared load wavefronts",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum": "shared load wavefronts in excess",
    "smsp__sass_inst_executed_op_shared_st.sum": "shared store requests",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum": "shared store wavefronts",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum": "shared store wavefronts in excess",
    "memory_l1_wavefronts_shared": "shared wavefronts",
    "memory_l1_wavefronts_shared_ideal": "shared wavefronts needed at least",
    "smsp__inst_executed.sum": "warp instructions (PTX)",
    "smsp__thread_inst_executed.sum": "thread instructions (PTX)",
    "smsp__thread_inst_executed_per_inst_executed.ratio": "active lanes per instruction",
    "course__shared_ways.max": "worst bank conflict (n-way)",
    "course__atomics_global.sum": "atomic requests",
    "course__barriers.sum": "barrier instructions, all warps",
    "course__async_bytes_in_flight.max": "bytes in flight while a tile is used",
    "smsp__inst_executed_op_ldgsts.sum": "asynchronous copy requests",
    "course__branches.sum": "branches",
    "course__branches_divergent.sum": "divergent branches",
    "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum": "float additions",
    "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum": "float multiplications",
    "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": "float multiply-adds",
    "course__tensor_flops.sum": "operations of tensor cores",
    "course__unique_dram_bytes_ld": "bytes of distinct sectors loaded",
    "course__unique_pair_bytes_ld": "bytes of distinct pairs of sectors loaded",
    "course__sectors_ideal_global_op_ld.sum": "sectors loads needed at least",
    "course__unique_dram_bytes_st": "bytes of distinct sectors stored",
    "launch__registers_per_thread": "registers per thread",
    "launch__shared_mem_per_block_static": "shared bytes per block",
    "launch__shared_mem_per_block_dynamic": "dynamic shared bytes per block",
    "launch__grid_size": "blocks",
    "launch__block_size": "threads per block",
}

EXCESS = "230,159,0"  # Okabe-Ito orange: more than the ideal
SHARE = "86,180,233"  # Okabe-Ito sky blue: share of the largest value
ALARM = "213,94,0"  # Okabe-Ito vermilion: hazards
PLAIN_WIDTH = 100  # letters in a line of plain text
CODE_STYLE = (
    "white-space:pre-wrap;overflow-wrap:anywhere;background:none;display:inline-block;max-width:56ch;"
    "vertical-align:bottom"
)


class Cell:
    """One cell: ``text``, a tint (colour and strength 0 ... 1), tooltip; is it code, may it ``wrap``?"""

    def __init__(
        self,
        text: object = "",
        tint: str = "",
        strength: float = 0.0,
        tip: str = "",
        code: bool = False,
        wrap: bool = False,
    ):
        self.text, self.tip, self.code, self.wrap = str(text), tip, code, wrap
        self.background = f"rgba({tint},{0.75 * min(1.0, strength):.2f})" if tint and strength > 0 else ""

    def html(self, tag: str, number: bool) -> str:
        """The cell as <td> or <th>; the text is escaped."""
        style = f"text-align:{'right' if number else 'left'};padding:1px 8px"
        style += f";white-space:{'normal' if self.wrap else 'nowrap'}"
        style += f";background:{self.background}" if self.background else ""
        body = f'<code style="{CODE_STYLE}">{escape(self.text)}</code>' if self.code else escape(self.text)
        title = f' title="{escape(self.tip, quote=True)}"' if self.tip else ""
        return f'<{tag} style="{style}"{title}>{body}</{tag}>'


class Table:
    """Rows under a header: `Cell` objects, or plain values that become cells.

    ``words``: numbers of the columns that hold words, not numbers. ``notes`` are lines of text under the
    table.
    """

    def __init__(
        self,
        header: Sequence[str],
        rows: Sequence[Sequence[object]],
        words: set[int],
        caption: str = "",
        notes: Sequence[str] = (),
    ):
        self.header = list(header)
        self.rows = [[value if isinstance(value, Cell) else Cell(value) for value in row] for row in rows]
        self.words, self.caption, self.notes = words, caption, list(notes)

    def __repr__(self) -> str:
        body = text_table([[cell.text for cell in row] for row in self.rows], self.header)
        return "\n".join([*filter(None, [self.caption]), body, *self.notes])

    def _repr_html_(self) -> str:
        head = self._row_html([Cell(name) for name in self.header], "th")
        body = "".join(self._row_html(row, "td") for row in self.rows)
        caption = f'<caption style="text-align:left">{escape(self.caption)}</caption>' if self.caption else ""
        return (
            f'<table class="course-table" style="border-collapse:collapse;font-size:12px">{caption}'
            f"<thead>{head}</thead><tbody>{body}</tbody></table>"
        ) + "".join(f"<p>{escape(note)}</p>" for note in self.notes)

    def _row_html(self, row: Iterable[Cell], tag: str) -> str:
        return "<tr>" + "".join(cell.html(tag, i not in self.words) for i, cell in enumerate(row)) + "</tr>"


class LineTable(Table):
    """What each line of CUDA source cost: ``LineTable(profile)``.

    Columns: warp instructions (PTX), their average active lanes, memory requests, sectors and
    shared wavefronts, and hazards. A number in brackets is the fewest possible, where the line needs more.
    Orange grows with that excess, and with idle lanes; blue with the share of the busiest line. Columns
    empty for every line are left out.
    """

    def __init__(self, profile) -> None:
        lines = list(profile.lines)
        busiest = max((line.executions for line in lines), default=1) or 1
        header = ["line", "source", "instructions", "lanes", "requests", "sectors", "wavefronts", "hazards"]
        rows = [_line_cells(line, busiest) for line in lines]
        keep = [i for i in range(len(header)) if i < 4 or any(row[i].text for row in rows)]
        for i in (5, 6):
            header[i] += " (needed at least)" * any("(" in row[i].text for row in rows)
        super().__init__(
            [header[i] for i in keep],
            [[row[i] for i in keep] for row in rows],
            {1},
            notes=stand_in_notes([profile]),
        )


def _line_cells(line, busiest: float) -> list[Cell]:
    """The cells of one source line; a count of 0 stays empty."""
    return [
        Cell(line.line),
        Cell(line.text.rstrip(), tip=line.text.strip(), code=True),
        Cell(_number(line.executions), SHARE, 0.6 * line.executions / busiest),
        Cell(_number(line.active_lanes), EXCESS, 1 - line.active_lanes / 32 if line.executions else 0),
        Cell(_number(line.requests)),
        _against_ideal(line.sectors, line.sectors_ideal, "sectors"),
        _against_ideal(line.wavefronts, line.wavefronts_ideal, "wavefronts"),
        Cell(
            _number(len(line.hazards)), ALARM, bool(line.hazards), "; ".join(h.message for h in line.hazards)
        ),
    ]


def _against_ideal(value: float, ideal: float, unit: str) -> Cell:
    """A count such as 1,024 (128), tinted by its excess over the ideal: full at 8 times."""
    if value <= ideal:
        return Cell(_number(value))
    times = value / ideal if ideal else 8
    tip = f"{_number(times)} times the fewest {unit} possible"
    return Cell(f"{_number(value)} ({_number(ideal, zero='0')})", EXCESS, (times - 1) / 7, tip)


class CounterTable(Table):
    """Kernels side by side: ``CounterTable({"naive": p, "coalesced": q}, metrics)``.

    ``metrics``: metric names, or a mapping from a label to a metric name or to a function of a profile;
    left out: every known metric that is not zero for all. Two kernels get a ratio column, second over
    first. The metric's own name is the tooltip.
    """

    def __init__(
        self,
        profiles: Mapping[str, Mapping],
        metrics: Sequence[str] | Mapping | None = None,
        caption: str = "",
    ):
        chosen = _chosen(profiles, metrics)
        pair = len(profiles) == 2
        rows = []
        for label, metric in chosen.items():
            values = [metric(p) if callable(metric) else p[metric] for p in profiles.values()]
            tip = "" if callable(metric) else metric
            row = [Cell(label, tip=tip), *(Cell(_number(value, zero="0")) for value in values)]
            rows.append([*row, Cell(_ratio(*values))] if pair else row)
        header = ["counted", *profiles, *(["ratio"] if pair else [])]
        super().__init__(header, rows, {0}, caption, stand_in_notes(profiles.values()))


def stand_in_notes(profiles: Iterable) -> list[str]:
    """A line for each special register a kernel reads that the emulator makes up: no GPU counts so."""
    return [
        f"{profile.kernel} reads {name}, which here {told}: counts that depend on it are no GPU's"
        for profile in profiles
        for name, told in getattr(profile, "stand_ins", {}).items()
    ]


def _chosen(
    profiles: Mapping[str, Mapping], metrics: Sequence[str] | Mapping | None
) -> dict[str, str | Callable]:
    """Label -> metric name or function."""
    if isinstance(metrics, Mapping):
        return dict(metrics)
    if metrics is None:
        metrics = [name for name in PLAIN_NAMES if any(p.get(name) for p in profiles.values())]
    return {PLAIN_NAMES.get(name, name): name for name in metrics}


def _ratio(first: float, second: float) -> str:
    """How many times the first the second is; "" where the first is 0."""
    return f"{_number(second / first, zero='0')}x" if first else ""


class HazardTable(Table):
    """Hazards, one per row: ``HazardTable(profile)`` or a list of hazards. Empty: "no hazard found"."""

    def __init__(self, profile) -> None:
        self.hazards = list(getattr(profile, "hazards", profile))
        header = ["hazard", "line", "block", "thread", "what happened"]
        rows = [
            [
                Cell(h.kind, ALARM, 0.5),
                Cell(h.line),
                Cell(h.block_name),
                Cell(h.thread_name),
                Cell(h.message, wrap=True),
            ]
            for h in self.hazards
        ]
        super().__init__(header, rows, {0, 2, 3, 4})

    def __repr__(self) -> str:
        """Plain text, the last column broken between words so that lines have about 100 letters."""
        if not self.hazards:
            return "no hazard found"
        cells = [[cell.text for cell in row] for row in self.rows]
        short = text_table([row[:-1] for row in cells], self.header[:-1])
        room = max(40, PLAIN_WIDTH - 2 - max(map(len, short.split("\n"))))
        rows = []
        for *first, message in cells:
            begin, *rest = wrap(message, room)
            rows += [[*first, begin], *([""] * len(first) + [line] for line in rest)]
        return text_table(rows, self.header)

    def _repr_html_(self) -> str:
        return super()._repr_html_() if self.hazards else "<p>no hazard found</p>"


def _number(value: float, zero: str = "") -> str:
    """1234567 -> "1,234,567"; 31.98765 -> "31.99"; 0 -> ``zero``."""
    return number_text(value, digits=4) if value else zero
