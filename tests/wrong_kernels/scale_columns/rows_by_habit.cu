// rejected: counter — neighbouring threads take neighbouring columns, as in a matrix stored by rows
extern "C" __global__ void scale_columns(
        float *out, const float *m, const float *factor, int rows, int columns) {
    int row = blockIdx.x * 32 + threadIdx.x / 8;
    int column = blockIdx.y * 8 + threadIdx.x % 8;
    if (row < rows && column < columns) out[column * rows + row] = m[column * rows + row] * factor[column];
}
