"""How well modelled times agree with recorded ones: each row's ratio, and every pair in the wrong order.

`overview()` states the error of the model over all recorded sweeps.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from . import standin
from .gpus import DEFAULT, Gpu
from .model import ModelledTime, modelled_time, scaled
from .points import Point, Sweep
from .profile import Profile, profile
from .recorded import Table, recorded
from .sweeps import all_sweeps, sweep
from .tables import html_table, text_table


@dataclass(frozen=True)
class Agreement:
    """Recorded and modelled milliseconds of the same launches, in the order of the table."""

    labels: tuple[str, ...]
    recorded_ms: np.ndarray
    modelled_ms: np.ndarray
    limiters: tuple[str, ...]
    caption: str

    @property
    def ratio(self) -> np.ndarray:
        """Modelled over recorded, shape (rows,): 1 is exact, below 1 the model is faster than the GPU."""
        return self.modelled_ms / self.recorded_ms

    def inversions(self, margin: float = 0.1) -> list[tuple[str, str]]:
        """Pairs (faster, slower) of the record, `margin` or more apart, that the model puts the other way."""
        wrong = []
        for i, fast in enumerate(self.labels):
            for j, slow in enumerate(self.labels):
                apart = self.recorded_ms[i] * (1 + margin) < self.recorded_ms[j]
                if apart and self.modelled_ms[i] > self.modelled_ms[j] * (1 + 1e-9):
                    wrong.append((fast, slow))
        return wrong

    def rows(self) -> list[tuple[str, str, str, str, str]]:
        """(launch, recorded ms, modelled ms, ratio, limiter) of each row."""
        columns = (self.labels, self.recorded_ms, self.modelled_ms, self.ratio, self.limiters)
        return [
            (label, f"{was:.4g}", f"{model:.4g}", f"{ratio:.2f}", limiter)
            for label, was, model, ratio, limiter in zip(*columns, strict=True)
        ]

    def __str__(self) -> str:
        return text_table(self.rows(), header=HEADER)

    def _repr_html_(self) -> str:
        return html_table(self.rows(), header=HEADER, caption=self.caption)


@dataclass(frozen=True)
class Overview:
    """The model's error on every sweep that was recorded: one `Agreement` each, by name."""

    found: Mapping[str, Agreement]
    gpu: str

    def rows(self) -> list[tuple[str, str, str, str, str, str]]:
        """(sweep, launches, median, lowest and highest ratio, pairs in the wrong order) of each sweep."""
        return [
            (
                name,
                f"{len(found.ratio)}",
                *(f"{pick(found.ratio):.2f}" for pick in (np.median, np.min, np.max)),
                f"{len(found.inversions())}",
            )
            for name, found in self.found.items()
        ]

    def __str__(self) -> str:
        return text_table(self.rows(), header=OVERVIEW)

    def _repr_html_(self) -> str:
        caption = f"modelled over recorded time, {self.gpu}; a pair counts if recorded 10 % apart"
        return html_table(self.rows(), header=OVERVIEW, caption=caption)


OVERVIEW = ("sweep", "launches", "median", "lowest", "highest", "wrong pairs")
HEADER = ("launch", "recorded ms", "modelled ms", "modelled / recorded", "limited by")


def compare(table: Table, modelled: Sequence[ModelledTime]) -> Agreement:
    """Set the rows of a recorded table beside modelled times of the same launches, in the same order.

    Library calls, which nothing is modelled for, are the last rows of a table and left out.
    """
    varying = [name for name in table.columns if name not in _FIXED]
    labels = [" ".join(f"{name}={row[name]}" for name in varying) for row in table.rows()][: len(modelled)]
    return Agreement(
        labels=tuple(labels),
        recorded_ms=table.ms[: len(modelled)],
        modelled_ms=np.array([found.ms for found in modelled]),
        limiters=tuple(found.limiter for found in modelled),
        caption=f"modelled for {modelled[0].gpu}; {table.caption}",
    )


_FIXED = ("median_ms", "low_ms", "high_ms", "n", "useful_bytes", "flops")


def overview(names: Collection[str] = (), gpu: str = DEFAULT) -> Overview:
    """The model's error on the sweeps of these names, or on all, as far as they were recorded on the GPU."""
    found = {}
    for chosen in all_sweeps():
        if chosen.small and (not names or chosen.name in names):
            try:
                table = recorded(gpu, chosen.name)
            except FileNotFoundError:
                continue
            found[chosen.name] = compare(table, modelled_sweep(chosen.name, gpu))
    return Overview(found, gpu)


@cache
def modelled_sweep(name: str, gpu: str | Gpu = DEFAULT) -> tuple[ModelledTime, ...]:
    """Modelled times of every launch of a recorded sweep, from counts of the small size, scaled up."""
    chosen = sweep(name)
    pairs = zip(counted_sweep(name), chosen.points(chosen.small), strict=True)
    return tuple(modelled_time(counts, gpu, cold=not point.warm) for counts, point in pairs)


@cache
def counted_sweep(name: str) -> tuple[Mapping[str, float], ...]:
    """Counts of every launch of a sweep at its recorded size, from those of the small size, scaled up."""
    chosen = sweep(name)
    return tuple(counted_point(chosen, point) for point in chosen.points(chosen.small))


def counted_point(chosen: Sweep, point: Point) -> dict[str, float]:
    """Counts at the recorded size of one launch of the small size."""
    ratio = chosen.size / chosen.small
    return scaled(count_point(point), *(ratio**power for power in chosen.growth))


def count_point(point: Point) -> Profile:
    """The emulator's profile of one launch of a sweep."""
    args = point.arguments(standin)
    return profile(point.compiled(standin), point.grid, point.block, args, point.shared)
