"""RawKernel and RawModule as CuPy has them: attributes, errors, and launches."""

import inspect
import io

import numpy as np
import pytest

from course_lib.emulator import RawKernel, RawModule, sass
from course_lib.emulator.errors import (
    ArgumentWarning,
    CompileError,
    EmulatorError,
    LaunchError,
    UnsupportedError,
)

SCALE = """
extern "C" __global__ void scale(float* y, const float* x, float a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}
"""
SHARED = """
extern "C" __global__ void reverse(float* x)
{
    __shared__ float s[64];
    extern __shared__ float more[];
    s[threadIdx.x] = more[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = s[63 - threadIdx.x] + more[threadIdx.x];
}
"""
TEMPLATE = """
template <typename T> __global__ void fill(T* x, T value) { x[threadIdx.x] = value; }
__global__ void plain(int* x) { x[threadIdx.x] = 7; }
"""


def test_launch_changes_arrays_in_place():
    x = np.arange(100, dtype=np.float32)
    y = np.zeros_like(x)
    kernel = RawKernel(SCALE, "scale", options=("-std=c++17",))
    assert kernel((4,), (32,), (y, x, np.float32(3), 90)) is None
    assert y.tolist() == [3 * v for v in range(90)] + [0] * 10


def test_python_float_is_read_raw_as_on_a_gpu():
    x, y = np.ones(1, np.float32), np.zeros(1, np.float32)
    with pytest.warns(ArgumentWarning, match=r"scale: parameter float a: got the Python float 0.1"):
        RawKernel(SCALE, "scale")((1,), (1,), (y, x, 0.1, 1))
    assert y[0] == pytest.approx(-1.588187e-23, rel=1e-6)


def test_transposed_array_shows_its_memory():
    x, y = np.float32([[1, 3], [2, 4]]).T, np.zeros(4, np.float32)
    x = np.asarray(np.float32([[1, 2], [3, 4]]), order="F")  # memory: 1, 3, 2, 4
    with pytest.warns(ArgumentWarning, match="not C-contiguous"):
        RawKernel(SCALE, "scale")((1,), (4,), (y, x, np.float32(1), 4))
    assert y.tolist() == [1, 3, 2, 4]


def test_float64_array_shows_its_bytes():
    y = np.zeros(4, np.float32)
    with pytest.warns(ArgumentWarning, match="dtype float64"):
        RawKernel(SCALE, "scale")((1,), (4,), (y, np.arange(4.0), np.float32(1), 4))
    assert y.tolist() == [0, 0, 0, 1.875]


def test_constructor_and_call_take_what_cupy_takes():
    names = list(inspect.signature(RawKernel.__init__).parameters)[1:]
    assert names == [
        "code", "name", "options", "backend", "translate_cucomplex", "enable_cooperative_groups", "jitify",
    ]  # fmt: skip
    assert list(inspect.signature(RawKernel.__call__).parameters)[1:] == [
        "grid", "block", "args", "shared_mem", "stream",
    ]  # fmt: skip
    names = list(inspect.signature(RawModule.__init__).parameters)[1:]
    assert names == [
        "code", "path", "options", "backend", "translate_cucomplex", "enable_cooperative_groups",
        "name_expressions", "jitify",
    ]  # fmt: skip


def test_attributes():
    kernel = RawKernel(SHARED, "reverse")
    assert kernel.attributes == {
        "max_threads_per_block": 1024,
        "shared_size_bytes": 256,
        "const_size_bytes": 0,
        "local_size_bytes": 0,
        "num_regs": kernel.num_regs,
        "ptx_version": 90,
        "binary_version": 90,
        "cache_mode_ca": 0,
        "max_dynamic_shared_size_bytes": 48 * 1024 - 256,
        "preferred_shared_memory_carveout": -1,
    }
    assert 4 <= kernel.num_regs <= 32
    assert (kernel.name, kernel.code, kernel.options, kernel.backend) == ("reverse", SHARED, (), "nvrtc")
    assert ".entry reverse" in kernel.ptx
    kernel.preferred_shared_memory_carveout = 50
    assert kernel.attributes["preferred_shared_memory_carveout"] == 50


def test_sass_of_a_kernel():
    kernel = RawKernel(SHARED, "reverse")
    if sass.toolkit.tool("nvdisasm") is None:
        pytest.skip("no nvidia-cuda-nvdisasm wheel")
    assert "BAR.SYNC" in kernel.sass


def test_dynamic_shared_memory_is_asked_for():
    kernel = RawKernel(SHARED, "reverse")
    x = np.arange(64, dtype=np.float32)
    with pytest.raises(LaunchError, match="max_dynamic_shared_size_bytes"):
        kernel((1,), (64,), (x,), shared_mem=98304)
    kernel.max_dynamic_shared_size_bytes = 98304
    kernel((1,), (64,), (x,), shared_mem=98304)
    assert x.tolist() == [63] * 64
    with pytest.raises(LaunchError, match="at most 232192"):
        kernel.max_dynamic_shared_size_bytes = 232448
    assert kernel.max_dynamic_shared_size_bytes == 98304


