// rejected: hazard — tiles at the edge read past the end of A and B
extern "C" __global__
void rectangles(float* c, const float* a, const float* b, int m, int n, int k) {
    __shared__ float a_tile[16][16], b_tile[16][16];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
    float sum = 0;
    for (int first = 0; first < k; first += 16) {
        a_tile[y][x] = a[row * k + first + x];
        b_tile[y][x] = b[(first + y) * n + col];
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum += a_tile[y][i] * b_tile[i][x];
        __syncthreads();
    }
    if (row < m && col < n) c[row * n + col] = sum;
}
