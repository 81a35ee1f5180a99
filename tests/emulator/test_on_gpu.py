"""The emulator's RawKernel beside CuPy's on a real GPU: same bytes, same attributes, same refusals."""

import warnings

import numpy as np
import pytest

from course_lib.emulator import RawKernel
from course_lib.emulator.errors import LaunchError

cp = pytest.importorskip("cupy")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("ignore::course_lib.emulator.errors.ArgumentWarning"),
]

SIZES = {"float": 4, "double": 8, "int": 4, "long long": 8, "bool": 1, "short": 2, "unsigned": 4}
LARGE = """
extern "C" __global__ void large(float* x, const float* y)
{
    __shared__ float s[96];
    float v[150];
    #pragma unroll
    for (int i = 0; i < 150; ++i) v[i] = y[i * 7 + threadIdx.x];
    s[threadIdx.x % 96] = v[3];
    __syncthreads();
    for (int j = 0; j < 9; ++j)
    {
        #pragma unroll
        for (int i = 0; i < 150; ++i) v[i] = v[i] * v[(i + 1) % 150] + s[j];
    }
    #pragma unroll
    for (int i = 0; i < 150; ++i) x[i * 7 + threadIdx.x] = v[i];
}
"""


@pytest.fixture(scope="module", autouse=True)
def _gpu():
    try:
        if cp.cuda.runtime.getDeviceCount() == 0:
            pytest.skip("no GPU")
    except cp.cuda.runtime.CUDARuntimeError:
        pytest.skip("no GPU")


def both(source, name, grid, block, args, **launch):
    """Run on the emulator and on the GPU; the first array of each."""
    own = [np.array(a) if isinstance(a, np.ndarray) else a for a in args]
    RawKernel(source, name)(grid, block, tuple(own), **launch)
    theirs = [cp.asarray(a) if isinstance(a, np.ndarray) else a for a in args]
    cp.RawKernel(source, name)(grid, block, tuple(theirs), **launch)
    return own[0], cp.asnumpy(theirs[0])


@pytest.mark.parametrize("ctype", SIZES)
@pytest.mark.parametrize(
    "value", [2.0, 0.1, 3.14, 7, -1, 2**40 + 5, True, 1 + 2j, np.float32(0.5), np.int64(9), np.complex64(1j)]
)
def test_a_scalar_arrives_as_the_same_bytes(ctype, value):
    size = SIZES[ctype]
    if np.asarray(value).itemsize < size:
        pytest.skip("a GPU reads past the value")
    source = f"""extern "C" __global__ void k(unsigned char* y, {ctype} a)
    {{ for (int i = 0; i < {size}; ++i) y[i] = reinterpret_cast<const unsigned char*>(&a)[i]; }}"""
    emulated, real = both(source, "k", (1,), (1,), (np.zeros(8, np.uint8), value))
    if ctype != "bool":  # the compiler may take any nonzero bool for 1
        assert emulated.tolist() == real.tolist()


@pytest.mark.parametrize(("grid", "block"), [((0,), (1,)), ((2, 0), (4,)), ((3,), (2, 2))])
def test_dimensions_are_taken_alike(grid, block):
    source = """extern "C" __global__ void k(int* y)
    { y[0] = gridDim.x; y[1] = gridDim.y; y[2] = blockDim.x; y[3] = blockDim.y; }"""
    emulated, real = both(source, "k", grid, block, (np.zeros(4, np.int32),))
    assert emulated.tolist() == real.tolist()


def test_attributes_are_those_of_the_driver():
    own, theirs = RawKernel(LARGE, "large").attributes, cp.RawKernel(LARGE, "large").attributes
    exact = ["shared_size_bytes", "const_size_bytes", "max_dynamic_shared_size_bytes"]
    assert {name: own[name] for name in exact} == {name: theirs[name] for name in exact}
    if own["binary_version"] == theirs["binary_version"]:
        assert abs(own["num_regs"] - theirs["num_regs"]) <= 2
        assert abs(own["max_threads_per_block"] - theirs["max_threads_per_block"]) <= 128


@pytest.mark.parametrize(
    ("grid", "block", "shared"),
    [
        ((1, 65536), (1,), 0),
        ((1,), (32, 33), 0),
        ((1,), (1, 1, 65), 0),
        ((1,), (512,), 0),
        ((1,), (1,), 98304),
    ],
)
def test_what_one_refuses_the_other_refuses(grid, block, shared):
    x = np.zeros(2000, np.float32)
    with pytest.raises(LaunchError):
        RawKernel(LARGE, "large")(grid, block, (x, x), shared_mem=shared)
    with pytest.raises(cp.cuda.driver.CUDADriverError):
        cp.RawKernel(LARGE, "large")(grid, block, (cp.asarray(x), cp.asarray(x)), shared_mem=shared)


def test_flush_to_zero_cannot_be_turned_off():
    source = 'extern "C" __global__ void k(float* y) { y[1] = y[0] * 1e-20f; }'
    y = np.float32([1e-20, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own, theirs = y.copy(), cp.asarray(y)
        RawKernel(source, "k", ("-ftz=false",))((1,), (1,), (own,))
        cp.RawKernel(source, "k", ("-ftz=false",))((1,), (1,), (theirs,))
    assert own[1] == theirs[1].item() == 0
