// rejected: wrong answer — the last element of kind 1 is left out
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
    __shared__ int list[256], zeros, ones;
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    if (t == 0) zeros = ones = 0;
    __syncthreads();
    if (i < n) {
        int place = kind[i] ? 255 - atomicAdd(&ones, 1) : atomicAdd(&zeros, 1);
        list[place] = i;
    }
    __syncthreads();
    if (t < zeros) y[list[t]] = left(x[list[t]]);
    else if (t > 256 - ones) y[list[t]] = right(x[list[t]]);
}
