// rejected: wrong answer — the guard leaves out the last column
extern "C" __global__ void scale_columns(
        float *out, const float *m, const float *factor, int rows, int columns) {
    int row = blockIdx.x * 32 + threadIdx.x % 32;
    int column = blockIdx.y * 8 + threadIdx.x / 32;
    if (row < rows && column < columns - 1) out[column * rows + row] = m[column * rows + row] * factor[column];
}
