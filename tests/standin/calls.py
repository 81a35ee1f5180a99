"""One call of every array function the stand-in offers, on a module `cp` that may be CuPy or the stand-in."""

import numpy as np

UNARY = """
    abs absolute angle arcsinh arctan around cbrt ceil conj conjugate copy cos cosh deg2rad degrees exp
    exp2 expm1 fabs floor i0 imag isfinite isinf isnan logical_not nan_to_num negative positive rad2deg
    radians ravel real reciprocal rint round sign signbit sin sinc sinh sort square squeeze tan tanh
    transpose trunc argsort argwhere atleast_1d atleast_2d atleast_3d flatnonzero diff ones_like
    zeros_like trace diag diagonal tril triu fliplr flipud flip rot90 gradient median unique
""".split()
REDUCTIONS = """
    all any amax amin argmax argmin count_nonzero cumprod cumsum max mean min nanargmax nanargmin nanmax
    nanmean nanmin nanprod nanstd nansum nanvar prod ptp std sum var average
""".split()
BINARY = """
    add arctan2 copysign divide divmod equal floor_divide float_power fmax fmin fmod greater greater_equal
    heaviside hypot isclose less less_equal logaddexp logaddexp2 logical_and logical_or logical_xor
    maximum minimum mod multiply nextafter not_equal power remainder subtract true_divide dot inner kron
    matmul outer vdot cross
""".split()
INTEGER = """
    bitwise_and bitwise_or bitwise_xor gcd lcm left_shift right_shift isin union1d
""".split()
POSITIVE = "sqrt log log10 log1p log2".split()
UNIT = "arccos arcsin arctanh".split()


def _square(cp):
    return cp.asarray(np.array([[0.5, -1.25, 2.0], [3.5, 1.0, -0.5], [0.25, 7.0, 1.5]], np.float32))


def _other(cp):
    return cp.asarray(np.array([[1.5, 2.25, 2.0], [0.5, 1.0, 4.0], [1.25, 3.0, 0.75]], np.float32))


def _ints(cp):
    return cp.asarray(np.array([12, 18, 7, 3], np.int32)), cp.asarray(np.array([4, 6, 3, 3], np.int32))


def _copyto(cp):
    target = cp.zeros((3, 3), np.float32)
    cp.copyto(target, _square(cp))
    return target


def _fill_diagonal(cp):
    target = _square(cp)
    cp.fill_diagonal(target, 9)
    return target


def _v(cp):
    return cp.asarray(np.array([1.0, 2.0, 4.0, 8.0], np.float64))


