"""Random expressions compiled by NVRTC, against Python's integers and floats rounded once per operation."""

import numpy as np
import pytest

from .cuda import run
from .expressions import INTEGERS, WIDE, wrap
from .real_expressions import FLOATS, Generator

LANES = 64
PER_KERNEL = 24
OPTIONS = ("-fmad=false",)


def inputs(seed: int) -> dict[str, tuple[str, np.ndarray]]:
    """name -> (type, one value per lane): two of each type, corner values among them."""
    rng = np.random.default_rng(seed)
    found = {}
    for k, (kind, (bits, signed)) in enumerate(INTEGERS.items()):
        corners = [0, 1, -1, 2 ** (bits - 1) - 1, 2 ** (bits - 1), 7]
        raw = [int.from_bytes(rng.bytes(8), "little") >> int(rng.integers(0, 60)) for _ in range(LANES)]
        dtype = np.dtype(f"{'i' if signed else 'u'}{bits // 8}")
        found[f"n{k}"] = kind, np.array([wrap(x, kind) for x in corners + raw][:LANES], dtype)
    for k, (kind, dtype) in enumerate(FLOATS.items()):
        values = rng.standard_normal(2 * LANES) * 2.0 ** rng.integers(-20, 20, 2 * LANES)
        values[:6] = 0, -0.0, 1, -1, 0.5, 3
        found[f"x{k}"] = kind, values[:LANES].astype(dtype)
        found[f"y{k}"] = kind, values[LANES:].astype(dtype)
    return found


def compare(expressions: list, variables: dict[str, tuple[str, np.ndarray]]) -> None:
    kinds = {one.kind for one in expressions}
    (kind,) = kinds
    dtype = FLOATS.get(kind) or np.dtype(f"{'i' if INTEGERS[kind][1] else 'u'}{INTEGERS[kind][0] // 8}")
    loads = " ".join(f"{k} {name} = p_{name}[i];" for name, (k, _) in variables.items())
    stores = "\n".join(f"out[{k} * {LANES} + i] = {one.text};" for k, one in enumerate(expressions))
    parameters = ", ".join([f"{kind} *out", *(f"const {k} *p_{name}" for name, (k, _) in variables.items())])
    arrays = [array for _, array in variables.values()]
    out = run(f"int i = threadIdx.x; {loads}\n{stores}", np.zeros(len(expressions) * LANES, dtype), *arrays,
              parameters=parameters, block=LANES, options=OPTIONS)  # fmt: skip
    for one, row in zip(expressions, out.reshape(-1, LANES), strict=True):
        for lane in range(LANES):
            env = {name: int(a[lane]) if k in INTEGERS else a[lane] for name, (k, a) in variables.items()}
            with np.errstate(all="ignore"):
                wanted = one.value(env)
            same = row[lane] == wanted or (row[lane] != row[lane] and wanted != wanted)
            assert same, f"{one.text}\nlane {lane}: {row[lane]!r}, wanted {wanted!r}, {env}"


@pytest.mark.parametrize("kind", WIDE)
@pytest.mark.parametrize("seed", range(3))
def test_integers(seed: int, kind: str) -> None:
    variables = inputs(seed)
    generator = Generator(seed, {name: k for name, (k, _) in variables.items()})
    compare([generator.integer(3, kind) for _ in range(PER_KERNEL)], variables)


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("seed", range(5))
def test_floats(seed: int, kind: str) -> None:
    variables = inputs(100 + seed)
    generator = Generator(seed, {name: k for name, (k, _) in variables.items()})
    compare([generator.real(3, kind) for _ in range(PER_KERNEL)], variables)
