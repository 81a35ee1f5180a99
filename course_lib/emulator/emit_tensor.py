"""Matrix instructions of a warp and asynchronous copies; what of that family is not emulated."""

from __future__ import annotations

from . import asynchronous, matrix, wmma
from .emit import Emitter, emits
from .emit_mbarrier import emit_tie
from .isa.matrix_form import access_form, multiply_form, register_code
from .opcodes import space_of
from .ptx import Imm, Instruction, Mem, Operand, Reg, Vec

_REFUSED = {
    "wgmma": "matrix instructions of a warp group",
    "setmaxnreg": "registers that move between warps",
    "tensormap": "tensor memory access (TMA)",
    "mapa": "thread block clusters",
    "getctarank": "thread block clusters",
    "clusterlaunchcontrol": "thread block clusters",
    "multimem": "memory of several GPUs",
    "tcgen05": "the tensor cores of later GPUs",
}


@emits(*_REFUSED)
def emit_refused(emitter: Emitter, instruction: Instruction, site: int) -> None:
    """Say what the instruction belongs to."""
    name = instruction.opcode.split(".")[0]
    raise emitter.refuse(f"PTX instruction {instruction.opcode} ({_REFUSED[name]})")


def _items(operand: Operand) -> list[Operand]:
    return list(operand.items) if isinstance(operand, Vec) else [operand]


def _read(emitter: Emitter, operand: Operand, code: str) -> str:
    """A list of values for a brace of registers."""
    return f"[{', '.join(emitter.read(item, code) for item in _items(operand))}]"


def _call(emitter: Emitter, function: object, name: str, arguments: str) -> str:
    return f"{emitter.function(function, name)}(F, {arguments})"


def _results(emitter: Emitter, targets: list[Operand], call: str, code: str) -> None:
    """Bind the destinations to the list that a call gives."""
    variables = [emitter.fresh() for _ in targets]
    emitter.lines.append(f"{', '.join(variables)}, = {call}")
    for target, variable in zip(targets, variables, strict=True):
        emitter.write(target, variable, code)


def _memory(emitter: Emitter, instruction: Instruction, operand: Operand) -> str:
    """State space, address and offset of a memory operand, as arguments."""
    if not isinstance(operand, Mem) or operand.coordinates or "shared::cluster" in instruction.opcode:
        raise emitter.refuse(f"PTX instruction {instruction.opcode}")
    base, offset = emitter.address_of(operand)
    return f'"{space_of(instruction.opcode)}", {base}, {offset}'


# -- matrices ------------------------------------------------------------------------


def _multiply(emitter: Emitter, instruction: Instruction, site: int) -> None:
    form = multiply_form(instruction.opcode)
    if form is None or len(instruction.operands) != 4:
        raise emitter.refuse(f"PTX instruction {instruction.opcode}")
    counts = [len(_items(operand)) for operand in instruction.operands]
    if counts != [form.d.registers, form.a.registers, form.b.registers, form.c.registers]:
        raise emitter.refuse(f"{instruction.opcode} with {counts} registers")
    target, *sources = instruction.operands
    values = ", ".join(
        _read(emitter, operand, register_code(element))
        for operand, element in zip(sources, form.types[1:], strict=True)
    )
    what = emitter.function(form, "form " + instruction.opcode)
    call = _call(emitter, matrix.multiply_add, "multiply_add", f"{what}, {values}, {site}")
    _results(emitter, _items(target), call, register_code(form.types[0]))


@emits("mma")
def emit_mma(emitter: Emitter, instruction: Instruction, site: int) -> None:
    """mma.sync."""
    _multiply(emitter, instruction, site)


@emits("wmma")
def emit_wmma(emitter: Emitter, instruction: Instruction, site: int) -> None:
    """wmma.load, wmma.mma and wmma.store."""
    kind = instruction.opcode.split(".")[1]
    if kind == "mma":
        _multiply(emitter, instruction, site)
        return
    access = access_form(instruction.opcode)
    if access is None:
        raise emitter.refuse(f"PTX instruction {instruction.opcode}")
    first, second, *stride = instruction.operands
    registers, memory = (first, second) if kind == "load" else (second, first)
    if len(_items(registers)) != access.layout.registers:
        raise emitter.refuse(f"{instruction.opcode} with {len(_items(registers))} registers")
    place = _memory(emitter, instruction, memory)
    step = emitter.read(stride[0] if stride else Imm(str(access.stride)), "u32")
    what, code = emitter.function(access, "access " + instruction.opcode), register_code(access.element)
    if kind == "load":
        call = _call(emitter, wmma.load_fragment, "load_fragment", f"{what}, {place}, {step}, {site}")
        _results(emitter, _items(registers), call, code)
    else:
        values = _read(emitter, registers, code)
        emitter.lines.append(
            _call(
                emitter, wmma.store_fragment, "store_fragment", f"{what}, {place}, {values}, {step}, {site}"
            )
        )


