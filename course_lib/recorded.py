"""Sweeps measured on a GPU earlier, kept in `data/recorded/<gpu>/<table>.csv`.

The file begins with lines `# key: value` that say where the figures come from, then a CSV table: the columns
that vary, `median_ms`, `low_ms` and `high_ms` (first and third quartile), `n`, and `useful_bytes` or `flops`
of one launch.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from .tables import html_table, text_table

FOLDER = Path(__file__).resolve().parents[1] / "data" / "recorded"
PROVENANCE = ("gpu", "driver", "cuda", "cupy", "date", "script", "median", "spread")
TIMES = ("median_ms", "low_ms", "high_ms", "n")


@dataclass(frozen=True)
class Table:
    """One recorded sweep. `table["offset"]` is a column as an array; `meta` is the provenance."""

    name: str
    meta: Mapping[str, str]
    columns: Mapping[str, np.ndarray] = field(repr=False)

    def __post_init__(self) -> None:
        missing = [key for key in PROVENANCE if not self.meta.get(key)]
        if missing:
            raise ValueError(f"{self.name}: the header lacks {', '.join(missing)}")
        absent = [name for name in TIMES if name not in self.columns]
        if absent:
            raise ValueError(f"{self.name}: no column {', '.join(absent)}")

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.columns:
            raise KeyError(f"{self.name} has no column {name!r}; it has {', '.join(self.columns)}")
        return self.columns[name]

    def __len__(self) -> int:
        return len(self.columns["median_ms"])

    @property
    def gpu(self) -> str:
        """The GPU it was measured on."""
        return self.meta["gpu"]

    @property
    def ms(self) -> np.ndarray:
        """Medians in milliseconds, shape (rows,)."""
        return self.columns["median_ms"]

    @property
    def bandwidth(self) -> np.ndarray:
        """Useful bytes over the median time, in 10^9 bytes a second, shape (rows,)."""
        return self["useful_bytes"] / (self.ms * 1e6)

    def where(self, **values: object) -> "Table":
        """The rows in which every named column has the given value."""
        keep = np.ones(len(self), bool)
        for name, value in values.items():
            keep &= self[name] == value
        return Table(self.name, self.meta, {name: column[keep] for name, column in self.columns.items()})

    def rows(self) -> Iterator[dict[str, object]]:
        """One dictionary per row, with Python numbers and strings."""
        lists = [column.tolist() for column in self.columns.values()]
        for values in zip(*lists, strict=True):
            yield dict(zip(self.columns, values, strict=True))

    @property
    def caption(self) -> str:
        """Where the figures come from, in a line."""
        meta, runs = self.meta, self.columns["n"]
        runs = f" {runs.min()} " if np.ptp(runs) == 0 else f" {runs.min()} to {runs.max()} "
        return (
            f"recorded on {meta['gpu']}, driver {meta['driver']}, CUDA {meta['cuda']}, CuPy {meta['cupy']}, "
            f"{meta['date']}, by {meta['script']}: median {meta['median'].replace(' n ', runs)}"
        )

    @property
    def _full_caption(self) -> str:
        """The caption of the whole table, which shows the quartiles too."""
        return f"{self.caption}; spread: {self.meta['spread']}"

    def _cells(self) -> list[list[str]]:
        return [[_shown(value) for value in row.values()] for row in self.rows()]

    def __str__(self) -> str:
        return f"{self.name}: {self._full_caption}\n" + text_table(self._cells(), header=list(self.columns))

    def _repr_html_(self) -> str:
        return html_table(self._cells(), header=list(self.columns), caption=self._full_caption)


def recorded(gpu: str, name: str, folder: Path = FOLDER) -> Table:
    """Read a recorded sweep, such as ("h200", "coalescing_offset").

    Raises:
        FileNotFoundError: no such table; the message lists those there are.
        ValueError: the file lacks its provenance or a column.
    """
    path = folder / gpu.lower() / f"{name}.csv"
    if not path.exists():
        there = sorted(str(p.relative_to(folder).with_suffix("")) for p in folder.glob("*/*.csv"))
        raise FileNotFoundError(
            f"nothing recorded as {gpu.lower()}/{name}; there are: {', '.join(there) or 'none'}"
        )
    return read(path)


def read(path: Path) -> Table:
    """Read one file of the format above."""
    lines = path.read_text(encoding="utf-8").splitlines()
    head = [line[1:] for line in lines if line.startswith("#")]
    meta = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in head)}
    rows = list(csv.reader(line for line in lines if line and not line.startswith("#")))
    if len(rows) < 2:
        raise ValueError(f"{path.name}: no rows")
    cells = zip(*rows[1:], strict=True)
    return Table(
        path.stem, meta, {name: _column(values) for name, values in zip(rows[0], cells, strict=True)}
    )


def write(path: Path, rows: Sequence[Mapping[str, object]], meta: Mapping[str, str]) -> Table:
    """Write a table with its provenance and read it back; `rows` share their keys, numbers keep 6 digits.

    Raises:
        ValueError: a provenance key is missing, or there are no rows.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    head = [f"# {key}: {' '.join(str(value).split())}" for key, value in meta.items()]
    names = list(rows[0]) if rows else []
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(f"{line}\n" for line in head)
        table = csv.writer(file, lineterminator="\n")
        table.writerow(names)
        table.writerows([_written(row[name]) for name in names] for row in rows)
    return read(path)


def _column(values: Sequence[str]) -> np.ndarray:
    for kind in (int, float):
        try:
            return np.array([kind(value) for value in values])
        except ValueError:
            continue
    return np.array(values)


def _written(value: object) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    if "\n" in text:
        raise ValueError(f"a cell cannot hold a line break: {text!r}")
    return text


def _shown(value: object) -> str:
    return (
        f"{value:.5g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
    )
