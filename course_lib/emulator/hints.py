"""From an NVRTC log to advice: what to write instead, where there is no host compiler."""

import re

from .toolkit import FILE_NAME, wheel_of_header

# host header -> header of CUDA's own standard library that has the names
STD_HEADERS = {
    "cfloat": "limits", "float.h": "limits", "climits": "climits", "limits.h": "climits", "limits": "limits",
    "type_traits": "type_traits", "cstdint": "cstdint", "stdint.h": "cstdint", "cstddef": "cstddef",
    "stddef.h": "cstddef", "array": "array", "tuple": "tuple", "utility": "utility",
    "complex": "complex", "functional": "functional", "initializer_list": "initializer_list",
    "numeric": "numeric", "bit": "bit", "optional": "optional", "span": "span", "concepts": "concepts",
    "atomic": "atomic", "chrono": "chrono",
}  # fmt: skip
_BUILT_IN = {
    "cmath": "sqrtf, expf, fmaf and the rest are built in (std:: names: #include <cuda/std/cmath>)",
    "math.h": "sqrtf, expf, fmaf and the rest are built in",
    "algorithm": "max and min are built in",
    "cstdio": "printf is built in",
    "stdio.h": "printf is built in",
    "cassert": "assert is built in",
    "assert.h": "assert is built in",
    "cstring": "memcpy and memset are built in",
    "string.h": "memcpy and memset are built in",
    "cstdlib": "malloc and free are built in",
    "stdlib.h": "malloc and free are built in",
}
_HOST_ONLY = frozenset(
    ("iostream", "vector", "string", "map", "set", "fstream", "sstream", "memory", "thread", "random")
)
_LIMITS = "#include <cuda/std/limits> and cuda::std::numeric_limits"
_INFINITY = "__int_as_float(0x7f800000)"
NAMES = {
    "INFINITY": f"write {_INFINITY}, or {_LIMITS}<float>::infinity()",
    "HUGE_VALF": f"write {_INFINITY}",
    "NAN": 'write nanf("")',
    "FLT_MAX": f"write 3.402823466e+38f, or {_LIMITS}<float>::max()",
    "FLT_MIN": f"write 1.175494351e-38f, or {_LIMITS}<float>::min()",
    "FLT_EPSILON": f"write 1.192092896e-07f, or {_LIMITS}<float>::epsilon()",
    "DBL_MAX": f"write 1.7976931348623157e+308, or {_LIMITS}<double>::max()",
    "INT_MAX": "write 2147483647, or #include <cuda/std/climits>",
    "INT_MIN": "write (-2147483647 - 1), or #include <cuda/std/climits>",
    "UINT_MAX": "write 4294967295u, or #include <cuda/std/climits>",
    "M_PI": "write 3.14159265358979f",
    "half": "#include <cuda_fp16.h>",
    "__half": "#include <cuda_fp16.h>",
    "__half2": "#include <cuda_fp16.h>",
    "__nv_bfloat16": "#include <cuda_bf16.h>",
    "cooperative_groups": "#include <cooperative_groups.h>",
    "nvcuda": "#include <mma.h>",
}
_INTEGERS = {8: "char", 16: "short", 32: "int", 64: "long long"}
for _bits, _name in _INTEGERS.items():
    for _sign, _word in (("", "signed "), ("u", "unsigned ")):
        _type = f"{_sign}int{_bits}_t"
        NAMES[_type] = f"write {_word}{_name}, or #include <cuda/std/cstdint> and cuda::std::{_type}"

_STD_BUILT_IN = {"max": "max(a, b)", "min": "min(a, b)", "abs": "abs and fabsf", "printf": "printf"}
_STD_HOMES = {"numeric_limits": "limits", "is_same": "type_traits", "swap": "utility", "array": "array"}

# text in the log -> advice
_PHRASES = {
    'name followed by "::" must be a class or namespace': "NVRTC has no std::; use cuda::std:: after "
    "#include <cuda/std/...>",
    "without execution space annotations": "put __device__ before a function that kernels call; host "
    "functions cannot be compiled here",
    "nv_mangled_name": "a name expression names a kernel as C++ would write it, e.g. 'scale<float>'",
    "uses too much shared data": "a kernel's own shared arrays may have 48 KB; for more use extern "
    "__shared__, pass shared_mem= and set kernel.max_dynamic_shared_size_bytes",
    "unrecognized option": "options are a tuple of NVRTC options, e.g. ('-std=c++17', '-DTILE=16')",
}


