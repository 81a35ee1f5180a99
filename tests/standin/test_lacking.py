"""A name the stand-in lacks says so; it never does something else."""

import pytest

from course_lib import standin as cp


def a_graph():
    stream = cp.cuda.Stream(non_blocking=True)
    stream.begin_capture()
    return stream.end_capture()


PLACES = {
    "cp.fuse": lambda: cp.fuse,
    "cp.ElementwiseKernel": lambda: cp.ElementwiseKernel,
    "cp.ReductionKernel": lambda: cp.ReductionKernel,
    "cp.get_default_memory_pool": lambda: cp.get_default_memory_pool,
    "cp.no_such_name": lambda: cp.no_such_name,
    "cp.fft": lambda: cp.fft,
    "cp.linalg.eig": lambda: cp.linalg.eig,
    "cp.random.zipf": lambda: cp.random.zipf,
    "cp.cuda.Graph.debug_dot_str": lambda: a_graph().debug_dot_str,
    "cp.cuda.nvtx": lambda: cp.cuda.nvtx,
    "cp.cuda.Stream.add_callback": lambda: cp.cuda.Stream().add_callback,
    "cp.cuda.runtime.memcpy": lambda: cp.cuda.runtime.memcpy,
}


@pytest.mark.parametrize("name", PLACES)
def test_lacking_names(name):
    with pytest.raises(AttributeError, match=rf"stand-in for CuPy has no {name}"):
        PLACES[name]()


def test_offered_names_are_listed():
    assert {"RawKernel", "cuda", "sqrt", "float32", "random"} <= set(dir(cp))
