"""A memory access of a fragment's lanes, as those see it who count and check it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .address import Value
from .memory import Region


class Request(NamedTuple):
    """`width` bytes a lane at `address` + `offset` in a state space, by the instruction `site`.

    `space` is "atomic global" and the like for atomics. `values`: what is stored, where it matters;
    `region`: the array or variable that all lanes point into, None in shared and local memory.
    """

    space: str
    address: Value
    offset: int
    width: int
    site: int
    store: bool
    values: Sequence[np.ndarray] | None = None
    region: Region | None = None
