// rejected: wrong answer — B is read as if its columns lay side by side: B transposed
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda::wmma;

extern "C" __global__
void tensor_tiles(float* c, const half* a, const half* b, int m, int n, int k) {
    int row = blockIdx.y * 16, column = blockIdx.x * 64 + threadIdx.y * 16;
    if (column >= n) return;
    fragment<matrix_a, 16, 16, 16, half, row_major> x;
    fragment<matrix_b, 16, 16, 16, half, col_major> y;
    fragment<accumulator, 16, 16, 16, float> sum;
    fill_fragment(sum, 0.0f);
    for (int first = 0; first < k; first += 16) {
        load_matrix_sync(x, &a[row * k + first], k);
        load_matrix_sync(y, &b[first * n + column], n);
        mma_sync(sum, x, y, sum);
    }
    store_matrix_sync(&c[row * n + column], sum, n, mem_row_major);
}