def _matrices(emitter: Emitter, instruction: Instruction, registers: Operand) -> tuple[int, bool]:
    """(number of 8x8 matrices, transposed) of ldmatrix and stmatrix."""
    parts = instruction.opcode.split(".")
    count = next((int(part[1:]) for part in parts if part in ("x1", "x2", "x4")), 0)
    if "m8n8" not in parts or parts[-1] != "b16" or len(_items(registers)) != count:
        raise emitter.refuse(f"PTX instruction {instruction.opcode}")
    return count, "trans" in parts


@emits("ldmatrix")
def emit_ldmatrix(emitter: Emitter, instruction: Instruction, site: int) -> None:
    """ldmatrix of 16-bit elements."""
    registers, memory = instruction.operands
    count, transposed = _matrices(emitter, instruction, registers)
    place = _memory(emitter, instruction, memory)
    call = _call(emitter, matrix.load_matrices, "load_matrices", f"{place}, {count}, {transposed}, {site}")
    _results(emitter, _items(registers), call, "u32")


@emits("stmatrix")
def emit_stmatrix(emitter: Emitter, instruction: Instruction, site: int) -> None:
    """stmatrix of 16-bit elements."""
    memory, registers = instruction.operands
    _, transposed = _matrices(emitter, instruction, registers)
    place, values = _memory(emitter, instruction, memory), _read(emitter, registers, "u32")
    emitter.lines.append(
        _call(emitter, matrix.store_matrices, "store_matrices", f"{place}, {values}, {transposed}, {site}")
    )


@emits("movmatrix")
def emit_movmatrix(emitter: Emitter, instruction: Instruction, site: int) -> None:
    """movmatrix.sync.aligned.m8n8.trans.b16."""
    target, source = instruction.operands
    if not instruction.opcode.endswith("m8n8.trans.b16"):
        raise emitter.refuse(f"PTX instruction {instruction.opcode}")
    call = _call(
        emitter, matrix.transpose_matrix, "transpose_matrix", f"{emitter.read(source, 'u32')}, {site}"
    )
    emitter.write(target, emitter.assign(call), "u32")


# -- asynchronous copies ----------------------------------------------------------------


@emits("cp")
def emit_cp(emitter: Emitter, instruction: Instruction, site: int) -> None:
    """cp.async without `bulk`: copies, groups and waits."""
    parts = instruction.opcode.split(".")
    if parts[:3] == ["cp", "async", "commit_group"]:
        emitter.lines.append(f"{emitter.function(asynchronous.commit_group, 'commit_group')}(F)")
    elif parts[:3] == ["cp", "async", "wait_all"]:
        emitter.lines.append(_call(emitter, asynchronous.wait_group, "wait_group", "None"))
    elif parts[:3] == ["cp", "async", "wait_group"]:
        emitter.lines.append(
            _call(emitter, asynchronous.wait_group, "wait_group", str(_number(instruction.operands[0])))
        )
    elif parts[:2] == ["cp", "async"] and parts[2] in ("ca", "cg"):
        _copy(emitter, instruction, parts[2], site)
    elif parts[:4] == ["cp", "async", "mbarrier", "arrive"]:
        emit_tie(emitter, instruction, site)
    else:
        raise emitter.refuse(f"PTX instruction {instruction.opcode} ({_REFUSED['tensormap']})")


def _number(operand: Operand) -> int:
    assert isinstance(operand, Imm)
    return int(operand.value())


def _copy(emitter: Emitter, instruction: Instruction, cache: str, site: int) -> None:
    target, source, size_operand, *more = instruction.operands
    if "L2::cache_hint" in instruction.opcode:
        more = more[:-1]
    if not isinstance(target, Mem) or not isinstance(source, Mem) or "shared::cluster" in instruction.opcode:
        raise emitter.refuse(f"PTX instruction {instruction.opcode}")
    size, amount = _number(size_operand), "None"
    if more and isinstance(more[0], Reg) and emitter.types.get(more[0].name) == "pred":
        ignored = emitter.function(asynchronous.ignored, "ignored")
        amount = emitter.assign(f"{ignored}({emitter.read(more[0], 'pred')}, {size})")
    elif more:
        amount = emitter.read(more[0], "u32")
    places = ", ".join(
        f"{base}, {offset}" for base, offset in (emitter.address_of(target), emitter.address_of(source))
    )
    arguments = f'{places}, {size}, {amount}, "{cache}", {site}'
    emitter.lines.append(_call(emitter, asynchronous.start_copy, "start_copy", arguments))
