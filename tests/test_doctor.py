"""`doctor()`: short, truthful, never raising; a thing to do is marked and says what."""

import importlib
import json
import os
from types import SimpleNamespace

import pytest

from course_lib import backend, doctor, driver
from course_lib.emulator import toolkit

module = importlib.import_module("course_lib.doctor")


def _finding(name):
    return next(f for f in doctor().findings if f.name == name)


def test_it_shows_itself_as_text_and_as_a_table():
    report = doctor()
    assert isinstance(report, module.Report)
    assert "counted         by the emulator" in repr(report)
    assert report._repr_html_().count("<tr>") == len(report.findings) + len(report.labels)
    assert len(repr(report).splitlines()) <= 14


def test_the_four_labels():
    assert [f.name for f in doctor().labels] == ["counted", "modelled", "recorded", "measured"]
    assert "H200" in doctor().labels[2].text


def test_backend_and_reason(monkeypatch):
    chosen = backend.Backend("emulator", "no libraries", "CuPy cannot use the GPU (no libcublas)")
    monkeypatch.setattr(backend, "BACKEND", chosen)
    assert _finding("kernels run on").text == "the emulator: CuPy cannot use the GPU (no libcublas)"
    assert not doctor().fine


def test_a_gpu_is_named_and_measured_on(monkeypatch):
    nvrtc = SimpleNamespace(getVersion=lambda: (13, 0))
    monkeypatch.setattr(backend, "BACKEND", backend.Backend("cupy", "gpu", "CuPy 14.2.0 on NVIDIA H200"))
    monkeypatch.setattr(backend, "cp", SimpleNamespace(cuda=SimpleNamespace(nvrtc=nvrtc)))
    monkeypatch.setattr(driver, "probe", lambda: driver.Driver(13, 1, 1))
    monkeypatch.setattr(backend, "cupy_version", lambda: ("cupy-cuda13x", "14.2.0"))
    assert _finding("kernels run on").text == "your GPU: CuPy 14.2.0 on NVIDIA H200"
    assert _finding("CuPy").text == "cupy-cuda13x 14.2.0 with NVRTC 13.0, for a driver of CUDA 13.1"
    assert doctor().labels[3].text == "now, on your GPU"


def test_a_driver_older_than_the_toolkit(monkeypatch):
    monkeypatch.setattr(driver, "probe", lambda: driver.Driver(12, 4, 1))
    monkeypatch.setattr(backend, "cupy_version", lambda: ("cupy-cuda13x", "14.2.0"))
    assert not _finding("CuPy").fine
    assert 'too new for the driver: pip uninstall -y cupy-cuda13x' in _finding("CuPy").text


def test_missing_compiler_wheels_are_named(monkeypatch):
    monkeypatch.setattr(toolkit, "missing_header_wheels", lambda major: ("nvidia-cuda-crt",))
    monkeypatch.setattr(toolkit, "tool", lambda name: None)
    text = _finding("compiler").text
    assert "pip install nvidia-cuda-crt nvidia-cuda-nvdisasm nvidia-cuda-cuobjdump" in text


@pytest.mark.parametrize(("version", "words"), [("13.0", "disassembler"), ("12.9", "from NVRTC 13's")])
def test_another_compiler_than_the_courses(monkeypatch, version, words):
    monkeypatch.setattr(module, "_nvrtc_version", lambda: version)
    monkeypatch.setattr(toolkit, "missing_header_wheels", lambda major: ())
    assert _finding("compiler").text.endswith(words)


@pytest.mark.parametrize(("system", "fine"), [("Darwin", True), ("Linux", False)])
def test_without_nvrtc(monkeypatch, system, fine):
    monkeypatch.setattr(toolkit, "nvrtc_majors", lambda: ())
    monkeypatch.setattr(module.platform, "system", lambda: system)
    assert _finding("compiler").fine is fine
    assert "stored PTX" in _finding("compiler").text


@pytest.mark.parametrize(
    ("kernel", "server", "words"),
    [
        ("8.1.9", "5.0.16", "fits"),
        ("7.7.1", "3.1.10", "fits"),
        ("8.1.9", "3.1.10", "does not fit"),
        ("7.7.1", "5.0.16", "does not fit"),
        ("8.1.9", None, "no JupyterLab server seen"),
        (None, "5.0.16", "no ipywidgets"),
    ],
)
def test_sliders_need_both_sides(monkeypatch, kernel, server, words):
    monkeypatch.setattr(module, "_version", lambda name: kernel)
    monkeypatch.setattr(module, "_manager_version", lambda: server)
    assert words in _finding("sliders").text


def test_the_servers_widget_manager_is_found(monkeypatch, tmp_path):
    package = tmp_path / module._MANAGER
    package.parent.mkdir(parents=True)
    package.write_text(json.dumps({"version": "5.0.16"}))
    server = SimpleNamespace(cmdline=lambda: [str(tmp_path / "bin" / "python")])
    monkeypatch.setattr("psutil.Process", lambda pid: server)
    monkeypatch.setenv("JPY_PARENT_PID", str(os.getpid()))
    assert module._manager_version() == "5.0.16"
    monkeypatch.delenv("JPY_PARENT_PID")
    assert module._manager_version() is None


@pytest.mark.parametrize("pid", ["0", "not a number", "999999999"])
def test_a_server_that_cannot_be_seen(monkeypatch, pid):
    monkeypatch.setenv("JPY_PARENT_PID", pid)
    assert module._manager_version() is None
