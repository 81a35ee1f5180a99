"""What several tests need."""

import pytest


@pytest.fixture
def nothing_recorded(monkeypatch):
    """As if `data/recorded` were empty."""

    def missing(gpu, name, *folder):
        raise FileNotFoundError(f"nothing recorded as {gpu}/{name}")

    monkeypatch.setattr("course_lib.evidence.recorded", missing)
