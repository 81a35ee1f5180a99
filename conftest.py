"""Every test, and every notebook that nbval runs, uses the emulator and none of the reader's own settings."""

import os
import tempfile
from pathlib import Path

import pytest


def pytest_configure(config):
    config.option.nbval_sanitize_with = str(Path(__file__).parent / "tests" / "notebooks" / "sanitize.cfg")
    os.environ["COURSE_BACKEND"] = "emulator"
    os.environ["IPYTHONDIR"] = _folder(config)
    if not hasattr(config, "workerinput"):  # one for the whole run
        os.environ["COURSE_TOOL_CACHE"] = _folder(config)


def _folder(config):
    folder = tempfile.TemporaryDirectory(prefix="warp-by-warp-", ignore_cleanup_errors=True)
    config.add_cleanup(folder.cleanup)
    return folder.name


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """`-n auto`: one worker for each core that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Each test goes to the next free worker; the cells of a notebook share a kernel and stay together."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduler(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return nodeid.split("::")[0] if ".ipynb::" in nodeid else nodeid

    return Scheduler(config, log)


def pytest_terminal_summary(terminalreporter):
    """What tests noted with `record_property`: workers cannot print."""
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            terminalreporter.write_line(f"{name}: {value}")
