// rejected: counter — b is loaded again for every use
extern "C" __global__ void silu_gate(float* y, const float* a, const float* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const volatile float* gate = b;
    y[i] = a[i] * gate[i] / (1.0f + expf(-gate[i]));
}
