// rejected: wrong answer — adding down a column has no conflict, but it is the wrong sum
extern "C" __global__ void row_sums(float* y, const float* a, int rows) {
    __shared__ float tile[32][32];
    int first = blockIdx.x * 32, x = threadIdx.x;
    for (int r = threadIdx.y; r < 32; r += 8) tile[r][x] = first + r < rows ? a[(first + r) * 32 + x] : 0;
    __syncthreads();
    if (threadIdx.y > 0 || first + x >= rows) return;
    float sum = 0;
    for (int c = 0; c < 32; ++c) sum += tile[c][x];
    y[first + x] = sum;
}
