// rejected: counter — the PTX written back as it stands: eight loads of 4 bytes
extern "C" __global__ void widen_loads(float* y, const float* x, int n) {
    int first = 8 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (first + 8 > n) return;
    for (int k = 0; k < 8; ++k) y[first + k] = x[first + k] * x[first + k] + 1;
}
