"""Instructions run as the emulator runs them: floating-point warnings off."""

import numpy as np
import pytest

from course_lib.emulator.isa import DTYPES, TABLE


@pytest.fixture(autouse=True)
def _quiet_numpy():
    with np.errstate(all="ignore"):
        yield


@pytest.fixture
def run():
    """run(opcode, *operands): lists and numbers take the operand types of the instruction."""

    def call(opcode, *operands):
        instruction = TABLE[opcode]
        typed = [typed_operand(x, code) for x, code in zip(operands, instruction.operands, strict=True)]
        return instruction.function(*typed)

    return call


def typed_operand(x, code):
    """Python integers wrap into their type; NumPy values must have it already."""
    dtype = DTYPES[code]
    if isinstance(x, np.ndarray | np.generic):
        assert x.dtype == dtype
        return x
    if dtype.kind in "ui":
        mask = 2 ** (8 * dtype.itemsize) - 1
        wrapped = [int(v) & mask for v in np.atleast_1d(np.array(x, object))]
        array = np.array(wrapped, f"u{dtype.itemsize}").view(dtype)
    else:
        array = np.atleast_1d(np.array(x, dtype))
    return array if isinstance(x, list | tuple) else array[0]
