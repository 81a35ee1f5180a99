"""With COURSE_TESTS_ON_GPU set, the tests' kernels run on a GPU instead (see on_gpu)."""

import os

import pytest

if os.environ.get("COURSE_TESTS_ON_GPU"):
    import course_lib.emulator

    from .on_gpu import Kernel, Module, takes_part

    course_lib.emulator.RawKernel, course_lib.emulator.RawModule = Kernel, Module

    def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
        """Skip what a GPU cannot do or would not survive."""
        for item in items:
            if not takes_part(item):
                item.add_marker(pytest.mark.skip(reason="looks inside the emulator"))