_NOTE = re.compile(rf"^(?!{re.escape(FILE_NAME)}\()\S.*\(\d+\): note\b")  # on a place in a header
_KERNEL = re.compile(r"__global__[^;{}]*?(\w+)\s*\(")


MOST_ERRORS = 3  # later ones mostly follow from the first


def errors_only(log: str, source: str) -> str:
    """An NVRTC ``log`` without warnings; places are named "scale, line 4": kernel and line of ``source``.

    It has the first errors only, and no notes on what headers have to offer.
    """
    kept = [part for part in re.split(r"\n\s*\n", log) if not re.match(r"\S+: warning |Remark: ", part)]
    errors = [at for at, part in enumerate(kept) if re.match(r"[^\n]*: (catastrophic )?error", part)]
    if len(errors) > MOST_ERRORS:
        end = [part for part in kept[errors[-1] + 1 :] if "detected in the compilation" in part]
        kept = [*kept[: errors[MOST_ERRORS]], f"... and {len(errors) - MOST_ERRORS} more errors", *end]
    kept = [_without_notes(part) for part in kept]
    text = re.sub(rf"{re.escape(FILE_NAME)}\((\d+)\)", lambda m: _place(source, int(m[1])), "\n".join(kept))
    return re.sub(rf'(errors? detected) in the compilation of "{re.escape(FILE_NAME)}"', r"\1", text)


def _without_notes(part: str) -> str:
    """An error without its notes on other candidates, each some lines that begin with a place in a header."""
    lines = part.split("\n")
    first = next((at for at, line in enumerate(lines) if at and _NOTE.search(line)), len(lines))
    if first == len(lines):
        return part
    count = sum(bool(_NOTE.search(line)) for line in lines[first:])
    return "\n".join([*lines[:first], f"    (and {count} note{'s' * (count != 1)} on what was tried)"])


def _place(source: str, line: int) -> str:
    """ "scale, line 4", after the last kernel that begins before the end of the line."""
    names = _KERNEL.findall("\n".join(source.split("\n")[:line]))
    return f"{names[-1] if names else 'source'}, line {line}"


def hints(log: str, source: str, missing_wheels: tuple[str, ...] = ()) -> list[str]:
    """Advice for the errors in an NVRTC ``log``, without repeats."""
    undefined = re.findall(r'identifier "(\w+)" is undefined', log)
    if "name must be a namespace name" in log:
        undefined += [name for name in ("nvcuda", "cooperative_groups") if name in source]
    found = [_file_hint(name, missing_wheels) for name in re.findall(r'open source file "([^"]+)"', log)]
    found += [f"{name}: {NAMES[name]}" for name in undefined if name in NAMES]
    found += [_std_hint(name) for name in re.findall(r'namespace "std" has no member "(\w+)"', log)]
    found += [advice for phrase, advice in _PHRASES.items() if phrase in log]
    return list(dict.fromkeys(found))


def _file_hint(header: str, missing_wheels: tuple[str, ...]) -> str:
    if header in STD_HEADERS:
        instead = f"#include <cuda/std/{STD_HEADERS[header]}> and write cuda::std::"
        return f"NVRTC has no host headers: in place of <{header}> {instead}"
    if header in _BUILT_IN:
        return f"leave out #include <{header}>: {_BUILT_IN[header]}"
    if header in _HOST_ONLY:
        return f"leave out #include <{header}>: it is for host code, and a kernel runs on the GPU"
    wheel = wheel_of_header(header)
    missing = next((name for name in missing_wheels if name.startswith(wheel)), None)
    if missing:
        return f"<{header}> comes with the wheel {missing}: pip install {missing}"
    return f"<{header}> is in none of the installed CUDA wheels"


def _std_hint(name: str) -> str:
    if name in _STD_BUILT_IN:
        return f"std::{name}: NVRTC has no std::; {_STD_BUILT_IN[name]} is built in"
    header = _STD_HOMES.get(name, "...")
    return f"std::{name}: NVRTC has no std::; #include <cuda/std/{header}> and write cuda::std::{name}"
