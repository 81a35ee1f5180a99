"""The choice of a backend: every state of a machine, and what an import costs."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from course_lib import backend, standin
from course_lib.driver import Driver, cupy_wheel

GPU = Driver(13, 0, 1)


def _fake_cupy(nvrtc=lambda: (13, 0)):
    runtime = SimpleNamespace(
        getDeviceCount=lambda: 1, getDeviceProperties=lambda device: {"name": b"NVIDIA Test"}
    )
    return SimpleNamespace(
        __version__="14.2", cuda=SimpleNamespace(runtime=runtime, nvrtc=SimpleNamespace(getVersion=nvrtc))
    )


def _raise(error):
    def fail(*_):
        raise error

    return fail


def _choose(environment=None, driver=GPU, found=True, load=lambda name: _fake_cupy()):
    return backend.choose(environment or {}, lambda: driver, lambda name: found or None, load)


def test_a_gpu_with_cupy_is_used():
    chosen, cp = _choose()
    assert (chosen.name, chosen.state) == ("cupy", "gpu")
    assert chosen.reason == "CuPy 14.2 on NVIDIA Test"
    assert cp.__version__ == "14.2"


NO_NVRTC = RuntimeError("CuPy failed to load libnvrtc.so.13: no such file\nmore")
STATES = {
    "forced": ({"environment": {"COURSE_BACKEND": "emulator"}}, "COURSE_BACKEND=emulator"),
    "cupy missing": ({"found": False}, "CuPy is not installed"),
    "no driver": ({"driver": None}, "no NVIDIA driver"),
    "no device": ({"driver": Driver(12, 8, 0)}, "shows no GPU"),
    "no libraries": ({"load": lambda name: _fake_cupy(_raise(NO_NVRTC))}, "failed to load libnvrtc.so.13"),
}


@pytest.mark.parametrize("state", STATES)
def test_every_other_state_gives_the_emulator_and_one_line(state):
    how, words = STATES[state]
    chosen, cp = _choose(**how)
    assert cp is standin
    assert (chosen.name, chosen.state) == ("emulator", state)
    assert words in chosen.reason
    assert "\n" not in chosen.reason


@pytest.mark.parametrize("error", [ImportError("libcublas.so.13: cannot open"), RuntimeError("")])
def test_cupy_that_cannot_be_imported(error):
    chosen, cp = _choose(load=_raise(error))
    assert cp is standin
    assert chosen.state == "no libraries"


def test_a_driver_older_than_the_wheel_names_the_wheel(monkeypatch):
    monkeypatch.setattr(backend, "cupy_version", lambda: ("cupy-cuda13x", "14.2.0"))
    chosen, _ = _choose(driver=Driver(12, 4, 1), load=_raise(RuntimeError("cudaErrorInsufficientDriver")))
    assert chosen.reason.endswith('pip uninstall -y cupy-cuda13x && pip install "cupy-cuda12x[ctk]"')


@pytest.mark.parametrize(
    ("wheel", "driver", "words"),
    [
        ("cupy-cuda13x", Driver(13, 0, 1), None),
        ("cupy-cuda12x", Driver(13, 0, 1), None),  # an older toolkit runs on a newer driver
        ("cupy-cuda12x", Driver(12, 8, 1), None),
        ("cupy-cuda13x", Driver(12, 8, 1), 'pip install "cupy-cuda12x[ctk]"'),
        ("cupy-cuda12x", Driver(11, 8, 1), "newer NVIDIA driver"),
        ("cupy-cuda13x", None, None),
    ],
)
def test_driver_against_wheel(wheel, driver, words, monkeypatch):
    monkeypatch.setattr(backend, "cupy_version", lambda: (wheel, "14.2.0"))
    advice = backend.wrong_wheel(driver)
    assert advice is None if words is None else words in advice


def test_an_unknown_wish_is_refused():
    with pytest.raises(ValueError, match="COURSE_BACKEND is 'gpu'"):
        _choose({"COURSE_BACKEND": "gpu"})


def test_import_is_quick_and_silent():
    """Under a second of processor time, with CuPy installed or not."""
    code = "import time; from course_lib import cp; print(time.process_time())"
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    run = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, env=environment)
    assert run.stderr == b""
    assert float(run.stdout) < 1


@pytest.mark.parametrize(
    ("driver", "platform", "extra", "words"),
    [
        (None, "linux", "cupy", "no NVIDIA driver"),
        (Driver(12, 8, 1), "linux", "cuda12", "cupy-cuda12x: the driver supports CUDA 12.8"),
        (Driver(13, 1, 1), "linux", "cuda13", "cupy-cuda13x: the driver supports CUDA 13.1"),
        (Driver(14, 0, 1), "win32", "cuda13", "CUDA 14.0"),
        (Driver(11, 8, 1), "linux", "cupy", "CuPy needs 12"),
        (None, "darwin", None, "no wheel for macOS"),
    ],
)
def test_the_wheel_follows_the_driver(driver, platform, extra, words):
    picked, reason = cupy_wheel(driver, platform)
    assert picked == extra
    assert words in reason
