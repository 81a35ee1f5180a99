"""Promises about counters that a kernel must keep, such as "at most 4 sectors per load request"."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .metric_names import DISTINCT_ST, READ_SECTORS, READS


@dataclass(frozen=True)
class Promise:
    """A bound on a counter: ``value`` is at most, exactly or at least ``bound``.

    Both are a metric name, a number or a function of the profile. ``advice``: what to try when it is broken.
    """

    text: str
    value: str | float | Callable
    relation: str
    bound: str | float | Callable
    advice: str = ""

    def read(self, profile: Mapping) -> tuple[float, float, bool]:
        """Counted value, bound, and whether the promise is kept."""
        value, bound = (_evaluate(side, profile) for side in (self.value, self.bound))
        kept = {"at most": value <= bound, "exactly": value == bound, "at least": value >= bound}
        return value, bound, kept[self.relation]


@dataclass(frozen=True)
class Kept:
    """A promise that was kept for one shape: what to say, and how near the bound it came (1: at it)."""

    promise: Promise
    text: str
    share: float


def at_most(
    text: str, value: str | float | Callable, bound: str | float | Callable, advice: str = ""
) -> Promise:
    """Promise that ``value`` does not exceed ``bound``."""
    return Promise(text, value, "at most", bound, advice)


def exactly(
    text: str, value: str | float | Callable, bound: str | float | Callable, advice: str = ""
) -> Promise:
    """Promise that ``value`` equals ``bound``."""
    return Promise(text, value, "exactly", bound, advice)


def at_least(
    text: str, value: str | float | Callable, bound: str | float | Callable, advice: str = ""
) -> Promise:
    """Promise that ``value`` is not below ``bound``."""
    return Promise(text, value, "at least", bound, advice)


def ratio(above: str, below: str) -> Callable[[Mapping], float]:
    """A function of a profile: one metric over another, 0 where the second is 0."""
    return lambda profile: profile[above] / profile[below] if profile[below] else 0.0


def coalesced(advice: str) -> Promise:
    """Promise that lanes read side by side: a request has at most one sector more than its bytes need."""
    needed = "course__sectors_ideal_global_op_ld.sum"
    return at_most("sectors read", READ_SECTORS, lambda p: p[needed] + p[READS], advice)


def written_sectors(profile: Mapping[str, float]) -> float:
    """Distinct sectors that the launch stores to: as many as it takes to read as much, each once."""
    return profile[DISTINCT_ST] / 32


def _evaluate(side: str | float | Callable, profile: Mapping) -> float:
    if callable(side):
        return side(profile)
    return profile[side] if isinstance(side, str) else side
