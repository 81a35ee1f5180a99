// rejected: counter — padding removes the conflict, but the tile grows to 4,608 bytes
extern "C" __global__ void polynomials(float* y, const float4* a, float x, int rows) {
    __shared__ float4 tile[32][9];
    int first = blockIdx.x * 32, t = threadIdx.x, row = t / 8, chunk = t % 8;
    if (first + row < rows) tile[row][chunk] = a[first * 8 + t];
    __syncthreads();
    if (t >= 32 || first + t >= rows) return;
    float sum = 0;
    for (int c = 7; c >= 0; --c) {
        float4 v = tile[t][c];
        sum = (((sum * x + v.w) * x + v.z) * x + v.y) * x + v.x;
    }
    y[first + t] = sum;
}
