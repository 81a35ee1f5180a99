"""Chapter 13, reading kernels: the CUDA sources that its notebook quotes and its sweeps time."""

from ..kernels import OPTIONS, Kernel

# PER neighbouring floats a thread. QUALIFIER is empty, or __restrict__: a promise that y and x do not
# overlap.
NEIGHBOURS = Kernel(
    "neighbours",
    r"""
extern "C" __global__
void neighbours(float* QUALIFIER y, const float* QUALIFIER x, int n) {
    int first = PER * (blockIdx.x * blockDim.x + threadIdx.x);
    if (first + PER > n) return;
    for (int k = 0; k < PER; ++k) y[first + k] = 2.0f * x[first + k];
}
""",
)

# The same elements, four at a time.
WIDE = Kernel(
    "wide",
    r"""
extern "C" __global__
void wide(float4* y, const float4* x, int n) {
    int first = PER / 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (4 * first + PER > n) return;
    float4 v[PER / 4];
    for (int k = 0; k < PER / 4; ++k) v[k] = x[first + k];
    for (int k = 0; k < PER / 4; ++k)
        y[first + k] = make_float4(2.0f * v[k].x, 2.0f * v[k].y, 2.0f * v[k].z, 2.0f * v[k].w);
}
""",
)

# The same elements, but the threads of a block stand next to each other.
STRIDED = Kernel(
    "strided",
    r"""
extern "C" __global__
void strided(float* __restrict__ y, const float* __restrict__ x, int n) {
    int first = PER * blockIdx.x * blockDim.x + threadIdx.x;
    if (first + (PER - 1) * blockDim.x >= n) return;
    for (int k = 0; k < PER; ++k) y[first + k * blockDim.x] = 2.0f * x[first + k * blockDim.x];
}
""",
)

# The variance of 48 values, all of them kept: more registers than most kernels want.
VARIANCE = Kernel(
    "variance",
    r"""
#ifndef BOUNDS
#define BOUNDS
#endif

extern "C" __global__ void BOUNDS
variance(float* y, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v[48], mean = 0.0f, sum = 0.0f;
    for (int k = 0; k < 48; ++k) v[k] = x[k * n + i];
    for (int k = 0; k < 48; ++k) mean += v[k] * (1.0f / 48);
    for (int k = 0; k < 48; ++k) sum += (v[k] - mean) * (v[k] - mean);
    y[i] = sum * (1.0f / 48);
}
""",
)

GELU = Kernel(
    "gelu",
    r"""
extern "C" __global__ void gelu(float* y, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    float u = 0.79788456f * (v + 0.044715f * v * v * v);
    y[i] = 0.5f * v * (1.0f + tanhf(u));
}
""",
)

# what the exercises start from, shown as pictures of their machine code
SQUARES = Kernel(
    "squares",
    r"""
extern "C" __global__ void squares(float* __restrict__ y, const float* __restrict__ x, int n) {
    int first = 8 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (first + 8 > n) return;
    for (int k = 0; k < 8; ++k) y[first + k] = x[first + k] * x[first + k] + 1;
}
""",
)
BOUNDED = Kernel(VARIANCE.name, VARIANCE.source, (*OPTIONS, "-DBOUNDS=__launch_bounds__(1024,2)"))
CHOOSE = Kernel(
    "choose",
    r"""
extern "C" __global__ void choose(float* y, const float* a, const float* b, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (x[i] > 0) y[i] = a[i];
    else y[i] = b[i];
}
""",
)

FORMS = ("may overlap", "__restrict__", "float4", "strided")
PERS = (1, 2, 4, 8, 16)


def each(form: str, per: int) -> Kernel:
    """The kernel that doubles `per` floats a thread. Raises ValueError if it cannot be had in this form."""
    if form not in FORMS or per not in PERS:
        raise ValueError(f"{form!r} with {per} elements: forms are {', '.join(FORMS)}, elements {PERS}")
    if form == "float4":
        if per < 4:
            raise ValueError(f"a float4 holds 4 elements, so a thread cannot have {per}")
        return WIDE.define(PER=per)
    if form == "strided":
        return STRIDED.define(PER=per)
    qualifier = "__restrict__" if form == "__restrict__" else ""
    return Kernel(NEIGHBOURS.name, NEIGHBOURS.source, (*OPTIONS, f"-DPER={per}", f"-DQUALIFIER={qualifier}"))


def variance(cap: int) -> Kernel:
    """`VARIANCE` with at most `cap` registers a thread; 0: as many as it likes."""
    capped = (f"--maxrregcount={cap}",) if cap else ()
    return Kernel(VARIANCE.name, VARIANCE.source, (*OPTIONS, *capped))


def bounded(threads: int, blocks: int) -> Kernel:
    """`VARIANCE` under `__launch_bounds__(threads, blocks)`: room for so many blocks of so many threads."""
    return Kernel(
        VARIANCE.name, VARIANCE.source, (*OPTIONS, f"-DBOUNDS=__launch_bounds__({threads},{blocks})")
    )


def gelu(fast: bool) -> Kernel:
    """`GELU`, with tanh as an instruction of its own if `fast`."""
    return Kernel(GELU.name, GELU.source, (*OPTIONS, *(("--use_fast_math",) if fast else ())))
