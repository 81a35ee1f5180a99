"""What NumPy and CuPy share under one name with one meaning; the stand-in offers nothing else."""

from collections.abc import Callable, Iterable
from types import ModuleType

FUNCTIONS = frozenset(
    """
    abs absolute add all allclose amax amin angle any append arange arccos arccosh arcsin arcsinh arctan
    arctan2 arctanh argmax argmin argpartition argsort argwhere around array_equal array_split atleast_1d
    atleast_2d atleast_3d average bincount bitwise_and bitwise_not bitwise_or bitwise_xor broadcast_arrays
    broadcast_to can_cast cbrt ceil clip column_stack concatenate conj conjugate convolve copy copysign
    copyto corrcoef correlate cos cosh count_nonzero cov cross cumprod cumsum deg2rad degrees diag
    diagflat diagonal diff digitize divide divmod dot dsplit dstack einsum equal exp exp2 expand_dims
    expm1 eye fabs fill_diagonal flatnonzero flip fliplr flipud float_power floor floor_divide fmax fmin
    fmod frexp full full_like gcd gradient greater greater_equal heaviside histogram hsplit hstack hypot
    i0 identity imag indices inner interp invert isclose isfinite isin isinf isnan kron lcm ldexp
    left_shift less less_equal linspace log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not
    logical_or logical_xor logspace matmul max maximum mean median meshgrid min minimum mod modf moveaxis
    multiply nan_to_num nanargmax nanargmin nanmax nanmean nanmin nanprod nanstd nansum nanvar negative
    nextafter nonzero not_equal ones ones_like outer pad partition percentile positive power prod
    promote_types ptp quantile rad2deg radians ravel real reciprocal remainder repeat reshape resize
    result_type right_shift rint roll rollaxis rot90 round searchsorted sign signbit sin sinc sinh sort
    split sqrt square squeeze stack std subtract sum swapaxes take take_along_axis tan tanh tensordot tile
    trace transpose trapezoid tri tril triu true_divide trunc union1d unique unravel_index vander var vdot
    vsplit vstack where zeros zeros_like
    """.split()
)

# values and types that NumPy and CuPy hand out as the very same objects
CONSTANTS = frozenset(
    """
    bool bool_ broadcast_shapes complex128 complex64 complexfloating dtype e euler_gamma finfo float16
    float32 float64 floating generic iinfo inexact inf int16 int32 int64 int8 int_ intc integer intp
    issubdtype longlong nan newaxis number pi signedinteger ubyte uint uint16 uint32 uint64 uint8
    uintc uintp ulonglong unsignedinteger
    """.split()
)

LINALG = frozenset("cholesky det eigh inv lstsq matrix_power matrix_rank norm pinv qr solve svd".split())

TESTING = frozenset("assert_allclose assert_array_almost_equal assert_array_equal assert_array_less".split())


def lacking(name: str) -> AttributeError:
    """The error for a name that CuPy may have and the stand-in does not."""
    return AttributeError(
        f"the emulator's stand-in for CuPy has no {name}: use a GPU with CuPy, or plain NumPy on .get()"
    )


def lift(function: Callable, call: Callable) -> Callable:
    """A NumPy function as one of the stand-in's: `call` takes it and the arguments."""

    def lifted(*args, **kwargs):
        return call(function, *args, **kwargs)

    lifted.__name__ = lifted.__qualname__ = function.__name__
    lifted.__doc__ = f"As numpy.{function.__name__}, on arrays of the emulated GPU."
    return lifted


class Namespace:
    """A small module such as `cp.linalg`: the listed names of a NumPy module, every other name an error.

    `call` is as in `lift`.
    """

    def __init__(self, title: str, source: ModuleType, names: Iterable[str], call: Callable) -> None:
        self._title = title
        for name in names:
            setattr(self, name, lift(getattr(source, name), call))

    def __getattr__(self, name: str):
        raise lacking(f"{self._title}.{name}")
