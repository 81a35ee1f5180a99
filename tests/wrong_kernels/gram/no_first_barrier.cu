// rejected: hazard — a warp multiplies before the other warps have stored their part of the tiles
extern "C" __global__ void gram(float* g, const float* a, int rows, int n) {
    __shared__ float left[16][16], right[16][16];
    int x = threadIdx.x, y = threadIdx.y;
    int i0 = blockIdx.y * 16, j0 = blockIdx.x * 16;
    float sum = 0;
    for (int first = 0; first < rows; first += 16) {
        int row = first + y;
        left[y][x] = row < rows && i0 + x < n ? a[row * n + i0 + x] : 0.0f;
        right[y][x] = row < rows && j0 + x < n ? a[row * n + j0 + x] : 0.0f;
        for (int k = 0; k < 16; ++k) sum += left[k][y] * right[k][x];
        __syncthreads();
    }
    if (i0 + y < n && j0 + x < n) g[(i0 + y) * n + j0 + x] = sum;
}
