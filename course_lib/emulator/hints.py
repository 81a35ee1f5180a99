"""From an NVRTC log to advice: what to write instead under a compiler without a host."""

import re

from .toolkit import wheel_of_header

_STD_HEADERS = {
    "cfloat": "cfloat", "float.h": "cfloat", "climits": "climits", "limits.h": "climits",
    "limits": "limits", "type_traits": "type_traits", "cstdint": "cstdint", "stdint.h": "cstdint",
    "array": "array", "tuple": "tuple", "utility": "utility", "algorithm": "algorithm",
    "cstddef": "cstddef", "stddef.h": "cstddef", "complex": "complex", "functional": "functional",
    "initializer_list": "initializer_list", "limits.hpp": "limits", "numeric": "numeric", "bit": "bit",
    "optional": "optional", "span": "span", "concepts": "concepts", "atomic": "atomic", "chrono": "chrono",
}  # fmt: skip
_NO_NEED = {
    "cmath": "sqrtf, expf, fmaf and the rest are built in (std:: names: #include <cuda/std/cmath>)",
    "math.h": "sqrtf, expf, fmaf and the rest are built in",
    "cstdio": "printf is built in",
    "stdio.h": "printf is built in",
    "cassert": "assert is built in",
    "assert.h": "assert is built in",
    "cstring": "memcpy and memset are built in",
    "string.h": "memcpy and memset are built in",
    "cstdlib": "malloc and free are built in",
    "stdlib.h": "malloc and free are built in",
}
_HOST_ONLY = {
    "iostream",
    "vector",
    "string",
    "map",
    "set",
    "fstream",
    "sstream",
    "memory",
    "thread",
    "random",
}
_NAMES = {
    "INFINITY": "write __int_as_float(0x7f800000), or #include <cuda/std/limits> and "
    "cuda::std::numeric_limits<float>::infinity()",
    "HUGE_VALF": "write __int_as_float(0x7f800000)",
    "NAN": 'write __int_as_float(0x7fffffff) or nanf("")',
    "FLT_MAX": "write 3.402823466e+38f, or #include <cuda/std/cfloat>",
    "FLT_MIN": "write 1.175494351e-38f, or #include <cuda/std/cfloat>",
    "FLT_EPSILON": "write 1.192092896e-07f, or #include <cuda/std/cfloat>",
    "DBL_MAX": "write 1.7976931348623157e+308, or #include <cuda/std/cfloat>",
    "INT_MAX": "write 2147483647, or #include <cuda/std/climits>",
    "INT_MIN": "write (-2147483647 - 1), or #include <cuda/std/climits>",
    "UINT_MAX": "write 4294967295u, or #include <cuda/std/climits>",
    "M_PI": "write 3.14159265358979f",
    "__half": "#include <cuda_fp16.h>",
    "half": "#include <cuda_fp16.h>",
    "__half2": "#include <cuda_fp16.h>",
    "__nv_bfloat16": "#include <cuda_bf16.h>",
    "cooperative_groups": "#include <cooperative_groups.h>",
    "nvcuda": "#include <mma.h>",
} | {
    f"{sign}int{bits}_t": "#include <cuda/std/cstdint> and write cuda::std::"
    f"{sign}int{bits}_t, or use {name}"
    for sign, bits, name in (
        ("", 8, "signed char"), ("u", 8, "unsigned char"), ("", 16, "short"), ("u", 16, "unsigned short"),
        ("", 32, "int"), ("u", 32, "unsigned int"), ("", 64, "long long"), ("u", 64, "unsigned long long"),
    )
}  # fmt: skip

_MISSING_FILE = re.compile(r'could? ?not open source file "([^"]+)"')
_UNDEFINED = re.compile(r'(?:identifier|name) "(\w+)" is undefined|name must be a namespace name')
_STD_MEMBER = re.compile(r'namespace "std" has no member "(\w+)"')


def hints(log: str, source: str, missing_wheels: tuple[str, ...] = ()) -> list[str]:
    """Advice for the errors in an NVRTC ``log``, without repeats, in the order of the log."""
    found = [_file_hint(name, missing_wheels) for name in re.findall(r'open source file "([^"]+)"', log)]
    found += [
        f"{name}: {_NAMES[name]}"
        for name in re.findall(r'identifier "(\w+)" is undefined', log)
        if name in _NAMES
    ]
    found += [_std_hint(name) for name in _STD_MEMBER.findall(log)]
    if "name must be a namespace name" in log:
        found += [f"{n}: {_NAMES[n]}" for n in ("nvcuda", "cooperative_groups") if n in source]
    if 'identifier "std" is undefined' in log or 'name followed by "::" must be a class or namespace' in log:
        found.append("NVRTC has no std::; use cuda::std:: after #include <cuda/std/...>")
    if "without execution space annotations" in log:
        found.append(
            "put __device__ before a function that kernels call; host functions cannot be compiled here"
        )
    if "nv_mangled_name" in log:
        found.append("a name expression must name a kernel as C++ would write it, e.g. 'scale<float>'")
    if "unrecognized option" in log:
        found.append(
            "options are a tuple of strings, each one NVRTC option, e.g. ('-std=c++17', '-DTILE=16')"
        )
    return list(dict.fromkeys(found))


def _file_hint(header: str, missing_wheels: tuple[str, ...]) -> str:
    if header in _STD_HEADERS:
        std = _STD_HEADERS[header]
        return f"NVRTC has no host headers: instead of <{header}> write #include <cuda/std/{std}> and cuda::std:: names"
    if header in _NO_NEED:
        return f"leave out #include <{header}>: {_NO_NEED[header]}"
    if header in _HOST_ONLY:
        return f"leave out #include <{header}>: it is for host code, and a kernel runs on the GPU"
    wheel = wheel_of_header(header)
    if any(wheel in missing for missing in missing_wheels):
        return f"<{header}> comes with the wheel {wheel}: pip install {wheel}"
    return f"<{header}> is in none of the installed CUDA wheels; CUDA's own headers come with nvidia-cuda-runtime"


def _std_hint(name: str) -> str:
    simple = {
        "max": "max(a, b) is built in",
        "min": "min(a, b) is built in",
        "abs": "abs and fabsf are built in",
    }
    header = {"numeric_limits": "limits", "is_same": "type_traits", "swap": "utility", "array": "array"}.get(
        name
    )
    if name in simple:
        return f"std::{name}: {simple[name]}"
    if header:
        return f"std::{name}: #include <cuda/std/{header}> and write cuda::std::{name}"
    return (
        f"std::{name}: NVRTC has no std::; write cuda::std::{name} after the matching #include <cuda/std/...>"
    )
