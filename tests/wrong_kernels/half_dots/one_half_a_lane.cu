// rejected: counter — a lane loads one half at a time: twice the requests for the same bytes
#include <cuda_fp16.h>

extern "C" __global__
void half_dots(float* y, const half2* a, const half2* b, int rows, int pairs) {
    int row = blockIdx.x * 4 + threadIdx.y;
    if (row >= rows) return;
    const half *u = (const half*)(a + row * pairs), *v = (const half*)(b + row * pairs);
    float sum = 0;
    for (int k = threadIdx.x; k < 2 * pairs; k += 32) sum += __half2float(u[k]) * __half2float(v[k]);
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
    if (threadIdx.x == 0) y[row] = sum;
}
