"""The launches behind every recorded table, at the size that is recorded and at any smaller one.

One description serves three uses: `course_lib.record` times the launches on a GPU, tests run small ones on
the emulator, and notebooks model the time of what was recorded. `points` has the words of a description;
what is described, in `rates` and in `chapters/*_sweeps.py`, knows nothing of this list of it.
"""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from . import chapters, rates
from .points import Sweep


def sweep(name: str) -> Sweep:
    """The sweep of that name. Raises KeyError that lists them."""
    every = all_sweeps()
    for found in every:
        if found.name == name:
            return found
    raise KeyError(f"no sweep {name!r}; there are {', '.join(found.name for found in every)}")


@cache
def all_sweeps() -> tuple[Sweep, ...]:
    """The sweeps of `rates` and of every `chapters/*_sweeps.py`."""
    found = [*rates.SWEEPS]
    for module in iter_modules(chapters.__path__):
        if module.name.endswith("_sweeps"):
            found += import_module(f"{chapters.__name__}.{module.name}").SWEEPS
    return tuple(found)
