// rejected: counter — neighbouring threads take every fourth column
extern "C" __global__ void pair_rows(float* y, const float* x, int rows, int columns) {
    int t = threadIdx.x % 32 * 4 + threadIdx.x / 32;
    int c = blockIdx.x * blockDim.x + t, r = blockIdx.y;
    if (c >= columns) return;
    y[r * columns + c] = x[2 * r * columns + c] + x[(2 * r + 1) * columns + c];
}
