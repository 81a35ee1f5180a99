// rejected: hazard — the last block has threads past the end
extern "C" __global__ void tanh_backward(float* dx, const float* g, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float h = tanhf(x[i]), y = tanhf(h);
    dx[i] = g[i] * (1.0f - y * y) * (1.0f - h * h);
}
