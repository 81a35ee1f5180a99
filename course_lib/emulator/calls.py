"""Arguments and results of device functions: `.param` accesses become moves between registers.

A `.param` variable of a call has no address a kernel could use, so it is kept as
registers: one per `grain` bytes, the narrowest piece in which either side of the call
moves it (the PTX ISA lets the caller store what the callee loads at another width).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from .blocks import callee
from .opcodes import family
from .ptx import SIZES, Function, Instruction, Label, Mem, Operand, Parameter, Reg, Sym, Vec

Place = tuple[str, str, int]
"""(function, "in" or "out", index): one parameter or result of a device function."""


def lower_parameters(functions: list[Function]) -> None:
    """Rewrite the calls, returns and `.param` accesses of all functions a kernel may run, in place."""
    places = {function.name: _places(function, functions) for function in functions}
    grains: dict[Place, int] = {}
    for function in functions:
        for item, memory in _accesses(function, places[function.name]):
            place = places[function.name][memory.base.name]  # type: ignore[union-attr]
            grains[place] = min(grains.get(place, 8), SIZES[item.opcode.split(".")[-1]])
    for function in functions:
        _replace_accesses(function, places[function.name], grains)
    for function in functions:
        _declare_results(function, {other.name: other for other in functions})
    for function in functions:
        function.body = [_with_registers(function, item) for item in function.body]


def _places(function: Function, functions: list[Function]) -> dict[str, Place]:
    """Which parameter of which function each `.param` name stands for."""
    known = {other.name for other in functions}
    found: dict[str, Place] = {}
    if not function.entry:
        for kind, declared in (("in", function.parameters), ("out", function.returns)):
            found |= {parameter.name: (function.name, kind, k) for k, parameter in enumerate(declared)}
    for item in function.body:
        if isinstance(item, Instruction) and family(item.opcode) == "call":
            name = callee(item)
            place = name if name in known else f"{function.name}:{item.ptx_line}"
            for kind, names in zip(("out", "in"), _variables(item), strict=True):
                found |= {variable: (place, kind, k) for k, variable in enumerate(names)}
    return found


def _variables(call: Instruction) -> tuple[list[str], list[str]]:
    """Names of the `.param` variables a call gets its results in and passes."""
    at = next((k for k, operand in enumerate(call.operands) if isinstance(operand, Sym | Reg)), 0)
    before, after = call.operands[:at], call.operands[at + 1 : at + 2]
    return _names(before), _names(after)


def _names(operands: list[Operand]) -> list[str]:
    return [item.name for operand in operands if isinstance(operand, Vec) for item in operand.items]


def _accesses(function: Function, places: dict[str, Place]) -> Iterator[tuple[Instruction, Mem]]:
    """Loads and stores of `.param` variables that belong to calls."""
    for item in function.body:
        if isinstance(item, Instruction) and item.opcode.startswith(("ld.param", "st.param")):
            memory = item.operands[0 if item.opcode.startswith("st") else 1]
            if isinstance(memory, Mem) and isinstance(memory.base, Sym) and memory.base.name in places:
                yield item, memory


def _replace_accesses(function: Function, places: dict[str, Place], grains: dict[Place, int]) -> None:
    moves = {
        id(item): _moves(function, item, memory, grains[places[memory.base.name]])  # type: ignore[union-attr]
        for item, memory in _accesses(function, places)
    }
    body: list[Instruction | Label] = []
    for item in function.body:
        body += moves.get(id(item), [item])
    function.body = body


def _declare_results(function: Function, functions: dict[str, Function]) -> None:
    """Parts of a result that the caller reads and the callee never sets (padding, say) exist there too."""
    for item in function.body:
        called = functions.get(callee(item)) if isinstance(item, Instruction) else None
        if called is None or family(item.opcode) != "call":
            continue
        for variable, declared in zip(_variables(item)[0], called.returns, strict=False):
            for register in _registers(function, [variable]).items:
                inside = f"{declared.name}@{register.name.rpartition('@')[2]}"
                called.registers.setdefault(inside, function.registers[register.name])


def _moves(function: Function, item: Instruction, memory: Mem, grain: int) -> list[Instruction]:
    """One `ld.param` or `st.param` as `param.get` or `param.put`, an instruction per element."""
    storing = item.opcode.startswith("st")
    kind = item.opcode.split(".")[-1]
    other = item.operands[1 if storing else 0]
    moves = []
    for k, element in enumerate(other.items if isinstance(other, Vec) else (other,)):
        first = memory.offset + k * SIZES[kind]
        names = [f"{memory.base.name}@{first + at}" for at in range(0, SIZES[kind], grain)]  # type: ignore[union-attr]
        for name in names:
            function.registers[name] = f"b{8 * grain}"
        pieces: Operand = Reg(names[0]) if len(names) == 1 else Vec(tuple(Reg(name) for name in names))
        opcode = f"param.{'put' if storing else 'get'}.{kind}"
        operands = [pieces, element] if storing else [element, pieces]
        moves.append(replace(item, opcode=opcode, operands=operands))
    return moves


def _with_registers(function: Function, item: Instruction | Label) -> Instruction | Label:
    """A `call` or `ret` that names the registers it passes on."""
    if isinstance(item, Label) or family(item.opcode) not in ("call", "ret"):
        return item
    if family(item.opcode) == "ret":
        results = _registers(function, [parameter.name for parameter in function.returns])
        return replace(item, operands=[results])
    operands: list[Operand] = []
    for operand in item.operands:
        if isinstance(operand, Vec):
            names = [piece.name for piece in operand.items]  # type: ignore[union-attr]
            function.call_positions.update({name: k for k, name in enumerate(names)})
            operand = _registers(function, names)
        operands.append(operand)
    return replace(item, operands=operands)


def _registers(function: Function, names: list[str]) -> Vec:
    """The registers of `.param` variables, in the order of the variables."""
    pieces: dict[str, list[Reg]] = {name: [] for name in names}
    for register in function.registers:
        pieces.get(register.rpartition("@")[0], []).append(Reg(register))
    return Vec(tuple(register for name in names for register in pieces[name]))


def passed(
    caller: Function, names: list[str], callee: Function, declared: list[Parameter]
) -> list[tuple[str, str]]:
    """(caller's register, callee's register) of every piece that both sides of a call use."""
    pairs = []
    for name in names:
        variable, _, offset = name.rpartition("@")
        inside = f"{declared[caller.call_positions[variable]].name}@{offset}"
        if inside in callee.registers:
            pairs.append((name, inside))
    return pairs
