"""Every test, and every notebook that nbval runs, uses the emulator and none of the reader's own settings."""

import os
import tempfile
from pathlib import Path


def pytest_configure(config):
    config.option.nbval_sanitize_with = str(Path(__file__).parent / "tests" / "notebooks" / "sanitize.cfg")
    os.environ["COURSE_BACKEND"] = "emulator"
    os.environ["IPYTHONDIR"] = tempfile.mkdtemp(prefix="ipython-")
