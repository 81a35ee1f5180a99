"""The set-up script: it installs once, again when something changed, and says what it picked."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

from course_lib import driver

ROOT = Path(__file__).parents[1]


@pytest.fixture
def script(monkeypatch, tmp_path):
    """`.ci/environment.py` with a folder of its own; the commands it would run are collected in `.calls`."""
    spec = importlib.util.spec_from_file_location("course_environment", ROOT / ".ci" / "environment.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setattr(sys, "path", [*sys.path])
    spec.loader.exec_module(module)
    module.calls = []
    monkeypatch.setattr(module, "ROOT", tmp_path / "a folder")
    module.ROOT.mkdir()
    (module.ROOT / "pyproject.toml").write_text("one")
    monkeypatch.setattr(module.subprocess, "call", lambda command, **_: module.calls.append(command) or 0)
    module.fresh = []
    monkeypatch.setattr(module, "_make", lambda folder, fresh: _make(module, folder, fresh))
    monkeypatch.setattr(driver, "probe", lambda: driver.Driver(12, 8, 1))
    return module


def _make(script, folder, fresh):
    script.fresh.append(fresh)
    folder.mkdir(exist_ok=True)
    return True


def _run(script, monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["environment.py", *arguments])
    status, count = script.main(), len(script.calls)
    script.calls, calls = [], script.calls
    return status, calls if count else []


def test_it_installs_once_with_the_cupy_of_the_driver(script, monkeypatch, capsys):
    status, calls = _run(script, monkeypatch)
    assert status == 0
    assert calls[0][-1] == f"{script.ROOT}[cuda12,lab,test]"
    assert "CuPy: cupy-cuda12x: the driver supports CUDA 12.8" in capsys.readouterr().out
    assert _run(script, monkeypatch) == (0, [])


def test_a_change_of_the_project_installs_again(script, monkeypatch):
    _run(script, monkeypatch)
    (script.ROOT / "pyproject.toml").write_text("two")
    assert len(_run(script, monkeypatch)[1]) == 1
    assert script.fresh == [False, False]


def test_another_driver_starts_afresh_for_only_one_cupy_fits_in(script, monkeypatch):
    _run(script, monkeypatch)
    monkeypatch.setattr(driver, "probe", lambda: driver.Driver(13, 0, 1))
    assert _run(script, monkeypatch)[1][0][-1].endswith("[cuda13,lab,test]")
    assert script.fresh == [False, True]


def test_a_further_extra_is_added_and_kept(script, monkeypatch):
    _run(script, monkeypatch)
    assert _run(script, monkeypatch, "--extras", "lab,bench")[1][0][-1].endswith("[bench,cuda12,lab,test]")
    assert _run(script, monkeypatch, "--extras", "lab,test") == (0, [])


def test_a_failed_install_is_tried_again(script, monkeypatch):
    monkeypatch.setattr(script.subprocess, "call", lambda command, **_: script.calls.append(command) or 7)
    assert _run(script, monkeypatch)[0] == 7
    assert _run(script, monkeypatch)[0] == 7


def test_jupyterlab_asks_nothing_about_news(script, monkeypatch):
    _run(script, monkeypatch)
    page = script.ROOT / ".venv" / "etc" / "jupyter" / "labconfig" / "page_config.json"
    assert "announcements" in page.read_text()


def test_jupyterlab_shows_markdown_as_a_page(script, monkeypatch):
    _run(script, monkeypatch)
    overrides = script.ROOT / ".venv" / "share" / "jupyter" / "lab" / "settings" / "overrides.json"
    assert "Markdown Preview" in json.loads(overrides.read_text()).popitem()[1]["defaultViewers"]["markdown"]


def test_an_old_python_is_told_so(script, monkeypatch, capsys):
    monkeypatch.setattr(script, "OLDEST", (99, 0))
    assert _run(script, monkeypatch) == (1, [])
    assert "make PYTHON=" in capsys.readouterr().err


def test_no_venv_module_is_explained(script, monkeypatch, capsys):
    monkeypatch.setattr(script, "_make", lambda folder, fresh: False)
    assert _run(script, monkeypatch)[0] == 1
    assert "python3-venv" in capsys.readouterr().err
