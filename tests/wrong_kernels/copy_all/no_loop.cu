// rejected: wrong answer — 512 threads copy 512 elements; the others stay as they were
extern "C" __global__ void copy_all(float* y, const float* x, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    if (t < n) y[t] = x[t];
}
