// rejected: hazard — 128 threads count in the same 64 words without atomics
extern "C" __global__ void byte_histograms(int* y, const unsigned char* x, int n) {
    __shared__ int all[64];
    int t = threadIdx.x;
    if (t < 64) all[t] = 0;
    __syncthreads();
    for (int k = 0; k < 200; ++k) {
        int i = blockIdx.x * 25600 + k * 128 + t;
        if (i < n) ++all[x[i]];
    }
    __syncthreads();
    if (t < 64) y[blockIdx.x * 64 + t] = all[t];
}
