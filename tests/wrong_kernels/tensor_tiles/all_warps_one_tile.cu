// rejected: counter — each of four warps makes all four tiles of the block
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda::wmma;

extern "C" __global__
void tensor_tiles(float* c, const half* a, const half* b, int m, int n, int k) {
    int row = blockIdx.y * 16;
    for (int column = blockIdx.x * 64; column < min(n, (int)blockIdx.x * 64 + 64); column += 16) {
    fragment<matrix_a, 16, 16, 16, half, row_major> x;
    fragment<matrix_b, 16, 16, 16, half, row_major> y;
    fragment<accumulator, 16, 16, 16, float> sum;
    fill_fragment(sum, 0.0f);
    for (int first = 0; first < k; first += 16) {
        load_matrix_sync(x, &a[row * k + first], k);
        load_matrix_sync(y, &b[first * n + column], n);
        mma_sync(sum, x, y, sum);
    }
    store_matrix_sync(&c[row * n + column], sum, n, mem_row_major);
    }
}
