// rejected: counter — neighbouring threads take elements that lie a block apart
extern "C" __global__ void silu_gate(float* y, const float* a, const float* b, int n) {
    int i = threadIdx.x * gridDim.x + blockIdx.x;
    if (i >= n) return;
    float gate = b[i];
    y[i] = a[i] * gate / (1.0f + expf(-gate));
}
