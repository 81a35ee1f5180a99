"""`cp.random` over NumPy's generators: the distributions and dtypes of CuPy's, not its numbers."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from .arrays import device, host, ndarray
from .names import lacking

Size = int | tuple[int, ...] | None


class RandomState:
    """A source of random arrays, as `cupy.random.RandomState`."""

    def __init__(self, seed: int | None = None) -> None:
        self._source = np.random.RandomState(seed)

    def seed(self, seed: int | None = None) -> None:
        """Start the sequence again."""
        self._source.seed(seed)

    def rand(self, *size: int, dtype: DTypeLike = float) -> ndarray:
        """Uniform in [0, 1)."""
        return self.random_sample(size, dtype)

    def randn(self, *size: int, dtype: DTypeLike = float) -> ndarray:
        """Standard normal."""
        return self.standard_normal(size, dtype)

    def random_sample(self, size: Size = None, dtype: DTypeLike = float) -> ndarray:
        """Uniform in [0, 1), also where rounding to `dtype` would give 1."""
        return _typed(self._source.random_sample(size), dtype, below=1)

    random = random_sample

    def standard_normal(self, size: Size = None, dtype: DTypeLike = float) -> ndarray:
        """Normal with mean 0 and deviation 1."""
        return _typed(self._source.standard_normal(size), dtype)

    def normal(
        self, loc: float = 0.0, scale: float = 1.0, size: Size = None, dtype: DTypeLike = float
    ) -> ndarray:
        """Normal with mean `loc` and deviation `scale`."""
        return _typed(self._source.normal(loc, scale, size), dtype)

    def uniform(
        self, low: float = 0.0, high: float = 1.0, size: Size = None, dtype: DTypeLike = float
    ) -> ndarray:
        """Uniform in [low, high)."""
        return _typed(self._source.uniform(low, high, size), dtype)

    def randint(
        self, low: int, high: int | None = None, size: Size = None, dtype: DTypeLike = int
    ) -> ndarray:
        """Integers in [low, high)."""
        return device(np.asarray(self._source.randint(low, high, size, dtype)))

    def choice(
        self, a: ArrayLike, size: Size = None, replace: bool = True, p: ArrayLike | None = None
    ) -> ndarray:
        """Draw elements of an array, or of range(a)."""
        return device(np.asarray(self._source.choice(host(a), size, replace, host(p))))

    def permutation(self, a: ArrayLike) -> ndarray:
        """A shuffled copy of an array, or of range(a)."""
        return device(self._source.permutation(host(a)))

    def shuffle(self, a: ndarray) -> None:
        """Shuffle an array in place, along its first axis."""
        self._source.shuffle(host(a))


class Generator:
    """A source of random arrays, as `cupy.random.Generator`."""

    def __init__(self, seed: int | None = None) -> None:
        self._source = np.random.default_rng(seed)

    def random(self, size: Size = None, dtype: DTypeLike = np.float64) -> ndarray:
        """Uniform in [0, 1), float32 or float64."""
        return device(np.asarray(self._source.random(size, dtype)))

    def standard_normal(self, size: Size = None, dtype: DTypeLike = np.float64) -> ndarray:
        """Normal with mean 0 and deviation 1, float32 or float64."""
        return device(np.asarray(self._source.standard_normal(size, dtype)))

    def uniform(
        self, low: float = 0.0, high: float = 1.0, size: Size = None, dtype: DTypeLike = np.float64
    ) -> ndarray:
        """Uniform in [low, high)."""
        return _typed(self._source.uniform(low, high, size), dtype)

    def integers(
        self,
        low: int,
        high: int | None = None,
        size: Size = None,
        dtype: DTypeLike = np.int64,
        endpoint: bool = False,
    ) -> ndarray:
        """Integers in [low, high), or up to `high` with `endpoint`."""
        return device(np.asarray(self._source.integers(low, high, size, dtype, endpoint)))


default_rng = Generator
_global = RandomState()


def __getattr__(name: str) -> Any:
    if not name.startswith("_") and hasattr(RandomState, name):
        return getattr(_global, name)
    raise lacking(f"cp.random.{name}")


def _typed(values: ArrayLike, dtype: DTypeLike, below: float | None = None) -> ndarray:
    """Random float64 values rounded to `dtype`, and kept below a bound that rounding could reach."""
    values = np.asarray(values).astype(dtype)
    if below is not None:
        values = np.minimum(values, np.nextafter(values.dtype.type(below), values.dtype.type(0)))
    return device(np.asarray(values))
