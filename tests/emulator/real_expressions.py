"""Random floating-point expressions beside the integer ones of `expressions`.

Values are NumPy scalars: each operation is rounded once, subnormals are flushed in float as under -ftz=true,
and nothing is contracted (compile with -fmad=false).
"""

import math
from fractions import Fraction

import numpy as np

from .expressions import Expression, IntegerGenerator

FLOATS = {"float": np.float32, "double": np.float64}
TINY = np.finfo(np.float32).tiny


def flushed(value: np.floating) -> np.floating:
    """Subnormal floats become zero; doubles stay."""
    if isinstance(value, np.float32) and abs(value) < TINY:
        return np.float32(math.copysign(0.0, float(value)))
    return value


class Generator(IntegerGenerator):
    """Expressions of every type over `variables` (name -> type), the same for the same seed."""

    # -- floats ---------------------------------------------------------------

    def real(self, depth: int, kind: str | None = None) -> Expression:
        """An expression of type float or double."""
        kind = kind or self.rng.choice(tuple(FLOATS))
        makers = [self.real_leaf]
        if depth > 0:
            makers = [
                self.arithmetic, self.arithmetic, self.arithmetic, self.fused, self.root, self.real_choice,
                self.real_extreme, self.real_converted, self.from_integer, self.signed,
            ]  # fmt: skip
        return self.rng.choice(makers)(depth - 1, kind)

    def real_leaf(self, depth: int, kind: str) -> Expression:
        if self.rng.random() < 0.25:
            number = FLOATS[kind](
                self.rng.choice([self.rng.uniform(-4, 4), self.rng.randrange(-9, 10), 2.0**-20])
            )
            text = f"({kind}){float(number)!r}"
            return Expression(f"({text})", kind, lambda env: number)
        name = self.pick(tuple(FLOATS))
        return Expression(f"(({kind}){name})", kind, lambda env: convert(env[name], kind))

    def arithmetic(self, depth: int, kind: str) -> Expression:
        a, b = self.real(depth, kind), self.real(self.rng.randrange(depth + 1), kind)
        sign, function = self.rng.choice(
            [("+", np.add), ("-", np.subtract), ("*", np.multiply), ("/", np.divide)]
        )

        def value(env: dict) -> np.floating:
            return flushed(function(flushed(a.value(env)), flushed(b.value(env))))

        return Expression(f"({a.text} {sign} {b.text})", kind, value)

    def fused(self, depth: int, kind: str) -> Expression:
        a, b, c = self.real(depth, kind), self.real(depth, kind), self.real(0, kind)
        return Expression(f"fma({a.text}, {b.text}, {c.text})", kind,
                          lambda env: flushed(fma(*(flushed(x.value(env)) for x in (a, b, c)))))  # fmt: skip

    def root(self, depth: int, kind: str) -> Expression:
        a = self.real(depth, kind)
        return Expression(f"sqrt(fabs({a.text}))", kind, lambda env: np.sqrt(abs(flushed(a.value(env)))))

    def real_choice(self, depth: int, kind: str) -> Expression:
        a, b = self.real(depth, kind), self.real(depth, kind)
        c, d = self.real(depth, kind), self.real(0, kind)
        sign, holds = self.rng.choice(
            [("<", np.less), (">=", np.greater_equal), ("==", np.equal), ("!=", np.not_equal)]
        )
        return Expression(
            f"({c.text} {sign} {d.text} ? {a.text} : {b.text})", kind,
            lambda env: (a if holds(flushed(c.value(env)), flushed(d.value(env))) else b).value(env),
        )  # fmt: skip

    def real_extreme(self, depth: int, kind: str) -> Expression:
        """Against a constant: of two zeros of different signs either may come out."""
        a = self.real(depth, kind)
        name, function = self.rng.choice([("fmin", np.fmin), ("fmax", np.fmax)])
        three = FLOATS[kind](3)
        return Expression(
            f"{name}({a.text}, ({kind})3)", kind, lambda env: function(flushed(a.value(env)), three)
        )

    def real_converted(self, depth: int, kind: str) -> Expression:
        other = "double" if kind == "float" else "float"
        a = self.real(depth, other)
        return Expression(f"(({kind}){a.text})", kind, lambda env: convert(a.value(env), kind))

    def from_integer(self, depth: int, kind: str) -> Expression:
        a = self.integer(depth)
        return Expression(f"(({kind}){a.text})", kind, lambda env: nearest(a.value(env), kind))

    def signed(self, depth: int, kind: str) -> Expression:
        a = self.real(depth, kind)
        if self.rng.random() < 0.5:
            return Expression(f"(-{a.text})", kind, lambda env: -flushed(a.value(env)))
        return Expression(f"fabs({a.text})", kind, lambda env: abs(flushed(a.value(env))))


def convert(value: np.floating, kind: str) -> np.floating:
    """float <-> double; the float side is flushed."""
    return flushed(FLOATS[kind](flushed(value)))


def nearest(value: int, kind: str) -> np.floating:
    """An integer rounded once (NumPy goes through float64 for float32)."""
    dtype = FLOATS[kind]
    guess = dtype(float(value))
    around = (np.nextafter(guess, dtype(-np.inf)), guess, np.nextafter(guess, dtype(np.inf)))
    return min(around, key=lambda x: (abs(Fraction(float(x)) - value), mantissa(x) & 1))


def mantissa(value: np.floating) -> int:
    """The bits of a float as an integer; its last bit tells which of two neighbours is even."""
    return int(value.view(f"u{value.dtype.itemsize}"))


def fma(a: np.floating, b: np.floating, c: np.floating) -> np.floating:
    """a * b + c rounded once, through exact fractions."""
    dtype = type(a)
    if not (np.isfinite(a) and np.isfinite(b) and np.isfinite(c)):
        return a * b + c if not (np.isfinite(a) and np.isfinite(b)) else dtype(c)
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    if exact == 0:
        return a * b + c if not (a and b) else dtype(0.0)
    with np.errstate(all="ignore"):
        guess = (
            dtype(float(exact)) if abs(exact) < Fraction(2) ** 1020 else dtype(math.copysign(np.inf, exact))
        )
        if not np.isfinite(guess):
            return guess
        around = [
            x
            for x in (np.nextafter(guess, dtype(-np.inf)), guess, np.nextafter(guess, dtype(np.inf)))
            if np.isfinite(x)
        ]
    return min(around, key=lambda x: (abs(Fraction(float(x)) - exact), mantissa(x) & 1))
