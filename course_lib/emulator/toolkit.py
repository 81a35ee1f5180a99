"""Where pip put NVIDIA's compiler, headers and binary tools.

Only wheels are looked at: a CUDA toolkit installed on the machine, ``CUDA_PATH`` and
``CUDA_HOME`` are never used, so every machine compiles with the same files. Two layouts
exist: CUDA 13 wheels share ``nvidia/cu13/``, CUDA 12 wheels have one folder each.
"""

import importlib.util
import sys
from functools import cache
from pathlib import Path

FILE_NAME = "kernel.cu"  # what the compiler calls the learner's source

_TOOL_WHEELS = {"nvdisasm": "nvidia-cuda-nvdisasm", "cuobjdump": "nvidia-cuda-cuobjdump"}
_HEADER_WHEELS = {"crt": "nvidia-cuda-crt", "cccl": "nvidia-cuda-cccl", "runtime": "nvidia-cuda-runtime"}


def _roots() -> list[Path]:
    """The folders of the ``nvidia`` namespace package that wheels installed into."""
    spec = importlib.util.find_spec("nvidia")
    return [Path(p) for p in spec.submodule_search_locations or ()] if spec else []


def _existing(*relative: str) -> list[Path]:
    return [root / part for part in relative for root in _roots() if (root / part).exists()]


@cache
def nvrtc_majors() -> tuple[int, ...]:
    """CUDA major versions whose NVRTC wheel is installed, newest first."""
    patterns = ("lib/libnvrtc.so*", "lib/x64/*", "bin/nvrtc64*", "bin/*/nvrtc64*")
    folders = {13: _existing("cu13"), 12: _existing("cuda_nvrtc")}
    return tuple(
        major for major, found in folders.items() if any(any(f.glob(p)) for f in found for p in patterns)
    )


@cache
def include_dirs(major: int) -> tuple[Path, ...]:
    """Header folders of the wheels of one CUDA major version (12 or 13)."""
    if major >= 13:
        candidates = _existing(f"cu{major}/include", f"cu{major}/include/cccl")
    else:
        parts = ("cuda_runtime", "cuda_nvcc", "cuda_cccl", "cuda_crt")
        candidates = _existing(*(f"{part}/include" for part in parts), "cuda_cccl/include/cccl")
    return tuple(candidates)


def wheel_of_header(header: str, major: int = 13) -> str:
    """Name of the wheel that brings a CUDA header such as ``mma.h`` or ``cuda/std/limits``."""
    first = header.split("/")[0]
    kind = "cccl" if first in {"cuda", "cub", "thrust", "nv"} else "crt" if first == "crt" else "runtime"
    if major >= 13:
        return _HEADER_WHEELS[kind]
    return "nvidia-cuda-nvcc-cu12" if kind == "crt" else _HEADER_WHEELS[kind] + "-cu12"


@cache
def missing_header_wheels(major: int) -> tuple[str, ...]:
    """Wheels of NVIDIA's headers that are not installed for this CUDA major version."""
    probes = ("cuda_fp16.h", "crt/mma.h", "cuda/std/limits")
    dirs = include_dirs(major)
    return tuple(wheel_of_header(p, major) for p in probes if not any((d / p).exists() for d in dirs))


def tool(name: str) -> Path | None:
    """Path of the ``nvdisasm`` or ``cuobjdump`` binary from its wheel, or None."""
    program = name + (".exe" if sys.platform == "win32" else "")
    folders = ("cu13/bin", "cu13/bin/x86_64", "cuda_nvdisasm/bin", "cuda_cuobjdump/bin", "cuda_nvcc/bin")
    found = _existing(*(f"{folder}/{program}" for folder in folders))
    return found[0] if found else None


def tool_wheel(name: str) -> str:
    """Name of the wheel that brings a binary tool."""
    return _TOOL_WHEELS[name]