CALLS = {name: lambda cp, n=name: getattr(cp, n)(_square(cp)) for name in UNARY + REDUCTIONS}
CALLS |= {name: lambda cp, n=name: getattr(cp, n)(_square(cp), _other(cp)) for name in BINARY}
CALLS |= {name: lambda cp, n=name: getattr(cp, n)(*_ints(cp)) for name in INTEGER}
CALLS |= {name: lambda cp, n=name: getattr(cp, n)(_other(cp)) for name in POSITIVE}
CALLS |= {name: lambda cp, n=name: getattr(cp, n)(_other(cp) / 8) for name in UNIT}
CALLS |= {
    "allclose": lambda cp: cp.allclose(_square(cp), _square(cp)),
    "append": lambda cp: cp.append(_v(cp), 3.0 * _v(cp)),
    "arange": lambda cp: cp.arange(1, 9, 2, dtype=np.float32),
    "arccosh": lambda cp: cp.arccosh(_v(cp)),
    "argpartition": lambda cp: cp.argpartition(_v(cp), 1)[:1],
    "array_equal": lambda cp: cp.array_equal(_square(cp), _other(cp)),
    "array_split": lambda cp: cp.array_split(_v(cp), 3),
    "bincount": lambda cp: cp.bincount(_ints(cp)[1]),
    "bitwise_not": lambda cp: cp.bitwise_not(_ints(cp)[0]),
    "broadcast_arrays": lambda cp: cp.broadcast_arrays(_square(cp), _square(cp)[0]),
    "broadcast_to": lambda cp: cp.broadcast_to(_v(cp), (2, 4)),
    "clip": lambda cp: cp.clip(_square(cp), 0, 1),
    "column_stack": lambda cp: cp.column_stack((_v(cp), _v(cp))),
    "concatenate": lambda cp: cp.concatenate([_square(cp), _other(cp)], axis=1),
    "convolve": lambda cp: cp.convolve(_v(cp), _v(cp)),
    "copyto": _copyto,
    "corrcoef": lambda cp: cp.corrcoef(_square(cp)),
    "correlate": lambda cp: cp.correlate(_v(cp), _v(cp), mode="full"),
    "cov": lambda cp: cp.cov(_square(cp)),
    "diagflat": lambda cp: cp.diagflat(_v(cp)),
    "digitize": lambda cp: cp.digitize(_square(cp).ravel(), _v(cp)),
    "dsplit": lambda cp: cp.dsplit(_v(cp).reshape(1, 1, 4), 2),
    "dstack": lambda cp: cp.dstack((_v(cp), _v(cp))),
    "einsum": lambda cp: cp.einsum("ij,jk->ik", _square(cp), _other(cp)),
    "can_cast": lambda cp: cp.can_cast(np.float64, np.float32),
    "expand_dims": lambda cp: cp.expand_dims(_v(cp), 0),
    "fill_diagonal": _fill_diagonal,
    "eye": lambda cp: cp.eye(3, dtype=np.float32),
    "frexp": lambda cp: cp.frexp(_v(cp)),
    "full": lambda cp: cp.full((2, 2), 7, np.int32),
    "full_like": lambda cp: cp.full_like(_v(cp), 2),
    "histogram": lambda cp: cp.histogram(_v(cp), bins=4),
    "hsplit": lambda cp: cp.hsplit(_v(cp), 2),
    "hstack": lambda cp: cp.hstack((_v(cp), _v(cp))),
    "identity": lambda cp: cp.identity(2),
    "indices": lambda cp: cp.indices((2, 3)),
    "interp": lambda cp: cp.interp(cp.asarray([1.5, 3.0]), _v(cp), _v(cp)),
    "invert": lambda cp: cp.invert(_ints(cp)[0]),
    "ldexp": lambda cp: cp.ldexp(_v(cp), _ints(cp)[1]),
    "linspace": lambda cp: cp.linspace(0, 1, 5),
    "logspace": lambda cp: cp.logspace(0, 2, 3),
    "meshgrid": lambda cp: cp.meshgrid(_v(cp), _v(cp)),
    "modf": lambda cp: cp.modf(_square(cp)),
    "moveaxis": lambda cp: cp.moveaxis(cp.zeros((2, 3, 4)), 0, -1),
    "nonzero": lambda cp: cp.nonzero(_square(cp) > 1),
    "ones": lambda cp: cp.ones((2, 3)),
    "pad": lambda cp: cp.pad(_v(cp), 2),
    "partition": lambda cp: cp.partition(_v(cp), 1)[:2],
    "percentile": lambda cp: cp.percentile(_v(cp), 25),
    "promote_types": lambda cp: cp.zeros(1, cp.promote_types(np.int32, np.float32)),
    "result_type": lambda cp: cp.zeros(1, cp.result_type(_square(cp), np.float64)),
    "quantile": lambda cp: cp.quantile(_v(cp), 0.25),
    "repeat": lambda cp: cp.repeat(_v(cp), 2),
    "reshape": lambda cp: cp.reshape(_v(cp), (2, 2)),
    "resize": lambda cp: cp.resize(_v(cp), (3, 3)),
    "roll": lambda cp: cp.roll(_v(cp), 1),
    "rollaxis": lambda cp: cp.rollaxis(cp.zeros((2, 3, 4)), 2),
    "searchsorted": lambda cp: cp.searchsorted(_v(cp), cp.asarray([3.0, 8.0])),
    "split": lambda cp: cp.split(_v(cp), 2),
    "stack": lambda cp: cp.stack([_v(cp), _v(cp)]),
    "swapaxes": lambda cp: cp.swapaxes(_square(cp), 0, 1),
    "take": lambda cp: cp.take(_v(cp), cp.asarray([0, 3])),
    "take_along_axis": lambda cp: cp.take_along_axis(_square(cp), cp.argsort(_square(cp), axis=1), axis=1),
    "tensordot": lambda cp: cp.tensordot(_square(cp), _other(cp), axes=1),
    "tile": lambda cp: cp.tile(_v(cp), 2),
    "trapezoid": lambda cp: cp.trapezoid(_v(cp)),
    "tri": lambda cp: cp.tri(3),
    "unravel_index": lambda cp: cp.unravel_index(cp.asarray([3, 7]), (3, 3)),
    "vander": lambda cp: cp.vander(_v(cp), 3),
    "vsplit": lambda cp: cp.vsplit(_square(cp), 3),
    "vstack": lambda cp: cp.vstack([_v(cp), _v(cp)]),
    "where": lambda cp: cp.where(_square(cp) > 1, _square(cp), _other(cp)),
    "zeros": lambda cp: cp.zeros(4, np.int64),
}

# what a lesson does with arrays beside calling functions
EXPRESSIONS = {
    "element": lambda cp: _square(cp)[1, 2],
    "last": lambda cp: _v(cp)[-1],
    "row": lambda cp: _square(cp)[1],
    "mask": lambda cp: _square(cp)[_square(cp) > 1],
    "index array": lambda cp: _v(cp)[cp.asarray([2, 0])],
    "method sum": lambda cp: _square(cp).sum(),
    "method mean": lambda cp: _square(cp).mean(axis=0),
    "method max": lambda cp: _square(cp).max(),
    "method argmax": lambda cp: _square(cp).argmax(),
    "method all": lambda cp: (_square(cp) == _square(cp)).all(),
    "method dot": lambda cp: _v(cp).dot(_v(cp)),
    "matmul of vectors": lambda cp: _v(cp) @ _v(cp),
    "float32 times Python float": lambda cp: _square(cp) * 2.5,
    "float32 times int": lambda cp: 3 * _square(cp),
    "float32 plus float64 array": lambda cp: _square(cp)[0] + _v(cp)[:3],
    "int32 divided": lambda cp: _ints(cp)[0] / _ints(cp)[1],
    "astype": lambda cp: _square(cp).astype(np.int32),
    "transpose": lambda cp: _square(cp).T,
    "reshape": lambda cp: _v(cp).reshape(2, -1),
    "copy of a view": lambda cp: _v(cp)[::2].copy(),
    "sum of ints": lambda cp: _ints(cp)[0].sum(),
    "linalg.norm": lambda cp: cp.linalg.norm(_v(cp)),
    "linalg.inv": lambda cp: cp.linalg.inv(_square(cp)),
    "linalg.solve": lambda cp: cp.linalg.solve(_square(cp), _other(cp)),
}
