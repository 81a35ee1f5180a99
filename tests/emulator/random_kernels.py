"""Random kernels: expressions, branches, loops, shared memory, shuffles, atomics and calls, from a seed.

Made of NumPy and Python alone, so that a machine with a GPU can make the same kernels
(`tests/gpu/record_random_kernels.py`). Every result is defined: no race, no undefined value, no contraction.
"""

import zlib
from dataclasses import dataclass

import numpy as np

from .expressions import INTEGERS, WIDE, wrap
from .real_expressions import Generator

BLOCK, GRID = 64, 3
THREADS = BLOCK * GRID
OPTIONS = ("-fmad=false",)
LOCALS = {"i0": "int", "u0": "unsigned", "l0": "long long", "w0": "unsigned long long", "s0": "short",
          "c0": "unsigned char", "f0": "float", "f1": "float", "d0": "double"}  # fmt: skip
DTYPES = {"float": np.float32, "double": np.float64}
WORDS = 8


@dataclass(frozen=True)
class RandomKernel:
    """`arguments`: the inputs of LOCALS in order, one array per variable, then the counters."""

    source: str
    inputs: list[np.ndarray]

    def arguments(self) -> list[np.ndarray]:
        """Fresh arrays: the variables (changed in place) and WORDS counters that atomics add to."""
        return [*(array.copy() for array in self.inputs), np.zeros(WORDS, np.uint32)]


def make(seed: int) -> RandomKernel:
    """The kernel `k` of a seed."""
    return _Maker(seed).kernel()


def dtype_of(kind: str) -> np.dtype:
    """The NumPy type of a C type."""
    if kind in DTYPES:
        return np.dtype(DTYPES[kind])
    bits, signed = INTEGERS[kind]
    return np.dtype(f"{'i' if signed else 'u'}{bits // 8}")


def digest(array: np.ndarray) -> int:
    """Checksum of an array's bytes, with every NaN as the same NaN."""
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), array.dtype.type(np.nan), array)
    return zlib.crc32(array.tobytes())


