// rejected: counter — every lane waits at the end of each job for the longest one
__device__ float trip(float v) {
    for (int j = 0; j < 64; ++j) v = fmaf(v, 0.9995f, 0.0005f);
    return v;
}

extern "C" __global__ void jobs(float* y, const float* x, const int* trips, int n) {
    int threads = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) {
        float v = x[i];
#pragma unroll 1
        for (int k = trips[i]; k > 0; --k) v = trip(v);
        y[i] = v;
    }
}
