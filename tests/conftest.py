"""What several tests need."""

import sys

import pytest


@pytest.fixture(autouse=True)
def _close_figures():
    """Figures that a test draws are closed after it: pyplot keeps them, and warns of many."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


@pytest.fixture
def nothing_recorded(monkeypatch):
    """As if `data/recorded` were empty."""

    def missing(gpu, name, *folder):
        raise FileNotFoundError(f"nothing recorded as {gpu}/{name}")

    monkeypatch.setattr("course_lib.evidence.recorded", missing)
