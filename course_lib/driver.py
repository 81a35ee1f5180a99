"""What the installed NVIDIA driver says, asked through `ctypes`: no CuPy, no toolkit, no device memory.

Standard library only, because the set-up script uses it before any package is installed.
"""

import ctypes
import sys
from dataclasses import dataclass

_LIBRARIES = ("nvcuda.dll",) if sys.platform == "win32" else ("libcuda.so.1", "libcuda.so")


@dataclass(frozen=True)
class Driver:
    """The newest CUDA version the driver supports and how many GPUs it shows."""

    major: int
    minor: int
    devices: int

    @property
    def version(self) -> str:
        """The CUDA version as "13.0"."""
        return f"{self.major}.{self.minor}"


def probe() -> Driver | None:
    """Ask the driver for its CUDA version and its devices; None where no driver is installed."""
    library = _load()
    if library is None:
        return None
    number, count = ctypes.c_int(0), ctypes.c_int(0)
    if library.cuDriverGetVersion(ctypes.byref(number)) != 0:
        return None
    if library.cuInit(0) == 0:  # fails where the driver is installed and no GPU is there
        library.cuDeviceGetCount(ctypes.byref(count))
    return Driver(number.value // 1000, number.value % 1000 // 10, count.value)


def cupy_wheel(driver: Driver | None, platform: str = sys.platform) -> tuple[str | None, str]:
    """Choose the CuPy wheel for a driver: the extra of `pyproject.toml` (or None) and the reason in words."""
    if platform == "darwin":
        return None, "no CuPy: it has no wheel for macOS"
    if driver is None:
        return "cupy", "cupy-cuda13x without the CUDA libraries: no NVIDIA driver is installed"
    if driver.major < 12:
        return "cupy", f"cupy-cuda13x, unusable: the driver supports CUDA {driver.version}, CuPy needs 12"
    if driver.major == 12:
        return "cuda12", f"cupy-cuda12x: the driver supports CUDA {driver.version}"
    return "cuda13", f"cupy-cuda13x: the driver supports CUDA {driver.version}"


def _load() -> ctypes.CDLL | None:
    for name in _LIBRARIES:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None
