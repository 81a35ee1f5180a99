"""C++ names: demangled where they are mangled, then cut at namespaces and template arguments."""

import ctypes
import re
from collections.abc import Callable
from functools import lru_cache

from .cpp_words import CLOSED, KERNELS, NAMESPACES, PYTORCH
from .parts import Part, unknown

_LIBRARIES = ("libstdc++.so.6", "libc++.1.dylib", "libc++abi.dylib")
# namespaces and the function, up to its template arguments or its parameters
_HEAD = re.compile(r"(?:\(anonymous namespace\)|<unnamed>|::|[^<(:])+")
_RESULT = re.compile(r"(void|std::enable_if<[^<>]*, void>::type)\s+")
_VERSIONED = re.compile(r"(CUB|THRUST)_\d+_SM_[\d_]+(NS)?|cub_\w*|at_cuda_detail|\w+__5x_\w+")
Nested = Callable[[str], "list[Part] | None"]  # explains a template argument that is a name of its own


@lru_cache(maxsize=1)
def _demangler() -> Callable | None:
    """`__cxa_demangle` of the machine's C++ library, or None."""
    for name in _LIBRARIES:
        try:
            function = ctypes.CDLL(name).__cxa_demangle
        except (OSError, AttributeError):
            continue
        function.restype = ctypes.c_void_p
        function.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)]
        return function
    return None


def demangle(name: str) -> str | None:
    """The C++ name behind `_Z...` (Itanium C++ ABI), or None if it is cut off or nothing here can tell."""
    function = _demangler()
    if function is None or not name.startswith("_Z"):
        return None
    status = ctypes.c_int()
    address = function(name.encode(errors="surrogatepass"), None, None, ctypes.byref(status))
    # a name is short and there are few: the buffer is not given back
    return ctypes.string_at(address).decode(errors="replace") if address and status.value == 0 else None


def source_names(mangled: str) -> list[str]:
    """The identifiers in a mangled name, by their lengths: 12hello_kernel -> hello_kernel."""
    found, at = [], 0
    while match := re.search(r"\d{1,4}", mangled[at:]):
        start, length = at + match.end(), int(match.group())
        word = mangled[start : start + length]
        if re.fullmatch(r"[A-Za-z_]\w*", word) and length > 1:
            found.append(word)
            at = start + length
        else:
            at = start
    return found


def split_arguments(text: str) -> list[str]:
    """`4, at::F<a, b>, c`, cut at the commas outside brackets; a cut-off name may lack closing ones."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "<({[") - (letter in ">)}]" and text[at - 1] != "-")
        if letter == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return [part for part in [*parts, text[start:].strip()] if part]


def explain_cpp(name: str, nested: Nested) -> list[Part]:
    """Parts of a C++ kernel name such as `void at::native::reduce_kernel<512, 1, ...>(...)`."""
    found: list[Part] = []
    result = _RESULT.match(name)
    if result:
        found.append(Part(result[1], "returns nothing, as every kernel does"))
        name = name[result.end() :]
    head = _HEAD.match(name)
    qualified = head.group() if head else ""
    rest = name[len(qualified) :]
    found += _qualified(qualified)
    if rest.startswith("<"):
        inside, rest = _until_closed(rest[1:])
        found += _arguments(qualified.split("::")[-1], inside, nested)
    if rest.strip(" >()"):
        found.append(Part(rest.strip().removeprefix("(").removesuffix(")"), "types of its parameters"))
    return found


def _qualified(head: str) -> list[Part]:
    *spaces, function = head.split("::")
    found = []
    for space in spaces:
        plain = space.strip()
        if plain in ("(anonymous namespace)", "<unnamed>"):
            found.append(Part(plain, "private to its source file"))
        elif plain in NAMESPACES:
            found.append(Part(plain, NAMESPACES[plain] or "namespace", _known(plain)))
        elif _VERSIONED.fullmatch(plain):
            told = "a copy of the library: its version, its owner or its architectures"
            found.append(Part(plain, told, _known(plain)))
        elif plain:
            found.append(unknown(plain))
    known = KERNELS.get(function)
    last = Part(function, known[0], _known(function)) if known else None
    return [*found, last or Part(function, "name of the function", "unknown")]


def _known(word: str) -> str:
    """How well the meaning of a kernel or namespace is known: cuBLAS and cuDNN document none."""
    return "inferred" if word in CLOSED or word in ("gemvx", "DSE") or "__5x_" in word else "documented"


def family(plain: str) -> str:
    """The library a C++ name belongs to, or "C++"."""
    head = _HEAD.match(_RESULT.sub("", plain, count=1))
    words = (head.group() if head else "").strip().split("::")
    marks = {
        "cutlass": "CUTLASS", "pytorch_flash": "FlashAttention", "flash": "FlashAttention", "cub": "CUB",
        "DSE": "cuDNN", "cublasLt": "cuBLAS", "cublas": "cuBLAS", "gemvx": "cuBLAS", "cudnn": "cuDNN",
        "at": "PyTorch",
    }  # fmt: skip
    for mark, name in marks.items():
        if mark in words:
            return name
    starts = {"flash_": "FlashAttention", "gemv": "cuBLAS", "gemmSN": "cuBLAS", "gemmk1": "cuBLAS",
              "splitKreduce": "cuBLAS", "implicit_convolve": "cuDNN", "wgrad_alg": "cuDNN",
              "vector_fft": "cuFFT", "composite_2way_fft": "cuFFT"}  # fmt: skip
    by_start = (name for start, name in starts.items() if words[-1].startswith(start))
    return next(by_start, _by_content(words[-1], plain))


def _by_content(function: str, plain: str) -> str:
    if function in PYTORCH:
        return "PyTorch"
    if "__5x_cudnn" in plain:
        return "cuDNN"
    return "cuBLAS" if re.search(r"<.*\bcublas[A-Z]", plain) else "C++"


def _arguments(function: str, inside: str, nested: Nested) -> list[Part]:
    found: list[Part] = []
    meanings = KERNELS.get(function, ("", ()))[1]
    for number, text in enumerate(split_arguments(inside)):
        inner = nested(text) or _known_template(text, nested)
        if inner:
            found += inner
        elif number < len(meanings):
            found.append(Part(text, f"{meanings[number]}: {_short(text)}", _known(function)))
        else:
            found.append(Part(text, f"template argument {number + 1}", "unknown"))
    return found


def _known_template(text: str, nested: Nested) -> list[Part]:
    """An argument that is a template with known arguments, such as Flash_fwd_kernel_traits<64, ...>."""
    head, bracket, rest = text.partition("<")
    if not bracket or not KERNELS.get(head, ("", ()))[1]:
        return []
    return [Part(head, KERNELS[head][0]), *_arguments(head, _until_closed(rest)[0], nested)]


def _short(text: str) -> str:
    """The telling part of an argument: its last name, and of a functor what it does."""
    head = text.split("<")[0].split("::")[-1].strip()
    told = KERNELS.get(head, ("",))[0]
    return f"{head} ({told})" if told else head or text


def _until_closed(rest: str) -> tuple[str, str]:
    """The text up to the > that closes a < before it, and what follows; all of it if cut off."""
    depth = 1
    for at, letter in enumerate(rest):
        depth += (letter in "<") - (letter == ">" and rest[at - 1] != "-")
        if depth == 0:
            return rest[:at], rest[at + 1 :]
    return rest, ""
