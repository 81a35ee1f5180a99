// rejected: wrong answer — the sigmoid is taken of a, not of b
extern "C" __global__ void silu_gate(float* y, const float* a, const float* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float gate = a[i];
    y[i] = b[i] * gate / (1.0f + expf(-gate));
}
