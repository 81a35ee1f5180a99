"""Warp by Warp: the library behind the notebooks.

What a notebook uses: `cp` (CuPy, or its stand-in without a GPU), `profile` (counts), `occupancy`, `roofline`,
`device`, `benchmark` (times), `explore` (sliders), `predict` and `reveal`, `check` (exercises), `doctor`.

Where things are:

* `emulator/` executes PTX and counts; `standin/` is CuPy's interface on top of it; `backend` chooses between
  CuPy and the stand-in.
* `model`, `roofline`, `occupancy`, `timeline`, `rates`, `gpus`: what follows from counts, for a named GPU.
* `points`, `sweeps`, `record`, `recorded`, `timing`: launches measured on a GPU, tables in `data/recorded`.
* `report`, `tables`, `pictures/`, `labels`, `evidence`, `agreement`: how results are shown.
  `report.PLAIN_NAMES` has the one name of each counter.
* `exercises`, `promises`, `predictions`, `sliders`: what the reader does.
* `chapters/`: what belongs to one chapter; `chapters.course_map` is the list of them.

Every public name is loaded when it is first used, so `import course_lib` costs nothing.
"""

import sys
from importlib import import_module
from types import ModuleType

# public name -> the module that defines it under that name
_EXPORTS = {
    "cp": "backend",
    "profile": "profile",
    "benchmark": "timing",
    "occupancy": "occupancy",
    "roofline": "roofline",
    "device": "gpus",
    "doctor": "doctor",
    "explore": "sliders",
    "predict": "predictions",
    "reveal": "predictions",
    "check": "exercises",
}
__all__ = list(_EXPORTS)


class _Package(ModuleType):
    """The package itself. `profile` is a function that lives in a module of the same name: importing that
    module must not put the module in the function's place, whichever is asked for first."""

    def __setattr__(self, name: str, value: object) -> None:
        if name in _EXPORTS and isinstance(value, ModuleType) and name == _EXPORTS[name]:
            value = getattr(value, name)
        super().__setattr__(name, value)


def __getattr__(name: str) -> object:
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_EXPORTS[name]}"), name)
    setattr(sys.modules[__name__], name, value)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_EXPORTS})


sys.modules[__name__].__class__ = _Package
