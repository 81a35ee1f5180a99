// rejected: hazard — the last block has threads past the end
extern "C" __global__ void silu_gate(float* y, const float* a, const float* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float gate = b[i];
    y[i] = a[i] * gate / (1.0f + expf(-gate));
}
