// rejected: wrong answer — row r is paired with row r + 1 instead of 2r with 2r + 1
extern "C" __global__ void pair_rows(float* y, const float* x, int rows, int columns) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y;
    if (c >= columns) return;
    y[r * columns + c] = x[r * columns + c] + x[(r + 1) * columns + c];
}
