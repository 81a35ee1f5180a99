// rejected: wrong answer — the slope of the inner tanh is missing
extern "C" __global__ void tanh_backward(float* dx, const float* g, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float h = tanhf(x[i]), y = tanhf(h);
    dx[i] = g[i] * (1.0f - y * y);
}
