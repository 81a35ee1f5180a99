// rejected: wrong answer — the next job goes on from the value of the last one
__device__ float trip(float v) {
    for (int j = 0; j < 64; ++j) v = fmaf(v, 0.9995f, 0.0005f);
    return v;
}

extern "C" __global__ void jobs(float* y, const float* x, const int* trips, int n) {
    int threads = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    int left = trips[i];
    while (true) {
        if (left == 0) {
            y[i] = v;
            i += threads;
            if (i >= n) return;
            left = trips[i];
        }
        v = trip(v);
        --left;
    }
}
