// rejected: wrong answer — three of the four elements of a thread are never written
extern "C" __global__ void sum_distances(float* y, const float* x, const float4* q, int n) {
    __shared__ float4 tile[64];
    int t = threadIdx.x, first = blockIdx.x * 512 + t;
    if (t < 64) tile[t] = q[t];
    __syncthreads();
    float at[4], sum[4] = {};
    for (int k = 0; k < 4; ++k) at[k] = x[min(first + 128 * k, n - 1)];
    for (int j = 0; j < 64; ++j) {
        float4 v = tile[j];
        for (int k = 0; k < 4; ++k)
            sum[k] += fabsf(at[k] - v.x) + fabsf(at[k] - v.y) + fabsf(at[k] - v.z) + fabsf(at[k] - v.w);
    }
    for (int k = 0; k < 1; ++k)
        if (first + 128 * k < n) y[first + 128 * k] = sum[k];
}
