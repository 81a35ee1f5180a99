// rejected: wrong answer — sides chosen by warp, whatever the kind
__device__ float left(float v) {
#pragma unroll 16
    for (int k = 0; k < 256; ++k) v = fmaf(v, v, -0.5f);
    return v;
}
__device__ float right(float v) {
#pragma unroll 16
    for (int k = 0; k < 256; ++k) v = fmaf(v, -0.25f, 0.75f);
    return v;
}

extern "C" __global__ void two_kinds(float* y, const float* x, const int* kind, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = threadIdx.x / 32 % 2 ? right(x[i]) : left(x[i]);
}
