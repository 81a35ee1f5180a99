// rejected: counter — h goes to dx and comes back, so it is stored after all
extern "C" __global__ void tanh_backward(float* dx, const float* g, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    volatile float* kept = dx;
    kept[i] = tanhf(x[i]);
    float h = kept[i], y = tanhf(h);
    dx[i] = g[i] * (1.0f - y * y) * (1.0f - h * h);
}
