// rejected: counter — the sigmoid goes to y and comes back, as it does between two kernels
extern "C" __global__ void silu_gate(float* y, const float* a, const float* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float gate = b[i];
    volatile float* step = y;
    step[i] = 1.0f / (1.0f + expf(-gate));
    y[i] = a[i] * gate * step[i];
}
