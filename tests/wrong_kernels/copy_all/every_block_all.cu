// rejected: counter — every block copies everything
extern "C" __global__ void copy_all(float* y, const float* x, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = x[i];
}
