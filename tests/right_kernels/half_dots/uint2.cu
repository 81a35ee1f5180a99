// accepted — 8 bytes a lane
#include <cuda_fp16.h>
extern "C" __global__
void half_dots(float* y, const half2* a, const half2* b, int rows, int pairs) {
    int row = blockIdx.x * 4 + threadIdx.y;
    if (row >= rows) return;
    float sum = 0;
    auto add = [&](half2 p, half2 q) { float2 u = __half22float2(p), v = __half22float2(q); sum += u.x * v.x + u.y * v.y; };
    if (pairs % 2 == 0)
        for (int k = threadIdx.x; k < pairs / 2; k += 32) {
            uint2 u = ((const uint2*)(a + row * pairs))[k], v = ((const uint2*)(b + row * pairs))[k];
            for (int j = 0; j < 2; ++j) add(((half2*)&u)[j], ((half2*)&v)[j]);
        }
    else for (int k = threadIdx.x; k < pairs; k += 32) add(a[row * pairs + k], b[row * pairs + k]);
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
    if (threadIdx.x == 0) y[row] = sum;
}
