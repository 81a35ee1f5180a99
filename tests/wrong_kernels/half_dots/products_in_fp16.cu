// rejected: wrong answer — each product is rounded to fp16 before it is added in float32
#include <cuda_fp16.h>

extern "C" __global__
void half_dots(float* y, const half2* a, const half2* b, int rows, int pairs) {
    int row = blockIdx.x * 4 + threadIdx.y;
    if (row >= rows) return;
    float sum = 0;
    for (int k = threadIdx.x; k < pairs; k += 32) {
        float2 v = __half22float2(__hmul2(a[row * pairs + k], b[row * pairs + k]));
        sum += v.x + v.y;
    }
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
    if (threadIdx.x == 0) y[row] = sum;
}
