// rejected: counter — every thread copies a piece of its own, so a warp reads from 32 places at once
extern "C" __global__ void copy_all(float* y, const float* x, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    int each = (n + threads - 1) / threads;
    for (int i = t * each; i < n && i < (t + 1) * each; ++i) y[i] = x[i];
}