@pytest.mark.parametrize(
    ("grid", "block", "words"),
    [
        ((1, 65536), (1,), "65535"),
        ((1,), (32, 33), "1056 threads; the limit is 1024"),
        ((1,), (1, 1, 65), "block dimension z is 65"),
        (1, (1,), "tuple"),
    ],
)
def test_launch_limits(grid, block, words):
    x = np.zeros(4, np.float32)
    with pytest.raises(LaunchError, match=words):
        RawKernel(SCALE, "scale")(grid, block, (x, x, np.float32(1), 4))


def test_compiles_at_first_use_only():
    kernel = RawKernel("this is not CUDA", "k")
    with pytest.raises(CompileError):
        kernel.compile()


def test_compiler_warnings_go_to_the_stream():
    stream = io.StringIO()
    RawKernel('extern "C" __global__ void k(int* x) { int unused; x[0] = 1; }', "k").compile(stream)
    assert 'variable "unused"' in stream.getvalue()
    RawModule(code='extern "C" __global__ void k(int* x) { int other; x[0] = 1; }').compile(log_stream=stream)
    assert 'variable "other"' in stream.getvalue()


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (SCALE, "'k' is not in the compiled source; it has: scale"),
        ("__global__ void k(int* x) {}", r"it has: _Z1kPi\. C\+\+ changed the name: put extern \"C\" before"),
        ("template <class T> __global__ void k(T* x) {}", "no kernel at all.*name_expressions"),
    ],
)
def test_name_that_is_not_there(code, words):
    with pytest.raises(EmulatorError, match=words):
        RawKernel(code, "k").compile()


def test_flush_to_zero_stays_on_as_in_cupy():
    kernel = RawKernel(SCALE, "scale", ("-ftz=false",))
    with pytest.warns(ArgumentWarning, match="CuPy adds -ftz=true"):
        assert "mul.ftz.f32" in kernel.ptx


@pytest.mark.parametrize("settings", [{"backend": "nvcc"}, {"jitify": True}, {"translate_cucomplex": True}])
def test_what_is_not_emulated_says_so(settings):
    with pytest.raises(UnsupportedError, match="not emulated"):
        RawKernel(SCALE, "scale", **settings)


def test_types_as_in_cupy():
    with pytest.raises(TypeError, match="options must be a tuple"):
        RawKernel(SCALE, "scale", ["-std=c++17"])
    with pytest.raises(TypeError, match="code must be a str"):
        RawKernel(SCALE.encode(), "scale")
    with pytest.raises(TypeError, match="Exactly one"):
        RawModule()
    with pytest.raises(UnsupportedError, match="only CUDA source"):
        RawModule(path="kernel.cubin")


def test_module_of_templates():
    module = RawModule(code=TEMPLATE, name_expressions=["fill<int>", "fill<double>", "plain"])
    x = np.zeros(4, np.int32)
    module.get_function("fill<int>")((1,), (4,), (x, 5))
    assert x.tolist() == [5] * 4
    y = np.zeros(4)
    module.get_function("fill<double>")((1,), (4,), (y, 0.5))
    assert y.tolist() == [0.5] * 4
    module.get_function("plain")((1,), (4,), (x,))
    assert x.tolist() == [7] * 4
    with pytest.warns(ArgumentWarning, match=r"fill<double>: parameter double value: got the Python int 5"):
        module.get_function("fill<double>")((1,), (4,), (y, 5))
    with pytest.raises(EmulatorError, match="'none' is not in the compiled source"):
        module.get_function("none")


def test_cooperative_grid_is_cut_to_what_is_resident():
    kernel = RawKernel(SCALE, "scale", enable_cooperative_groups=True)
    x = np.zeros(4, np.float32)
    args = (x, x, np.float32(1), 4)
    with pytest.warns(ArgumentWarning, match="reduced from 2000 to 264"):
        assert kernel.prepare((2000,), (1024,), args).grid == (264, 1, 1)
    with pytest.raises(LaunchError, match="cooperative"):
        kernel.prepare((2000, 2), (1024,), args)


VARIABLES = """
__constant__ float table[4];
__device__ int counter = 5;
extern "C" __global__ void copy(float* y) { y[threadIdx.x] = table[threadIdx.x]; atomicAdd(&counter, 1); }
extern "C" __global__ void count(int* y) { y[0] = counter; }
"""


def test_module_variables_are_shared_by_its_kernels():
    module = RawModule(code=VARIABLES)
    table = np.ndarray((4,), np.float32, module.get_global("table"))
    table[...] = [1, 2, 3, 4]
    y, n = np.zeros(4, np.float32), np.zeros(1, np.int32)
    module.get_function("copy")((1,), (4,), (y,))
    assert y.tolist() == [1, 2, 3, 4]
    module.get_function("count")((1,), (1,), (n,))
    assert n[0] == 5 + 4
    with pytest.raises(EmulatorError, match=r"it has \['counter', 'table'\]"):
        module.get_global("none")
