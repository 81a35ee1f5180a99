// rejected: counter — each result loads its own 16 elements of the tile, so a warp loads 64 times
extern "C" __global__ void fir(float* y, const float* x, const float* w, int n) {
    __shared__ __align__(16) float tile[528];
    int first = blockIdx.x * 512, t = threadIdx.x;
    for (int i = t; i < 528; i += 128) tile[i] = first + i < n + 16 ? x[first + i] : 0.0f;
    __syncthreads();
    volatile float* near = &tile[4 * t];
    float sum[4] = {};
    for (int j = 0; j < 16; ++j)
        for (int i = 0; i < 4; ++i) sum[i] += w[j] * near[i + j];
    for (int i = 0; i < 4; ++i)
        if (first + 4 * t + i < n) y[first + 4 * t + i] = sum[i];
}
