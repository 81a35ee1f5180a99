"""Argument packing: the bytes CuPy would pass, and the warnings it does not give."""

import numpy as np
import pytest
from ipykernel.compiler import get_file_name

from course_lib.emulator.arguments import pack, warn_author
from course_lib.emulator.errors import ArgumentError, ArgumentWarning
from course_lib.emulator.ptx import SIZES, Parameter
from course_lib.emulator.signature import parse_signature

PTX = {
    "float": "f32", "double": "f64", "int": "u32", "unsigned": "u32", "long long": "u64", "size_t": "u64",
    "unsigned long long": "u64", "bool": "u8", "char": "s8", "short": "u16", "real": "f32", "index_t": "u32",
}  # fmt: skip
STRUCTURES = {"half": 2, "float4": 16, "Pair": 8}


def parameter(ctype):
    if "*" in ctype:
        return Parameter("p", "u64", 8, 8)
    if ctype in STRUCTURES:
        return Parameter("p", "b8", STRUCTURES[ctype], 2)
    return Parameter("p", PTX[ctype], SIZES[PTX[ctype]], SIZES[PTX[ctype]])


def pack_one(value, ctype, const=""):
    source = f"__global__ void k({const} {ctype} a) {{}}"
    return pack((value,), [parameter(ctype)], parse_signature(source, "k"), "k")[0]


def pack_unknown(value, ctype):
    return pack((value,), [parameter(ctype)], None, "k")[0]


def as_float(raw):
    return np.frombuffer(raw, np.float32)[0]


@pytest.mark.parametrize(
    ("value", "read"), [(2.0, 0.0), (0.1, -1.588187e-23), (3.14, 1.264438e11), (7, 1e-44), (-1.5, 0.0)]
)
def test_python_number_to_a_float_parameter_is_read_raw(value, read):
    # first four rows: what CuPy does on a GPU
    with pytest.warns(ArgumentWarning) as caught:
        raw = pack_one(value, "float")
    assert as_float(raw) == pytest.approx(read, rel=1e-6)
    message = str(caught[0].message)
    assert "k: parameter float a" in message
    assert f"the Python {type(value).__name__} {value}" in message
    assert f"write cp.float32({value})" in message
    assert f"as {np.float32(as_float(raw))!s};" in message


@pytest.mark.parametrize(
    ("value", "ctype"),
    [
        (np.float32(0.1), "float"),
        (np.float32("nan"), "float"),
        (0.1, "double"),
        (np.float16(2), "half"),
        (7, "int"),
        (-(2**31), "int"),
        (2**32 - 1, "unsigned"),
        (7, "long long"),
        (7, "size_t"),
        (2**63, "unsigned long long"),
        (np.int64(7), "int"),
        (np.int32(7), "unsigned"),
        (True, "bool"),
        (1, "bool"),
        (-5, "char"),
        (np.float32(1), "real"),
        (-1, "index_t"),
        (2**32 - 1, "index_t"),
    ],
)
def test_a_value_that_arrives_is_silent(value, ctype):
    scalar = np.asarray(value)[()]
    assert pack_one(value, ctype) == scalar.tobytes()[: parameter(ctype).size]


@pytest.mark.parametrize(
    ("value", "ctype", "words"),
    [
        (2**31, "int", "as -2147483648"),
        (-1, "unsigned", "as 4294967295"),
        (-1, "size_t", "as 18446744073709551615"),
        (300, "char", "as 44"),
        (7, "double", "cp.float64(7)"),
        (2, "bool", "cp.bool_(2)"),
        (2.0, "int", "cp.int32(2.0)"),
        (np.float64(2), "float", "cp.float32(2.0)"),
        (np.int32(2), "float", "cp.float32(2)"),
        (2.0, "half", "cp.float16(2.0)"),
        (1j, "float", "complex"),
        (2.0, "real", "the first 4 bytes"),
        (3.5, "index_t", "float64"),
    ],
)
def test_a_value_that_does_not_arrive_warns(value, ctype, words):
    with pytest.warns(ArgumentWarning) as caught:
        raw = pack_one(value, ctype)
    assert raw == np.asarray(value)[()].tobytes()[: parameter(ctype).size]
    assert words in str(caught[0].message)


