// rejected: counter — the threads multiply, one element each, and the tensor cores are idle
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda::wmma;

extern "C" __global__
void tensor_tiles(float* c, const half* a, const half* b, int m, int n, int k) {
    int column = blockIdx.x * 64 + threadIdx.y * 16 + threadIdx.x % 16;
    if (column >= n) return;
    for (int row = blockIdx.y * 16 + threadIdx.x / 16; row < blockIdx.y * 16 + 16; row += 2) {
        float sum = 0;
        for (int i = 0; i < k; ++i) sum += __half2float(a[row * k + i]) * __half2float(b[i * n + column]);
        c[row * n + column] = sum;
    }
}
