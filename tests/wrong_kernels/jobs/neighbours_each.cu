// rejected: counter — other jobs for each thread, and still two loops
__device__ float trip(float v) {
    for (int j = 0; j < 64; ++j) v = fmaf(v, 0.9995f, 0.0005f);
    return v;
}

extern "C" __global__ void jobs(float* y, const float* x, const int* trips, int n) {
    int threads = gridDim.x * blockDim.x, each = (n + threads - 1) / threads;
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * each;
    for (int i = first; i < first + each && i < n; ++i) {
        float v = x[i];
        for (int k = trips[i]; k > 0; --k) v = trip(v);
        y[i] = v;
    }
}
