// rejected: counter — x is read again once the sum is known
extern "C" __global__ void rms_norm(float* y, const float* x, const float* gain, int columns) {
    __shared__ float part[4];
    int first = blockIdx.x * columns;
    float sum = 0.0f;
    for (int k = 0, c = threadIdx.x; k < 4; ++k, c += 128) {
        float v = c < columns ? x[first + c] : 0.0f;
        sum += v * v;
    }
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    float scale = rsqrtf((part[0] + part[1] + part[2] + part[3]) / columns + 1e-5f);
    for (int k = 0, c = threadIdx.x; k < 4; ++k, c += 128)
        if (c < columns) y[first + c] = x[first + c] * scale * gain[c];
}
