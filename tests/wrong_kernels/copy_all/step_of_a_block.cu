// rejected: counter — the step is that of one block, so elements are copied by several blocks
extern "C" __global__ void copy_all(float* y, const float* x, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    for (int i = t; i < n; i += blockDim.x) y[i] = x[i];
}
