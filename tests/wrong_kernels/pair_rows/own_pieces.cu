// rejected: counter — four threads out of 128 work, each on a piece of 32 columns
extern "C" __global__ void pair_rows(float* y, const float* x, int rows, int columns) {
    int first = blockIdx.x * blockDim.x + threadIdx.x * 32, r = blockIdx.y;
    if (threadIdx.x >= 4) return;
    for (int c = first; c < first + 32 && c < columns; ++c)
        y[r * columns + c] = x[2 * r * columns + c] + x[(2 * r + 1) * columns + c];
}
