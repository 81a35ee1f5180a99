// rejected: counter — no tile: every thread loads its window of 20 elements from global memory
extern "C" __global__ void fir(float* y, const float* x, const float* w, int n) {
    int first = blockIdx.x * 512, t = threadIdx.x;
    float near[20], sum[4] = {};
#pragma unroll
    for (int i = 0; i < 20; ++i) near[i] = first + 4 * t + i < n + 16 ? x[first + 4 * t + i] : 0.0f;
#pragma unroll
    for (int j = 0; j < 16; ++j)
        for (int i = 0; i < 4; ++i) sum[i] += w[j] * near[i + j];
    for (int i = 0; i < 4; ++i)
        if (first + 4 * t + i < n) y[first + 4 * t + i] = sum[i];
}
