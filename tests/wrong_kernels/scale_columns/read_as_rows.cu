// rejected: wrong answer — takes the matrix as stored by rows
extern "C" __global__ void scale_columns(
        float *out, const float *m, const float *factor, int rows, int columns) {
    int row = blockIdx.x * 32 + threadIdx.x % 32;
    int column = blockIdx.y * 8 + threadIdx.x / 32;
    if (row < rows && column < columns) out[row * columns + column] = m[row * columns + column] * factor[column];
}
