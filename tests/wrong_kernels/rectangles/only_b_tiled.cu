// rejected: counter — B is shared, but every thread still loads its row of A element by element
extern "C" __global__
void rectangles(float* c, const float* a, const float* b, int m, int n, int k) {
    __shared__ float b_tile[16][16];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
    float sum = 0;
    for (int first = 0; first < k; first += 16) {
        b_tile[y][x] = first + y < k && col < n ? b[(first + y) * n + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < 16 && first + i < k && row < m; ++i)
            sum += a[row * k + first + i] * b_tile[i][x];
        __syncthreads();
    }
    if (row < m && col < n) c[row * n + col] = sum;
}
