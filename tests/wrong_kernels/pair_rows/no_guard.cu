// rejected: hazard — the last block of a row goes past its end, and at last past the end of the matrix
extern "C" __global__ void pair_rows(float* y, const float* x, int rows, int columns) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y;
    y[r * columns + c] = x[2 * r * columns + c] + x[(2 * r + 1) * columns + c];
}
