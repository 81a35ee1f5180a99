"""Which machine runs the kernels: CuPy on a usable GPU, else the emulator's stand-in for it.

The choice is made once, when this module is imported, and `BACKEND` says what it was and why.
"""

import ctypes
import importlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from . import driver, standin


@dataclass(frozen=True)
class Backend:
    """The chosen backend: `name` is "cupy" or "emulator", `state` one word or two, `reason` one line."""

    name: str
    state: str
    reason: str


def choose(
    environment: Mapping[str, str] = os.environ,
    probe: Callable[[], driver.Driver | None] = driver.probe,
    find: Callable[[str], object] = find_spec,
    load: Callable[[str], ModuleType] = importlib.import_module,
) -> tuple[Backend, ModuleType]:
    """Choose a backend and its `cp` module. The parameters are what a test replaces.

    CuPy is loaded only where a driver shows a GPU, so the usual laptop pays nothing for it.

    Raises:
        ValueError: COURSE_BACKEND is set to something other than "emulator".
    """
    wish = environment.get("COURSE_BACKEND", "")
    if wish not in ("", "emulator"):
        raise ValueError(f"COURSE_BACKEND is {wish!r}; set it to 'emulator', or leave it unset")
    if wish == "emulator":
        return _emulator("forced", "COURSE_BACKEND=emulator asks for it")
    if find("cupy") is None:
        return _emulator("cupy missing", "CuPy is not installed")
    found = probe()
    if found is None:
        return _emulator("no driver", "CuPy is installed, but there is no NVIDIA driver")
    if not found.devices:
        return _emulator("no device", f"the NVIDIA driver (CUDA {found.version}) shows no GPU")
    return _cupy(found, load)


def cupy_version() -> tuple[str, str] | None:
    """The installed CuPy wheel and its version, e.g. ("cupy-cuda13x", "14.2.0"); None without one."""
    for wheel in ("cupy-cuda13x", "cupy-cuda12x", "cupy"):
        try:
            return wheel, metadata.version(wheel)
        except metadata.PackageNotFoundError:
            continue
    return None


def right_wheel(found: driver.Driver) -> str:
    """What to do for a CuPy that this driver can run, with its CUDA libraries: a pip command, mostly."""
    if found.major < 12:
        return "install a newer NVIDIA driver: CuPy needs one for CUDA 12"
    wheel = "cupy-cuda12x" if found.major == 12 else "cupy-cuda13x"
    installed = cupy_version()
    first = f"pip uninstall -y {installed[0]} && " if installed and installed[0] != wheel else ""
    return f'{first}pip install "{wheel}[ctk]"'


def wrong_wheel(found: driver.Driver | None) -> str | None:
    """`right_wheel` where the driver is too old for the installed CuPy; None where they agree."""
    installed = cupy_version()
    if found is None or installed is None or found.major > 12:
        return None
    return right_wheel(found) if found.major < 12 or installed[0] == "cupy-cuda13x" else None


def _cupy(found: driver.Driver, load: Callable[[str], ModuleType]) -> tuple[Backend, ModuleType]:
    """CuPy, once it has shown that it sees the GPU and can load the compiler."""
    try:
        _cuda_12_compiler()
        cupy = load("cupy")
        cupy.cuda.runtime.getDeviceCount()
        cupy.cuda.nvrtc.getVersion()
        name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    except Exception as error:  # CuPy raises many kinds: ImportError, RuntimeError, CUDARuntimeError
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        return _emulator("no libraries", f"CuPy cannot use the GPU ({first}); {right_wheel(found)}")
    return Backend("cupy", "gpu", f"CuPy {cupy.__version__} on {name}"), cupy


def _cuda_12_compiler() -> None:
    """Load NVRTC 12 before CuPy for CUDA 12 looks for one.

    It would take the emulator's NVRTC 13, whose machine code a driver for CUDA 12 refuses. The emulator then
    compiles with NVRTC 12 too, and says so in `doctor()`.
    """
    spec = find_spec("nvidia")
    if (cupy_version() or ("",))[0] != "cupy-cuda12x" or spec is None:
        return
    for root in map(Path, spec.submodule_search_locations or ()):
        for pattern in ("cuda_nvrtc/lib/libnvrtc.so.12", "cuda_nvrtc/bin/nvrtc64_12*_0.dll"):
            for library in root.glob(pattern):
                ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)


def _emulator(state: str, why: str) -> tuple[Backend, ModuleType]:
    return Backend("emulator", state, why), standin


BACKEND, cp = choose()


def on_gpu() -> bool:
    """Whether kernels run on a GPU of this machine."""
    return BACKEND.name == "cupy"
