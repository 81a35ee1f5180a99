"""Parsing PTX: module level, that is variables with their initial values, functions and parameters."""

from __future__ import annotations

import struct

from .errors import UnsupportedError
from .ptx import SIZES, Function, Imm, Module, Parameter, Variable
from .ptx_body import BodyParser
from .ptx_tokens import Reader

_LINKAGE = (".visible", ".extern", ".weak", ".common")
_SPACES = (".global", ".const", ".shared", ".local")


def parse(text: str) -> Module:
    """Parse PTX. Raises UnsupportedError, naming the line, at what it cannot read."""
    return _ModuleParser(text).module()


class _ModuleParser:
    def __init__(self, text: str) -> None:
        self.reader = Reader(text)
        self.found = Module()

    def module(self) -> Module:
        """Everything up to the end of the text."""
        reader, linkage = self.reader, set()
        while word := reader.peek():
            if word in _LINKAGE:
                linkage.add(reader.take())
                continue
            if word in (".entry", ".func"):
                self.function()
            elif word in _SPACES:
                declared = variable(reader, reader.take()[1:])
                declared.extern = ".extern" in linkage
                self.found.variables[declared.name] = declared
            elif word == ".alias":
                self.alias()
            else:
                reader.skip_statement()
            linkage = set()
        return self.found

    def alias(self) -> None:
        """`.alias name, function;`"""
        self.reader.take()
        name = self.reader.take()
        self.reader.take(",")
        target = self.reader.take()
        if target in self.found.functions:
            self.found.functions[name] = self.found.functions[target]
        self.reader.accept(";")

    def function(self) -> None:
        """A function or its declaration."""
        reader = self.reader
        entry = reader.take() == ".entry"
        returns = self.parameters() if reader.peek() == "(" else []
        name = reader.take()
        parameters = self.parameters() if reader.peek() == "(" else []
        function = Function(name, entry, parameters, returns)
        while reader.peek() not in ("{", ";", ""):
            word = reader.take()
            if word.startswith(".") and (reader.peek() or ".")[0].isdigit():
                numbers = [reader.integer()]
                while reader.accept(","):
                    numbers.append(reader.integer())
                function.directives[word[1:]] = tuple(numbers)
        if reader.accept(";"):
            self.found.declared[name] = function
            return
        BodyParser(reader, function, variable, parameter).body()
        self.found.functions[name] = function

    def parameters(self) -> list[Parameter]:
        """A parenthesised list, with offsets as one structure of all would have them."""
        found: list[Parameter] = []
        offset = 0
        self.reader.take("(")
        while not self.reader.accept(")"):
            if self.reader.accept(","):
                continue
            self.reader.take(".param" if self.reader.peek() == ".param" else ".reg")
            one = parameter(self.reader)
            one.offset = -(-offset // one.align) * one.align
            offset = one.offset + one.size
            found.append(one)
        return found


def parameter(reader: Reader) -> Parameter:
    """One parameter behind its `.param`."""
    align, kind, count = 0, "b8", 1
    while reader.peek().startswith("."):
        word = reader.take()[1:]
        if word == "align":
            align = reader.integer()
        elif word in SIZES:
            kind = word
    name = reader.take()
    if reader.accept("["):
        count = 0 if reader.peek() == "]" else reader.integer()
        reader.take("]")
    return Parameter(name, kind, count * SIZES[kind], align or SIZES[kind])


# -- variables -----------------------------------------------------------------------


def variable(reader: Reader, space: str) -> Variable:
    """One variable behind its state space, with the `;` that ends it."""
    align, kind, vector = 1, "b8", 1
    while reader.peek().startswith("."):
        word = reader.take()[1:]
        if word == "align":
            align = reader.integer()
        elif word in ("v2", "v4"):
            vector = int(word[1])
        elif word in SIZES:
            kind = word
        elif word == "attribute":
            _skip_parentheses(reader)
        elif word in ("texref", "samplerref", "surfref"):
            raise UnsupportedError(f"PTX line {reader.ptx_line()}: textures and surfaces are not emulated")
    name = reader.take()
    count, extern = vector, False
    while reader.accept("["):
        if reader.accept("]"):
            count, extern = 0, True
        else:
            count *= reader.integer()
            reader.take("]")
    found = Variable(name, space, count * SIZES[kind], max(align, SIZES[kind]), extern=extern)
    if reader.accept("="):
        _initialise(reader, found, kind)
    reader.accept(";")
    return found


def _skip_parentheses(reader: Reader) -> None:
    reader.take("(")
    while not reader.accept(")"):
        reader.take()


def _initialise(reader: Reader, found: Variable, kind: str) -> None:
    data = bytearray(found.size)
    at = depth = 0
    while True:
        word = reader.take()
        if word == "{":
            depth += 1
        elif word == "}":
            depth -= 1
        elif word == "-" or word[0].isdigit():
            literal = word + reader.take() if word == "-" else word
            data[at : at + SIZES[kind]] = _bytes_of(Imm(literal).value(), kind)
            at += SIZES[kind]
        elif word != ",":
            found.pointers.append((at, *_address(reader, word)))
            at += SIZES[kind]
        if depth == 0 and reader.peek() in (";", ""):
            break
    found.data = bytes(data[: found.size])


def _address(reader: Reader, word: str) -> tuple[str, int]:
    """`generic(name)+4` or `name`: (name, offset)."""
    name = word
    if word == "generic" and reader.accept("("):
        name = reader.take()
        reader.take(")")
    elif reader.peek() == "(":
        raise UnsupportedError(
            f"PTX line {reader.ptx_line()}: {word}(...) in an initial value is not emulated"
        )
    return name, reader.offset()


def _bytes_of(value: int | float, kind: str) -> bytes:
    size = SIZES[kind]
    if isinstance(value, float):
        return struct.pack("<f" if size == 4 else "<d", value)
    return (int(value) & ((1 << 8 * size) - 1)).to_bytes(size, "little")
