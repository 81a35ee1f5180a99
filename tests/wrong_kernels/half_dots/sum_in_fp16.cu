// rejected: wrong answer — the sum is kept in fp16, which swallows small addends once it is large
#include <cuda_fp16.h>

extern "C" __global__
void half_dots(float* y, const half2* a, const half2* b, int rows, int pairs) {
    int row = blockIdx.x * 4 + threadIdx.y;
    if (row >= rows) return;
    half2 sum = __float2half2_rn(0);
    for (int k = threadIdx.x; k < pairs; k += 32) sum = __hfma2(a[row * pairs + k], b[row * pairs + k], sum);
    float total = __low2float(sum) + __high2float(sum);
    for (int step = 16; step > 0; step /= 2) total += __shfl_xor_sync(0xffffffff, total, step);
    if (threadIdx.x == 0) y[row] = total;
}
