"""Where variables live: shared memory, local memory (a stack of frames), and kernel parameters."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .blocks import callee
from .errors import LaunchError
from .memory import STATIC_START, behind
from .opcodes import family
from .ptx import Function, Instruction, Mem, Module, Operand, Sym, Variable, Vec

Symbols = dict[str, tuple[str, int]]
"""Variable name -> (state space, offset). Global and constant variables get their address at the launch."""

STACK_GRAIN = 1024
"""Bytes of local memory per thread to begin with where functions call themselves (grows as needed)."""


@dataclass
class Layout:
    """Offsets of all variables that a kernel can reach; `variables` are those it uses.

    `local` maps each function to the variables in its frame, `frames` to the bytes of the frame, and
    `local_size` is what a thread needs: the deepest chain of calls, or STACK_GRAIN for recursion.
    """

    functions: list[Function]
    variables: list[Variable]
    symbols: Symbols = field(default_factory=dict)
    local: dict[str, Symbols] = field(default_factory=dict)
    frames: dict[str, int] = field(default_factory=dict)
    static_shared: int = 0
    local_size: int = 0
    recursive: bool = False


def lay_out(module: Module, functions: list[Function]) -> Layout:
    """Place the variables of `functions`, the kernel first, and of the module as far as they use them."""
    used = _symbols_used(functions)
    everything = [*module.variables.values(), *(v for f in functions for v in f.variables)]
    found = Layout(functions, _with_targets(everything, used))
    _place_shared(found)
    for function in functions:
        found.local[function.name], found.frames[function.name] = _frame(function)
    for variable in found.variables:
        if variable.space in ("global", "const"):
            found.symbols[variable.name] = (variable.space, 0)
    for parameter in functions[0].parameters:
        found.symbols[parameter.name] = ("param", parameter.offset)
    calls = {function.name: _calls(function) & set(found.frames) for function in functions}
    depth = _deepest(functions[0].name, calls, found.frames, ())
    found.recursive = depth is None
    found.local_size = max(STACK_GRAIN, 2 * sum(found.frames.values())) if depth is None else depth
    return found


def _symbols_used(functions: list[Function]) -> set[str]:
    return {
        name
        for function in functions
        for item in function.body
        if isinstance(item, Instruction)
        for operand in item.operands
        for name in _names(operand)
    }


def _names(operand: Operand) -> list[str]:
    if isinstance(operand, Mem):
        return _names(operand.base)
    if isinstance(operand, Vec):
        return [name for item in operand.items for name in _names(item)]
    return [operand.name] if isinstance(operand, Sym) else []


def _with_targets(variables: list[Variable], used: set[str]) -> list[Variable]:
    """Variables used, and those that their initial values point to."""
    by_name = {variable.name: variable for variable in variables}
    kept = {name for name in by_name if name in used}
    waiting = list(kept)
    while waiting:
        for _, name, _ in by_name[waiting.pop()].pointers:
            if name in by_name and name not in kept:
                kept.add(name)
                waiting.append(name)
    return [variable for variable in variables if variable.name in kept]


def _place_shared(found: Layout) -> None:
    """Static arrays one after the other; every `extern` array starts behind them."""
    shared = [variable for variable in found.variables if variable.space == "shared"]
    for variable in shared:
        if not variable.extern:
            start = _aligned(found.static_shared, variable.align)
            found.symbols[variable.name] = ("shared", start)
            found.static_shared = start + variable.size
    dynamic = [variable for variable in shared if variable.extern]
    if dynamic:
        found.static_shared = _aligned(found.static_shared, max(v.align for v in dynamic))
        found.symbols |= {variable.name: ("shared", found.static_shared) for variable in dynamic}


def _frame(function: Function) -> tuple[Symbols, int]:
    places: Symbols = {}
    size = 0
    for variable in function.variables:
        if variable.space == "local":
            start = _aligned(size, variable.align)
            places[variable.name] = ("local", start)
            size = start + variable.size
    return places, _aligned(size, 16)


def _aligned(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment


def _calls(function: Function) -> set[str]:
    return {
        callee(item)
        for item in function.body
        if isinstance(item, Instruction) and family(item.opcode) == "call"
    }


def _deepest(
    name: str, calls: dict[str, set[str]], frames: dict[str, int], path: tuple[str, ...]
) -> int | None:
    """Bytes of the deepest chain of frames from `name` down; None where a function may call itself."""
    if name in path:
        return None
    below = [_deepest(other, calls, frames, (*path, name)) for other in calls[name]]
    return None if None in below else frames[name] + max(below, default=0)


# -- global and constant variables -------------------------------------------------


def static_variables(module: Module) -> list[Variable]:
    """Every global and constant variable of the module and its functions."""
    everything = [*module.variables.values(), *(v for f in module.functions.values() for v in f.variables)]
    return [variable for variable in everything if variable.space in ("global", "const")]


def static_addresses(variables: list[Variable]) -> dict[str, int]:
    """Their addresses: equal in every launch of every kernel of the module, so pointers to them stay good."""
    found, start = {}, STATIC_START
    for variable in variables:
        found[variable.name] = start
        start = behind(start + variable.size)
    return found


def initial_bytes(variable: Variable, addresses: dict[str, int]) -> np.ndarray:
    """Initial value. Addresses of functions are 0: calls through pointers are refused at load."""
    try:
        data = (
            np.frombuffer(variable.data, np.uint8).copy() if variable.data else np.zeros(variable.size, "B")
        )
    except MemoryError:
        raise LaunchError(
            f"no memory here for the {variable.size} bytes of variable {variable.name}"
        ) from None
    for at, name, offset in variable.pointers:
        pointer = addresses[name] + offset if name in addresses else 0
        data[at : at + 8] = np.frombuffer(pointer.to_bytes(8, "little"), np.uint8)
    return data
