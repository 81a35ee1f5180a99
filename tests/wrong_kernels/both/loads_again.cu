// rejected: counter — the first store might change a or b, so both are loaded again
extern "C" __global__ void both(float* y, const float* a, const float* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = a[i] + b[i];
    y[n + i] = a[i] - b[i];
}