@pytest.mark.parametrize(
    ("value", "ctype"),
    [(np.int32(7), "long long"), (np.float32(1), "double"), (True, "int"), (np.float16(1), "float")],
)
def test_too_few_bytes_are_filled_with_zeros_and_warn(value, ctype):
    with pytest.warns(ArgumentWarning, match=r"only \d \(on a GPU the rest is whatever follows"):
        raw = pack_one(value, ctype)
    own = np.asarray(value)[()].tobytes()
    assert raw == own.ljust(parameter(ctype).size, b"\0")


def test_without_a_signature_the_ptx_type_decides():
    assert pack_unknown(np.float32(2), "float") == np.float32(2).tobytes()
    assert pack_unknown(7, "int") == np.int32(7).tobytes()
    with pytest.warns(ArgumentWarning, match=r"parameter 1 \(float\): got the Python float 2.0"):
        pack_unknown(2.0, "float")
    array = np.zeros(3)
    assert pack_unknown(array, "float*") is array


def test_structures_by_value():
    pair = np.zeros(1, np.dtype([("a", np.float32), ("b", np.int32)]))
    pair["a"], pair["b"] = 1.5, 7
    assert pack_one(pair[0], "Pair") == pair.tobytes()
    assert pack_one(pair, "Pair") == pair.tobytes()
    assert pack_one(pair.reshape(()), "Pair") == pair.tobytes()
    quad = np.zeros(1, np.dtype([(c, np.float32) for c in "xyzw"]))
    assert pack_one(quad[0], "float4") == bytes(16)
    words = "has 16 bytes, but the Python float 1.0 has 8; pass a structured NumPy scalar of 16 bytes"
    with pytest.warns(ArgumentWarning, match=words):
        pack_one(1.0, "float4")


@pytest.mark.parametrize(
    ("dtype", "ctype"),
    [
        ("float32", "float*"),
        ("int32", "unsigned*"),
        ("uint8", "char*"),
        ("bool", "bool*"),
        ("float16", "half*"),
        ("complex64", "float*"),
        ("float32", "float4*"),
        ("complex64", "float2*"),
        ("float64", "void*"),
        ("int16", "Something*"),
        ("float32", "Pair*"),
    ],
)
def test_arrays_that_fit_pass_themselves(dtype, ctype):
    array = np.zeros(8, dtype)
    assert pack_one(array, ctype) is array


@pytest.mark.parametrize(
    ("dtype", "ctype", "advice"),
    [
        ("float64", "float*", "x.astype(cp.float32)"),
        ("int64", "int*", "x.astype(cp.int32)"),
        ("int32", "float*", "x.view(cp.float32) if you mean the bits"),
        ("float32", "half*", "x.astype(cp.float16)"),
        ("float64", "float4*", "x.astype(cp.float32)"),
        ("bool", "int*", "x.astype(cp.int32)"),
    ],
)
def test_arrays_of_another_type_warn(dtype, ctype, advice):
    array = np.zeros(8, dtype)
    with pytest.warns(ArgumentWarning) as caught:
        assert pack_one(array, ctype) is array
    message = str(caught[0].message)
    assert f"array of dtype {dtype}" in message
    assert f"as {ctype[:-1]}" in message
    assert advice in message


def test_float64_array_read_as_float():
    with pytest.warns(ArgumentWarning, match="dtype float64"):
        array = pack_one(np.arange(4.0), "float*")
    assert array.view(np.float32)[:4].tolist() == [0, 0, 0, 1.875]


@pytest.mark.parametrize(
    "array", [np.float32([[1, 3], [2, 4]]).T, np.zeros(8, np.float32)[::2], np.zeros(8, np.float32)[::-1]]
)
def test_layout_that_does_not_travel_warns(array):
    with pytest.warns(ArgumentWarning, match=r"not C-contiguous.*cp\.ascontiguousarray"):
        assert pack_one(array, "float*", "const") is array


def test_a_view_with_an_offset_is_fine():
    array = np.zeros(200, np.float32)[1:129]
    assert pack_one(array, "float*") is array


