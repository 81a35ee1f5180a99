// rejected: wrong answer — one scale for all 128 values of a block
#include <cuda_fp8.h>

extern "C" __global__ void mx_groups(unsigned char* out, const float* x, int groups) {
    __shared__ float part[4];
    int i = blockIdx.x * 128 + threadIdx.x, group = i / 32;
    float v = group < groups ? x[i] : 0, most = fabsf(v);
    for (int step = 16; step > 0; step /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, step));
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = most;
    __syncthreads();
    most = fmaxf(fmaxf(part[0], part[1]), fmaxf(part[2], part[3]));
    if (group >= groups) return;
    int scale = max((int)(__float_as_uint(most) >> 23) - 8, 0);
    float inverse = __uint_as_float((254 - scale) << 23);
    out[i] = __nv_cvt_float_to_fp8(v * inverse, __NV_SATFINITE, __NV_E4M3);
    if (i % 32 == 0) out[32 * groups + group] = scale;
}
