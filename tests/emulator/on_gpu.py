"""The emulator's tests on a GPU, through CuPy: to see that what they expect is what hardware does.

    COURSE_TESTS_ON_GPU=1 python -m pytest tests/emulator -o addopts= --import-mode=importlib

Only tests that launch kernels and look at their results take part (`conftest.py` skips the others: a fault
or a kernel that never ends would cost the GPU's context).
"""

import inspect
from typing import Any

import numpy as np

STACK_BYTES = 16 * 1024  # the tests call deeper than the default of 1 KB allows
EMULATOR_ONLY = (
    "pytest.raises", "launched(", "profile(", "run_ptx", "parse(", ".program", "Geometry", "GlobalMemory",
    "capsys", "interrupt", "get_global", "resolve(", "load(", "LaneSet", "fragment(", "AddressBase",
    "one_by_one",
)  # fmt: skip


def takes_part(item: Any) -> bool:
    """Whether a test can run on a GPU: it uses `run` or a kernel, and nothing of the emulator's inside."""
    function = getattr(item, "function", None)
    if function is None:
        return False
    source = inspect.getsource(function)
    uses = any(
        name in source
        for name in ("run(", "kernel(", "RawKernel(", "RawModule(", "groups(", "both(", "compare(")
    )
    fixtures = {"intrinsics", "math_rows"} & set(getattr(item, "fixturenames", ()))
    return (uses or bool(fixtures)) and not any(name in source for name in EMULATOR_ONLY)


class Kernel:
    """RawKernel's call on NumPy arrays, with CuPy behind it."""

    def __init__(self, code: str, name: str, options: tuple = (), **settings: Any) -> None:
        import cupy

        cupy.cuda.runtime.deviceSetLimit(0, STACK_BYTES)
        self.kernel = cupy.RawKernel(code, name, options=(*options, "-std=c++17"), **settings)

    def __call__(self, grid: tuple, block: tuple, args: tuple, *, shared_mem: int = 0) -> None:
        import cupy

        if self.max_dynamic_shared_size_bytes is not None:
            self.kernel.max_dynamic_shared_size_bytes = self.max_dynamic_shared_size_bytes
        owners: dict[int, tuple[np.ndarray, Any]] = {}
        self.kernel(grid, block, tuple(_passed(arg, owners) for arg in args), shared_mem=shared_mem)
        cupy.cuda.runtime.deviceSynchronize()
        for host, device in owners.values():
            if host.flags.writeable:
                host[:] = device.get()

    max_dynamic_shared_size_bytes: int | None = None


class Module:
    """RawModule on NumPy arrays, with CuPy behind it."""

    def __init__(
        self, *, code: str, options: tuple = (), name_expressions: list | None = None, **settings: Any
    ) -> None:
        import cupy

        self.module = cupy.RawModule(
            code=code, options=(*options, "-std=c++17"), name_expressions=name_expressions, **settings
        )

    def get_function(self, name: str) -> Kernel:
        """A kernel of the module."""
        made = Kernel.__new__(Kernel)
        made.kernel = self.module.get_function(name)
        return made


def _passed(value: Any, owners: dict) -> Any:
    """An array as the address of its first element in a copy of its owner's memory; all else as it is."""
    import cupy

    if not isinstance(value, np.ndarray) or value.ndim == 0:
        return value
    owner = value
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    low = owner.__array_interface__["data"][0]
    if low not in owners:
        host = owner.ravel(order="K").view(np.uint8)
        owners[low] = host, cupy.asarray(host)
    return np.uint64(owners[low][1].data.ptr + value.__array_interface__["data"][0] - low)
