// rejected: hazard — threads that do not add run past the barrier
extern "C" __global__ void block_sums(float* y, const float* x, int n) {
    __shared__ float part[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    part[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (t < half) {
            part[t] += part[t + half];
            __syncthreads();
        }
    }
    if (t == 0) y[blockIdx.x] = part[0];
}
