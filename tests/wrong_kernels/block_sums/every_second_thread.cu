// rejected: counter — the threads that still add lie apart, in every warp of the block
extern "C" __global__ void block_sums(float* y, const float* x, int n) {
    __shared__ float part[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    part[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int step = 1; step < 256; step *= 2) {
        if (t % (2 * step) == 0) part[t] += part[t + step];
        __syncthreads();
    }
    if (t == 0) y[blockIdx.x] = part[0];
}
