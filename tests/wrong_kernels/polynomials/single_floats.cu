// rejected: counter — swizzled by single floats: no conflict, but 32 loads where 8 would do
extern "C" __global__ void polynomials(float* y, const float4* a, float x, int rows) {
    __shared__ float tile[32][32];
    int first = blockIdx.x * 32, t = threadIdx.x;
    for (int r = t / 32, c = t % 32; r < 32 && first + r < rows; r += 8)
        tile[r][c ^ r] = ((const float*)a)[(first + r) * 32 + c];
    __syncthreads();
    if (t >= 32 || first + t >= rows) return;
    float sum = 0;
    for (int c = 31; c >= 0; --c) sum = sum * x + tile[t][c ^ t];
    y[first + t] = sum;
}
