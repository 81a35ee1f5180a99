"""`environment.yml` (conda) and `pyproject.toml` (pip) ask for the same packages in the same versions."""

import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CONDA = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
FROM_CONDA = [line for line in CONDA["dependencies"] if isinstance(line, str)]
FROM_PIP = CONDA["dependencies"][-1]["pip"]


def test_same_names_and_pins():
    extras = PROJECT["optional-dependencies"]
    ours = {*PROJECT["dependencies"], *extras["lab"], *extras["test"], *extras["cuda13"]}
    theirs = {*FROM_CONDA, *FROM_PIP} - {f"python{PROJECT['requires-python']}", "pip", "-e ."}
    assert ours == theirs


def test_python_and_the_course_itself():
    assert f"python{PROJECT['requires-python']}" in FROM_CONDA
    assert FROM_PIP[-1] == "-e ."


def test_what_a_conda_user_expects_is_there():
    text = " ".join([*FROM_CONDA, *FROM_PIP])
    assert all(name in text for name in ("jupyterlab", "cupy", "numpy", "matplotlib", "ipywidgets", "nbval"))


def test_nvidia_and_cupy_come_as_wheels_and_not_on_macos():
    """conda-forge would choose a CUDA toolkit by the driver, and fail where there is none."""
    wheels = [line for line in FROM_PIP if line.startswith(("cupy", "cuda-", "nvidia-"))]
    assert len(wheels) == 8
    assert all(line.endswith("; sys_platform != 'darwin'") for line in wheels)
    assert not any(line.startswith(("cupy", "cuda", "nvidia")) for line in FROM_CONDA)
