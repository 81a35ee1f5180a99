"""Pointers kept in device memory lead where they led (CUDA C++ Programming Guide, "Device Memory"): an
allocation keeps its address until it is freed. And `profile` leaves memory as it was."""

import gc

import numpy as np
import pytest

from course_lib.emulator import RawModule
from course_lib.emulator.errors import MemoryAccessError
from course_lib.profile import profile

SOURCE = r"""
__device__ float *kept;
__device__ int calls;
extern "C" __global__ void keep(const float *first, float *second) { kept = second + 1; ++calls; }
extern "C" __global__ void table(float **rows, float *a, float *b) { rows[0] = b; rows[1] = a; }
extern "C" __global__ void follow(float *out) { out[0] = kept[0]; kept[1] = 9; ++calls; }
extern "C" __global__ void add_rows(float *out, float **rows) {
    int i = threadIdx.x;
    out[i] = rows[0][i] + 10 * rows[1][i];
}
extern "C" __global__ void behind(float *out) { out[out == nullptr ? 0 : 1 << 20] = 1; }
"""


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


@pytest.fixture
def module() -> RawModule:
    """A module with variables of its own in every test."""
    found = RawModule(code=SOURCE)
    for name in ("kept", "calls"):
        found.get_global(name)[:] = 0
    return found


def launch(module: RawModule, name: str, *arguments: np.ndarray, block: int = 1) -> None:
    module.get_function(name)((1,), (block,), arguments)


def test_a_variable_keeps_a_pointer(module: RawModule) -> None:
    other, target, out = floats(1, 2, 3), floats(4, 5, 6), floats(0)
    launch(module, "keep", other, target)
    launch(module, "follow", out)
    assert out[0] == 5
    assert target.tolist() == [4, 5, 9]


def test_a_table_of_pointers(module: RawModule) -> None:
    a, b, rows = floats(1, 2), floats(3, 4), np.zeros(2, np.uint64)
    launch(module, "table", rows, a, b)
    out = floats(0, 0)
    launch(module, "add_rows", out, rows, block=2)
    assert out.tolist() == [3 + 10, 4 + 20]


def test_a_pointer_to_an_array_that_is_gone(module: RawModule) -> None:
    target = floats(4, 5, 6)
    launch(module, "keep", target, target)
    del target
    gc.collect()
    with pytest.raises(MemoryAccessError):
        launch(module, "follow", floats(0))


def test_addresses_begin_anew_where_none_is_kept(module: RawModule) -> None:
    """So messages are the same on every run, whatever ran before."""
    told = []
    for _ in range(2):
        alive = floats(1, 2, 3)
        with pytest.raises(MemoryAccessError) as caught:
            launch(module, "behind", alive)
        told.append((str(caught.value), alive))
    assert told[0][0] == told[1][0]


def test_profile_changes_neither_variables_nor_arrays(module: RawModule) -> None:
    other, target, out = floats(1, 2, 3), floats(4, 5, 6), floats(0)
    launch(module, "keep", other, target)
    before = module.get_global("kept").copy()
    for _ in range(2):
        profile(module.get_function("keep"), (1,), (1,), (target, other))
        profile(module.get_function("follow"), (1,), (1,), (out,))
    assert module.get_global("kept").tolist() == before.tolist()
    assert module.get_global("calls").view(np.int32)[0] == 1
    assert target.tolist() == [4, 5, 6]
    assert out[0] == 0


def test_profile_works_on_one_copy_of_memory_that_two_arguments_share(module: RawModule) -> None:
    """`table` stores pointers into memory that is among its targets: copies overlap as the arrays do."""
    whole = np.zeros(8, np.uint64)
    arrays = whole[:4], whole[4:].view("f4"), whole.view("f4")
    counted = profile(module.get_function("table"), (1,), (1,), arrays)
    assert counted["l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"] == 2
    assert not whole.any()
