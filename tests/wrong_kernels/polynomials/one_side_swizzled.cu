// rejected: wrong answer — stored swizzled, read plain: lane t finds chunk c ^ (t % 8) where it wants c
extern "C" __global__ void polynomials(float* y, const float4* a, float x, int rows) {
    __shared__ float4 tile[32][8];
    int first = blockIdx.x * 32, t = threadIdx.x, row = t / 8, chunk = t % 8;
    if (first + row < rows) tile[row][chunk ^ (row % 8)] = a[first * 8 + t];
    __syncthreads();
    if (t >= 32 || first + t >= rows) return;
    float sum = 0;
    for (int c = 7; c >= 0; --c) {
        float4 v = tile[t][c];
        sum = (((sum * x + v.w) * x + v.z) * x + v.y) * x + v.x;
    }
    y[first + t] = sum;
}
