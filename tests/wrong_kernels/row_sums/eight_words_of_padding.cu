// rejected: counter — with 40 words a row, every fourth row starts in the same bank
extern "C" __global__ void row_sums(float* y, const float* a, int rows) {
    __shared__ float tile[32][40];
    int first = blockIdx.x * 32, x = threadIdx.x;
    for (int r = threadIdx.y; r < 32 && first + r < rows; r += 8)
        tile[r][x] = a[(first + r) * 32 + x];
    __syncthreads();
    if (threadIdx.y > 0 || first + x >= rows) return;
    float sum = 0;
    for (int c = 0; c < 32; ++c) sum += tile[x][c];
    y[first + x] = sum;
}
