// rejected: wrong answer — the loop runs over whole tiles only; the rest of k is left out
extern "C" __global__
void rectangles(float* c, const float* a, const float* b, int m, int n, int k) {
    __shared__ float a_tile[16][16], b_tile[16][16];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
    float sum = 0;
    for (int first = 0; first + 16 <= k; first += 16) {
        a_tile[y][x] = row < m && first + x < k ? a[row * k + first + x] : 0.0f;
        b_tile[y][x] = first + y < k && col < n ? b[(first + y) * n + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum += a_tile[y][i] * b_tile[i][x];
        __syncthreads();
    }
    if (row < m && col < n) c[row * n + col] = sum;
}
