// rejected: counter — wide loads, but stores of 4 bytes
extern "C" __global__ void widen_loads(float* y, const float* x, int n) {
    int first = 8 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (first + 8 > n) return;
    for (int k = 0; k < 2; ++k) {
        float4 v = ((const float4*)(x + first))[k];
        float* to = y + first + 4 * k;
        to[0] = v.x * v.x + 1;
        to[1] = v.y * v.y + 1;
        to[2] = v.z * v.z + 1;
        to[3] = v.w * v.w + 1;
    }
}
