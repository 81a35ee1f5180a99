// rejected: wrong answer — the weights in the other order: a convolution, where a correlation is asked for
extern "C" __global__ void fir(float* y, const float* x, const float* w, int n) {
    __shared__ __align__(16) float tile[528];
    int first = blockIdx.x * 512, t = threadIdx.x;
    for (int i = t; i < 528; i += 128) tile[i] = first + i < n + 16 ? x[first + i] : 0.0f;
    __syncthreads();
    float near[20], sum[4] = {};
#pragma unroll
    for (int i = 0; i < 20; i += 4) *(float4*)&near[i] = *(float4*)&tile[4 * t + i];
#pragma unroll
    for (int j = 0; j < 16; ++j)
        for (int i = 0; i < 4; ++i) sum[i] += w[15 - j] * near[i + j];
    for (int i = 0; i < 4; ++i)
        if (first + 4 * t + i < n) y[first + 4 * t + i] = sum[i];
}
