"""CuPy itself, for the tests that hold the stand-in against it."""

import pytest

from course_lib import driver


@pytest.fixture(scope="session")
def cupy():
    found = driver.probe()
    if found is None or not found.devices:
        pytest.skip("no GPU")
    return pytest.importorskip("cupy")
