"""Kernels from `data/ptx/`, as on a machine without NVIDIA's compiler."""

import numpy as np
import pytest

from course_lib.emulator import RawKernel, stored
from course_lib.emulator import compile as compiling
from course_lib.emulator.errors import UnsupportedError
from course_lib.profile import profile

from . import h200


@pytest.fixture
def no_compiler(tmp_path, monkeypatch):
    """Keep what is compiled until `leave()` is called; from then on there is no compiler."""
    monkeypatch.setattr(stored, "FOLDER", tmp_path)

    def leave(kernel: RawKernel) -> None:
        stored.save(kernel.compiled, tmp_path)
        monkeypatch.setenv(compiling.STORED_ONLY, "1")

    return leave


@pytest.mark.parametrize("name", ["mm_tiled_32", "ballot", "device_fn"])
def test_a_stored_kernel_counts_and_shows_the_same(name: str, no_compiler) -> None:
    """`mm_tiled_32` and `ballot` are counted as ptxas joined their loads, which the SASS tells."""
    case = h200.CASES[name]
    launch = (tuple(case["grid"]), tuple(case["block"]), tuple(h200.arguments(case)))
    kernel = h200.kernel(case)
    before = profile(kernel, *launch)
    no_compiler(kernel)
    again = h200.kernel(case)
    assert not again.compiled.cubin
    assert dict(profile(again, *launch)) == dict(before)
    assert (again.ptx, again.sass, again.num_regs) == (kernel.ptx, kernel.sass, kernel.num_regs)
    assert again.compiled.sass_lines(again.name) == kernel.compiled.sass_lines(kernel.name)
    again(*launch)
    np.testing.assert_array_equal(launch[2][0], h200.outputs()[name])


def test_a_changed_kernel_needs_the_compiler(no_compiler) -> None:
    kernel = h200.kernel(h200.CASES["ballot"])
    no_compiler(kernel)
    with pytest.raises(UnsupportedError, match="no NVRTC"):
        _ = RawKernel(kernel.code + " ", kernel.name).ptx
