"""Random branches and loops, each thread against the same statements in Python."""

import random

import numpy as np
import pytest

from course_lib.emulator import RawKernel

VARIABLES = ("a", "b", "c", "d")


class Program:
    """A random kernel on four unsigned variables, as CUDA C and as Python."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.loops = 0
        self.cuda: list[str] = []
        self.python: list[str] = []
        self.block(3, 1)

    def value(self) -> tuple[str, str]:
        """An expression in both languages."""
        left = self.rng.choice(VARIABLES)
        right = self.rng.choice([*VARIABLES, str(self.rng.randrange(1, 9))])
        operator = self.rng.choice(["+", "-", "*", "^", "&", "|"])
        literal = right + "u" if right.isdigit() else right
        return f"({left} {operator} {literal})", f"(({left} {operator} {right}) & 0xFFFFFFFF)"

    def condition(self) -> tuple[str, str]:
        cuda, python = self.value()
        modulus, limit = self.rng.randrange(2, 6), self.rng.randrange(1, 4)
        return f"{cuda} % {modulus}u < {limit}u", f"{python} % {modulus} < {limit}"

    def add(self, depth: int, cuda: str, python: str) -> None:
        self.cuda.append(cuda)
        self.python.append("  " * depth + python)

    def block(self, level: int, depth: int) -> None:
        for _ in range(self.rng.randrange(1, 4)):
            self.statement(level, depth)

    def statement(self, level: int, depth: int) -> None:
        kind = self.rng.choice(["assign", "if", "loop", "leave"] if level else ["assign"])
        if kind == "assign":
            target, (cuda, python) = self.rng.choice(VARIABLES), self.value()
            self.add(depth, f"{target} = {cuda};", f"{target} = {python}")
        elif kind == "if":
            cuda, python = self.condition()
            self.add(depth, f"if ({cuda}) {{", f"if {python}:")
            self.block(level - 1, depth + 1)
            self.add(depth, "} else {", "else:")
            self.block(level - 1, depth + 1)
            self.add(depth, "}", "pass")
        elif kind == "loop":
            self.loop(level, depth)
        else:
            cuda, python = self.condition()
            self.add(
                depth, f"if ({cuda} && a > 9u) return;", f"if {python} and a > 9: return a, b, c, d, mark"
            )
            self.add(depth, "mark = mark * 3u + a;", "mark = (mark * 3 + a) & 0xFFFFFFFF")

    def loop(self, level: int, depth: int) -> None:
        self.loops += 1
        name, (cuda, python) = f"n{self.loops}", self.value()
        self.add(depth, f"for (unsigned {name} = 0; {name} < {cuda} % 7u; ++{name}) {{", f"{name} = 0")
        self.add(depth, "", f"while {name} < {python} % 7:")
        self.block(level - 1, depth + 1)
        cuda, python = self.condition()
        self.add(depth + 1, f"if ({cuda}) break;", f"if {python}: break")
        self.add(
            depth, f"if ({name} > 40u) break; }}", f"  if {name} > 40: break\n{'  ' * depth}  {name} += 1"
        )

    def function(self) -> object:
        """The Python function of one thread: (a, b, c, d, mark) at its end."""
        text = "def f(a, b, c, d):\n  mark = 0\n" + "\n".join(self.python) + "\n  return a, b, c, d, mark\n"
        scope: dict = {}
        exec(text, scope)
        return scope["f"]

    def source(self) -> str:
        """The kernel: a thread writes its variables also where it returns early."""
        body = "\n".join(self.cuda)
        return f"""
            typedef unsigned u;
            __device__ void work(u &a, u &b, u &c, u &d, u &mark) {{ {body} }}
            extern "C" __global__ void k(u *out) {{
              unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
              unsigned a = i, b = threadIdx.x * 7u, c = blockIdx.x, d = 3u, mark = 0u;
              work(a, b, c, d, mark);
              out += 5 * i; out[0] = a; out[1] = b; out[2] = c; out[3] = d; out[4] = mark;
            }}"""


@pytest.mark.parametrize("seed", range(14))
def test_random_control_flow(seed: int) -> None:
    program = Program(seed)
    grid, block = 3, 48
    out = np.zeros(5 * grid * block, np.uint32)
    RawKernel(program.source(), "k")((grid,), (block,), (out,))
    thread = program.function()
    wanted = [value for i in range(grid * block) for value in thread(i, i % block * 7, i // block, 3)]
    np.testing.assert_array_equal(out, wanted)
