// rejected: counter — the tensor cores multiply zeros, and the threads multiply in double
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda::wmma;

extern "C" __global__
void tensor_tiles(float* c, const half* a, const half* b, int m, int n, int k) {
    int row = blockIdx.y * 16, column = blockIdx.x * 64 + threadIdx.y * 16;
    if (column >= n) return;
    fragment<matrix_a, 16, 16, 16, half, row_major> x;
    fragment<matrix_b, 16, 16, 16, half, row_major> y;
    fragment<accumulator, 16, 16, 16, float> sum;
    fill_fragment(sum, 0.0f); fill_fragment(x, __float2half(0)); fill_fragment(y, __float2half(0));
    for (int first = 0; first < k; first += 16) mma_sync(sum, x, y, sum);
    store_matrix_sync(&c[row * n + column], sum, n, mem_row_major);
    __syncwarp();
    for (int e = threadIdx.x; e < 256; e += 32) {
        double s = 0;
        for (int l = 0; l < k; ++l) s += (double)(float)a[(row + e / 16) * k + l] * (double)(float)b[l * n + column + e % 16];
        c[(row + e / 16) * n + column + e % 16] = s;
    }
}
