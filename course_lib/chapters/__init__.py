"""What one chapter needs and no other: its exercises, and the functions behind its sliders and pictures."""

from importlib import import_module
from pkgutil import iter_modules

from ..exercises import Exercise


def all_exercises() -> dict[str, Exercise]:
    """Every exercise defined in a module of this package, by name. ValueError when two share a name."""
    found: dict[str, Exercise] = {}
    for module in iter_modules(__path__):
        for value in vars(import_module(f"{__name__}.{module.name}")).values():
            if isinstance(value, Exercise) and found.setdefault(value.name, value) is not value:
                raise ValueError(f"two exercises are called {value.name!r}")
    return found