def test_read_only_arrays():
    array = np.zeros(4, np.float32)
    array.flags.writeable = False
    assert pack_one(array, "float*", "const") is array
    assert pack_unknown(array, "float*") is array
    with pytest.raises(ArgumentError, match=r"read-only.*x\.copy\(\)"):
        pack_one(array, "float*")


@pytest.mark.parametrize(
    ("value", "ctype", "words"),
    [
        (np.zeros(4, ">f4"), "float*", r"foreign byte order; pass x.astype\('<f4'\)"),
        (np.array([None]), "float*", "Python objects"),
        (np.zeros(4, np.float32), "float", r"passed by value, but got an array of shape \(4,\)"),
        (np.zeros(1), "float", r"write cp.float32\(n\)"),
        (2.0, "float*", r"is a pointer, but got the Python float 2.0; pass an array"),
        (np.float32(2), "float*", r"cp.full\(1, 2.0, dtype=cp.float32\)"),
        (4096, "float*", "is a pointer"),
        ([1, 2], "float", "cannot take a list"),
        ("2", "int", "cannot take a str"),
        (b"2", "int", "cannot take a bytes"),
        (2**64, "size_t", "64 bits"),
        (None, "int", "got None"),
        (np.datetime64("2020"), "long long", "cannot take"),
    ],
)
def test_what_cannot_be_passed(value, ctype, words):
    with pytest.raises(ArgumentError, match=words):
        pack_one(value, ctype)


def test_null_pointers():
    assert pack_one(0, "float*") == bytes(8)
    with pytest.warns(ArgumentWarning, match="null pointer"):
        assert pack_one(None, "float*") == bytes(8)


def test_array_of_one_number_by_value_warns():
    with pytest.warns(ArgumentWarning, match=r"pass its pointer; write cp.float32\(x\)"):
        assert pack_one(np.float32([2]), "float") == np.float32(2).tobytes()


def test_array_of_a_gpu_is_refused():
    class OnGpu:
        __cuda_array_interface__ = {}  # noqa: RUF012

    with pytest.raises(ArgumentError, match=r"cp\.asnumpy"):
        pack_one(OnGpu(), "float*")


def test_wrong_count_names_the_parameters():
    source = "__global__ void scale(float *y, const float* x, int n) {}"
    parameters = [parameter(c) for c in ("float*", "float*", "int")]
    with pytest.raises(ArgumentError) as caught:
        pack((np.zeros(1), 3), parameters, parse_signature(source, "scale"), "scale")
    assert str(caught.value) == "scale takes 3 arguments (float* y, float* x, int n), but 2 were given"
    with pytest.raises(ArgumentError, match=r"takes 1 argument \(64-bit integer or pointer\), but 0 were"):
        pack((), parameters[:1], None, "k")


@pytest.mark.parametrize("args", [np.zeros(3), 5, iter(())])
def test_args_must_be_a_tuple(args):
    with pytest.raises(ArgumentError, match=r"write \(x,\)"):
        pack(args, [], None, "k")


def test_a_signature_that_the_ptx_contradicts_is_not_believed():
    # `#define float double`: the text says 4 bytes, the PTX 8
    signature = parse_signature("__global__ void k(float a) {}", "k")
    assert pack((2.0,), [parameter("double")], signature, "k") == [np.float64(2).tobytes()]


def test_warning_points_at_the_caller():
    with pytest.warns(ArgumentWarning) as caught:
        pack_one(2.0, "float")
    assert caught[0].filename == __file__


def test_a_pointer_to_pointers_takes_an_array_of_addresses():
    assert pack_one(np.zeros(2, np.uint64), "float**").dtype == np.uint64
    with pytest.warns(ArgumentWarning, match=r"reads as float\*; pass x.astype\(cp.uint64\)"):
        pack_one(np.zeros(2, np.float32), "float**")


def test_a_warning_in_a_notebook_names_no_temporary_file():
    """The kernel of JupyterLab compiles a cell under a name that holds its process number."""
    cell = "\n\nwarn('text')"
    name = get_file_name(cell)
    with pytest.warns(ArgumentWarning) as caught:
        exec(compile(cell, name, "exec"), {"__name__": "__main__", "warn": warn_author})
    assert "ipykernel" in name
    assert (caught[0].filename, caught[0].lineno) == ("this cell", 3)
