// rejected: counter — q is read from shared memory once for each of the four elements: 256 loads
extern "C" __global__ void sum_distances(float* y, const float* x, const float4* q, int n) {
    __shared__ float4 tile[64];
    int t = threadIdx.x;
    if (t < 64) tile[t] = q[t];
    __syncthreads();
    for (int i = blockIdx.x * 512 + t; i < min(n, blockIdx.x * 512 + 512); i += 128) {
        float at = x[i], sum = 0;
        for (int j = 0; j < 64; ++j) {
            float4 v = tile[j];
            sum += fabsf(at - v.x) + fabsf(at - v.y) + fabsf(at - v.z) + fabsf(at - v.w);
        }
        y[i] = sum;
    }
}