class _Maker:
    def __init__(self, seed: int) -> None:
        self.expressions = Generator(seed, LOCALS)
        self.rng = self.expressions.rng
        self.numbers = np.random.default_rng(seed)
        self.loops = 0
        self.functions: list[str] = []

    def kernel(self) -> RandomKernel:
        """Source and inputs."""
        body = "\n".join(self.block(2, True) for _ in range(5))
        parameters = ", ".join(f"{kind} *p_{name}" for name, kind in LOCALS.items())
        loads = " ".join(f"{kind} {name} = p_{name}[i];" for name, kind in LOCALS.items())
        stores = " ".join(f"p_{name}[i] = {name};" for name in LOCALS)
        source = "\n".join([
            *self.functions,
            f'extern "C" __global__ void k({parameters}, unsigned *counters) {{',
            f"__shared__ unsigned long long shared[{BLOCK}];",
            f"int t = threadIdx.x, i = blockIdx.x * {BLOCK} + t;",
            loads, body, stores, "}",
        ])  # fmt: skip
        return RandomKernel(source, [self.values(kind) for kind in LOCALS.values()])

    def values(self, kind: str) -> np.ndarray:
        """Inputs with corner values among them."""
        if kind in DTYPES:
            numbers = self.numbers.standard_normal(THREADS) * 2.0 ** self.numbers.integers(-12, 12, THREADS)
            numbers[:4] = 0, 1, -1, 0.5
        else:
            bits = INTEGERS[kind][0]
            raw = self.numbers.bytes(8 * THREADS)
            whole = [int.from_bytes(raw[8 * k : 8 * k + 8], "little") >> k % 60 for k in range(THREADS)]
            numbers = [wrap(x, kind) for x in [0, 1, -1, 2 ** (bits - 1), *whole]][:THREADS]
        return np.array(numbers, dtype_of(kind))

    # -- statements -----------------------------------------------------------

    def block(self, level: int, uniform: bool) -> str:
        """Some statements; `uniform`: all threads of the block run them together."""
        kinds = [self.assignment, self.assignment, self.counted, self.local_array, self.called]
        kinds += [self.branch, self.loop] if level else []
        kinds += [self.shared, self.shuffle, self.vote] if uniform else []
        makers = [self.rng.choice(kinds) for _ in range(self.rng.randrange(1, 4))]
        return "\n".join(maker(level - 1) for maker in makers)

    def integer(self, kind: str | None = None) -> str:
        return self.expressions.integer(2, kind).text

    def target(self, kinds: tuple[str, ...] = WIDE) -> tuple[str, str]:
        name = self.rng.choice([name for name, kind in LOCALS.items() if kind in kinds])
        return name, LOCALS[name]

    def assignment(self, level: int) -> str:
        name, kind = self.target(tuple(LOCALS.values()))
        if kind in DTYPES:
            return f"{name} = {self.expressions.real(2, kind).text};"
        return f"{name} = ({kind}){self.integer()};"

    def condition(self) -> str:
        return f"({self.integer('unsigned')} % {self.rng.randrange(2, 6)}u < {self.rng.randrange(1, 4)}u)"

    def branch(self, level: int) -> str:
        return f"if {self.condition()} {{ {self.block(level, False)} }} else {{ {self.block(level, False)} }}"

    def loop(self, level: int) -> str:
        self.loops += 1
        n = f"n{self.loops}"
        head = f"for (unsigned {n} = 0, e{n} = {self.integer('unsigned')} % 6u; {n} < e{n}; ++{n})"
        return f"{head} {{ {self.block(level, False)} if {self.condition()} break; }}"

    def local_array(self, level: int) -> str:
        name, kind = self.target()
        fill = " ".join(f"a[{k}] = {self.integer(kind)};" for k in range(3))
        return f"{{ {kind} a[4]; a[3] = 7; {fill} a[{self.integer('unsigned')} & 3] ^= 5; " \
               f"{name} = a[{self.integer('unsigned')} & 3]; }}"  # fmt: skip

    def counted(self, level: int) -> str:
        name = self.rng.choice(["Add", "Max", "Min", "Xor", "Or"])
        slot = {"Add": 0, "Max": 1, "Min": 2, "Xor": 3, "Or": 4}[name]
        return f"atomic{name}(counters + {slot}, {self.integer('unsigned')});"

    def called(self, level: int) -> str:
        """A device function that is not inlined."""
        name, kind = self.target()
        inner = Generator(self.rng.getrandbits(30), {"x": kind, "y": "int", "z": "float"})
        function = f"call{len(self.functions)}"
        self.functions.append(
            f"__device__ __noinline__ {kind} {function}({kind} x, int y, float z) {{ "
            f"if (z > 0.5f) return {inner.integer(2, kind).text}; return ({kind}){inner.integer(1).text}; }}"
        )
        return f"{name} = {function}({self.integer(kind)}, {self.integer('int')}, f0);"

    # -- together -------------------------------------------------------------

    def shared(self, level: int) -> str:
        name, kind = self.target()
        shift = self.rng.randrange(1, BLOCK)
        return f"shared[t] = {self.integer('unsigned long long')}; __syncthreads(); " \
               f"{name} = ({kind})shared[(t + {shift}) & {BLOCK - 1}]; __syncthreads();"  # fmt: skip

    def shuffle(self, level: int) -> str:
        name, _ = self.target((*WIDE, "float", "double"))
        mode = self.rng.choice(["", "_up", "_down", "_xor"])
        width = self.rng.choice([32, 32, 16, 8, 4])
        operand = f"{self.integer('unsigned')} & 31" if mode == "" else self.rng.randrange(1, 32)
        return f"{name} = __shfl{mode}_sync(0xffffffffu, {name}, {operand}, {width});"

    def vote(self, level: int) -> str:
        name, kind = self.target(("int", "unsigned"))
        call = self.rng.choice(
            ["__ballot_sync(0xffffffffu, {})", "__syncthreads_count({})", "__any_sync(0xffffffffu, {})"]
        )
        return f"{name} = ({kind}){call.format(self.condition())};"
