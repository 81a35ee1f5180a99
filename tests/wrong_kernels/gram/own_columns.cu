// rejected: counter — each thread loads what it uses: for the left tile a warp walks down columns of A, 16 sectors a request
extern "C" __global__ void gram(float* g, const float* a, int rows, int n) {
    __shared__ float left[16][16], right[16][16];
    int x = threadIdx.x, y = threadIdx.y;
    int i0 = blockIdx.y * 16, j0 = blockIdx.x * 16;
    float sum = 0;
    for (int first = 0; first < rows; first += 16) {
        left[x][y] = first + x < rows && i0 + y < n ? a[(first + x) * n + i0 + y] : 0.0f;
        right[y][x] = first + y < rows && j0 + x < n ? a[(first + y) * n + j0 + x] : 0.0f;
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += left[k][y] * right[k][x];
        __syncthreads();
    }
    if (i0 + y < n && j0 + x < n) g[(i0 + y) * n + j0 + x] = sum;
}
