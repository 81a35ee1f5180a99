// rejected: wrong answer — the code of -0 is 0x80
#include <cuda_fp8.h>
extern "C" __global__ void mx_groups(unsigned char* out, const float* x, int groups) {
    int i = blockIdx.x * 128 + threadIdx.x, group = i / 32;
    if (group >= groups) return;
    float v = x[i], most = fabsf(v);
    for (int step = 16; step > 0; step /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, step));
    int scale = max((int)(__float_as_uint(most) >> 23) - 8, 0);
    if (v == 0) v = 0;
    out[i] = __nv_cvt_float_to_fp8(v == 0 ? 0.f : v * exp2f(127 - scale), __NV_SATFINITE, __NV_E4M3);
    if (i % 32 == 0) out[32 * groups + group] = scale;
}
