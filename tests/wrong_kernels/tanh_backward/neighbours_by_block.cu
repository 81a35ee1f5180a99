// rejected: counter — neighbouring threads take elements that lie a block apart
extern "C" __global__ void tanh_backward(float* dx, const float* g, const float* x, int n) {
    int i = threadIdx.x * gridDim.x + blockIdx.x;
    if (i >= n) return;
    float h = tanhf(x[i]), y = tanhf(h);
    dx[i] = g[i] * (1.0f - y * y) * (1.0f - h * h);
}
