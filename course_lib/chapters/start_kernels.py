"""Chapter 00, start here: the kernels that are launched, counted and timed."""

from ..kernels import Kernel

# PIECES = 1: every thread adds a piece of its own, as a CPU program would share out the work. 0: neighbouring
# threads add neighbouring elements. `__restrict__`: no store changes what is loaded later.
ADD = Kernel(
    "add",
    r"""
extern "C" __global__ void add(float* __restrict__ out, const float* __restrict__ a,
                               const float* __restrict__ b, int each) {
    int threads = gridDim.x * blockDim.x, t = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < each; ++k) {
        int i = PIECES ? t * each + k : k * threads + t;
        out[i] = a[i] + b[i];
    }
}
""",
)
WAYS = {"own pieces": ADD.define(PIECES=1), "neighbours": ADD.define(PIECES=0)}

# STEPS multiply-adds for each element: the same bytes, more arithmetic.
MANY = Kernel(
    "many",
    r"""
extern "C" __global__ void many(float* __restrict__ out, const float* __restrict__ a,
                                const float* __restrict__ b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = a[i], y = b[i];
#pragma unroll 16
    for (int s = 0; s < STEPS; ++s) x = x * y + y;
    out[i] = x;
}
""",
)
