"""Splitting a fragment where its lanes disagree, and joining fragments where they meet again."""

from __future__ import annotations

import numpy as np

from .address import Address, AddressBase, Value, lanes
from .fragment import Fragment, Origin
from .lanes import LaneSet, Selector


def split(
    fragment: Fragment, mask: np.ndarray, pc: int, live: list[int], frame_live: list[list[int]]
) -> Fragment:
    """The lanes of `fragment` where `mask` holds, as a fragment of their own at `pc`.

    Only the registers in `live` (and `frame_live` of the callers' frames) are carried along.
    """
    chosen, selector = fragment.lanes.subset(np.asarray(mask))
    registers = _taken(fragment.registers, live, selector)
    frames = tuple(
        frame.with_registers(_taken(frame.registers, wanted, selector))
        for frame, wanted in zip(fragment.frames, frame_live, strict=True)
    )
    part = Fragment(fragment.chunk, chosen, registers, pc, frames)
    part.origin = Origin(fragment, selector, list(registers))
    part.spins = fragment.spins
    return part


def _taken(registers: list, live: list[int], selector: Selector) -> list:
    taken: list = [None] * len(registers)
    for number in live:
        taken[number] = _take(registers[number], selector)
    return taken


def _take(value: Value, selector: Selector) -> Value:
    if type(value) is Address:
        part = selector.take(value.base.array)
        return value if part is value.base.array else Address(AddressBase(part), value.offset)
    return selector.take(value) if isinstance(value, np.ndarray) else value


def join(fragments: list[Fragment], live: list[int], frame_live: list[list[int]]) -> Fragment:
    """Fragments at one pc (and one call depth) as a single one."""
    waiting = list(fragments)
    while len(waiting) > 1:
        family = _complete_family(waiting)
        if family is None:
            return _join(waiting, live, frame_live, None)
        waiting = [one for one in waiting if one not in family]
        waiting.append(_join(family, live, frame_live, family[0].origin))
    return waiting[0]


def _complete_family(fragments: list[Fragment]) -> list[Fragment] | None:
    """Fragments that were split from one and together are all of it."""
    families: dict[int, list[Fragment]] = {}
    for fragment in fragments:
        if fragment.origin is not None:
            families.setdefault(id(fragment.origin.registers), []).append(fragment)
    for family in families.values():
        if sum(one.lanes.count for one in family) == family[0].origin.lanes.count:
            return family
    return None


def _join(
    parts: list[Fragment], live: list[int], frame_live: list[list[int]], origin: Origin | None
) -> Fragment:
    if origin is not None:
        target = origin.lanes
        selectors = [part.origin.selector for part in parts]
    else:
        target = LaneSet.union([part.lanes for part in parts])
        selectors = [target.selector_of(part.lanes) for part in parts]
    registers: list = [None] * len(parts[0].registers)
    for number in live:
        if origin is not None and all(
            part.registers[number] is part.origin.initial[number] for part in parts
        ):
            registers[number] = origin.registers[number]
        else:
            values = [part.registers[number] for part in parts]
            registers[number] = _combined(values, parts, selectors, target)
    frames = []
    for depth, wanted in enumerate(frame_live):
        outer: list = [None] * len(parts[0].frames[depth].registers)
        for number in wanted:
            values = [part.frames[depth].registers[number] for part in parts]
            outer[number] = _combined(values, parts, selectors, target)
        frames.append(parts[0].frames[depth].with_registers(outer))
    whole = Fragment(parts[0].chunk, target, registers, parts[0].pc, tuple(frames))
    whole.origin = origin.origin if origin is not None else None
    whole.spins = min(part.spins for part in parts)
    return whole


def _combined(
    values: list[Value], parts: list[Fragment], selectors: list[Selector], target: LaneSet
) -> Value:
    first = values[0]
    if all(value is first for value in values) and np.ndim(lanes(first)) == 0:
        return first
    if all(isinstance(value, np.generic) and value.tobytes() == first.tobytes() for value in values):
        return first
    plain = [np.asarray(lanes(value)) for value in values]
    result = np.empty(target.shape, plain[0].dtype)
    for value, part, selector in zip(plain, parts, selectors, strict=True):
        selector.put(result, np.broadcast_to(value, part.lanes.shape))
    return result
