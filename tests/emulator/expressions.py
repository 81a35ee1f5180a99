"""Random integer expressions as CUDA C and as a Python function of the same variables.

Types wrap as the machine does; where C++ leaves a result open (signed overflow, division by zero, wide
shifts) the text avoids it.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

INTEGERS = {
    "int": (32, True), "unsigned": (32, False), "long long": (64, True), "unsigned long long": (64, False),
    "short": (16, True), "unsigned short": (16, False), "signed char": (8, True), "unsigned char": (8, False),
}  # fmt: skip
WIDE = ("int", "unsigned", "long long", "unsigned long long")


@dataclass(frozen=True)
class Expression:
    """`text` has the type `kind`; `value` maps the variables' values to the result."""

    text: str
    kind: str
    value: Callable[[dict], int | np.floating]


def wrap(value: int, kind: str) -> int:
    """An integer as a variable of the type holds it."""
    bits, signed = INTEGERS[kind]
    value &= 2**bits - 1
    return value - 2**bits if signed and value >> bits - 1 else value


class IntegerGenerator:
    """Expressions over `variables` (name -> type), the same for the same seed."""

    def __init__(self, seed: int, variables: dict[str, str]) -> None:
        self.rng = random.Random(seed)
        self.variables = variables

    def pick(self, kinds: tuple[str, ...]) -> str:
        return self.rng.choice([name for name, kind in self.variables.items() if kind in kinds])

    # -- integers -------------------------------------------------------------

    def integer(self, depth: int, kind: str | None = None) -> Expression:
        """An expression of one of the four wide integer types."""
        kind = kind or self.rng.choice(WIDE)
        makers = [self.integer_leaf]
        if depth > 0:
            makers = [
                self.sum_like, self.sum_like, self.bitwise, self.shift, self.division, self.choice,
                self.extreme, self.converted, self.negated, self.high_product, self.counted,
            ]  # fmt: skip
        return self.rng.choice(makers)(depth - 1, kind)

    def integer_leaf(self, depth: int, kind: str) -> Expression:
        if self.rng.random() < 0.3:
            bits, _ = INTEGERS[kind]
            number = wrap(self.rng.choice([self.rng.getrandbits(bits), self.rng.randrange(-9, 10)]), kind)
            text = f"({kind}){number % 2**bits}ull"
            return Expression(f"({text})", kind, lambda env: number)
        name = self.pick(tuple(INTEGERS))
        return Expression(f"(({kind}){name})", kind, lambda env: wrap(env[name], kind))

    def pair(self, depth: int, kind: str) -> tuple[Expression, Expression]:
        return self.integer(depth, kind), self.integer(self.rng.randrange(depth + 1), kind)

    def unsigned_of(self, kind: str) -> str:
        return "unsigned" if INTEGERS[kind][0] == 32 else "unsigned long long"

    def sum_like(self, depth: int, kind: str) -> Expression:
        a, b = self.pair(depth, kind)
        sign, function = self.rng.choice(
            [("+", lambda x, y: x + y), ("-", lambda x, y: x - y), ("*", lambda x, y: x * y)]
        )
        u = self.unsigned_of(kind)
        text = f"(({kind})(({u}){a.text} {sign} ({u}){b.text}))"
        return Expression(text, kind, lambda env: wrap(function(a.value(env), b.value(env)), kind))

    def bitwise(self, depth: int, kind: str) -> Expression:
        a, b = self.pair(depth, kind)
        sign, function = self.rng.choice(
            [
                ("&", lambda x, y: x & y),
                ("|", lambda x, y: x | y),
                ("^", lambda x, y: x ^ y),
                ("& ~", lambda x, y: x & ~y),
            ]
        )
        return Expression(
            f"({a.text} {sign}{b.text})", kind, lambda env: function(a.value(env), b.value(env))
        )

    def shift(self, depth: int, kind: str) -> Expression:
        a, b = self.integer(depth, kind), self.integer(0, "unsigned")
        bits = INTEGERS[kind][0]
        if self.rng.random() < 0.5:
            text = f"(({kind})(({self.unsigned_of(kind)}){a.text} << ({b.text} & {bits - 1}u)))"
            return Expression(text, kind, lambda env: wrap(a.value(env) << b.value(env) % bits, kind))
        return Expression(
            f"({a.text} >> ({b.text} & {bits - 1}u))", kind, lambda env: a.value(env) >> b.value(env) % bits
        )

    def division(self, depth: int, kind: str) -> Expression:
        a, b = self.pair(depth, kind)
        sign = self.rng.choice("/%")
        open_ = f"{b.text} == 0" + (f" || {b.text} == -1" if INTEGERS[kind][1] else "")

        def value(env: dict) -> int:
            x, y = a.value(env), b.value(env)
            if y == 0 or (y == -1 and INTEGERS[kind][1]):
                return x
            quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
            return quotient if sign == "/" else x - quotient * y

        return Expression(f"(({open_}) ? {a.text} : {a.text} {sign} {b.text})", kind, value)

    def choice(self, depth: int, kind: str) -> Expression:
        a, b = self.pair(depth, kind)
        inner = self.rng.choice(WIDE)
        c, d = self.pair(depth, inner)
        sign, holds = self.rng.choice(
            [("<", lambda x, y: x < y), ("<=", lambda x, y: x <= y), (">", lambda x, y: x > y),
             (">=", lambda x, y: x >= y), ("==", lambda x, y: x == y), ("!=", lambda x, y: x != y)]
        )  # fmt: skip
        text = f"({c.text} {sign} {d.text} ? {a.text} : {b.text})"
        return Expression(
            text, kind, lambda env: a.value(env) if holds(c.value(env), d.value(env)) else b.value(env)
        )

    def extreme(self, depth: int, kind: str) -> Expression:
        a, b = self.pair(depth, kind)
        name, function = self.rng.choice([("min", min), ("max", max)])
        return Expression(
            f"{name}({a.text}, {b.text})", kind, lambda env: function(a.value(env), b.value(env))
        )

    def converted(self, depth: int, kind: str) -> Expression:
        """Through another type, narrow ones too."""
        a, through = self.integer(depth), self.rng.choice(tuple(INTEGERS))
        return Expression(
            f"(({kind})({through}){a.text})", kind, lambda env: wrap(wrap(a.value(env), through), kind)
        )

    def negated(self, depth: int, kind: str) -> Expression:
        a, u = self.integer(depth, kind), self.unsigned_of(kind)
        if self.rng.random() < 0.5:
            return Expression(f"(~{a.text})", kind, lambda env: wrap(~a.value(env), kind))
        return Expression(f"(({kind})(0u - ({u}){a.text}))", kind, lambda env: wrap(-a.value(env), kind))

    def high_product(self, depth: int, kind: str) -> Expression:
        a, b = self.pair(depth, kind)
        name = {
            "int": "__mulhi",
            "unsigned": "__umulhi",
            "long long": "__mul64hi",
            "unsigned long long": "__umul64hi",
        }
        bits = INTEGERS[kind][0]
        return Expression(f"(({kind}){name[kind]}({a.text}, {b.text}))", kind,
                          lambda env: wrap(a.value(env) * b.value(env) >> bits, kind))  # fmt: skip

    def counted(self, depth: int, kind: str) -> Expression:
        a = self.integer(depth, "unsigned")
        name, function = self.rng.choice(
            [("__popc", int.bit_count), ("__clz", lambda x: 32 - x.bit_length()),
             ("__brev", lambda x: int(f"{x:032b}"[::-1], 2))]
        )  # fmt: skip
        return Expression(f"(({kind}){name}({a.text}))", kind, lambda env: wrap(function(a.value(env)), kind))
