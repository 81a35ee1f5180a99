// rejected: hazard — the last round goes past the end of the arrays
extern "C" __global__ void copy_all(float* y, const float* x, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    for (int i = t; i < n + threads; i += threads) y[i] = x[i];
}
