// rejected: wrong answer — 0f3F800000 taken for 2
extern "C" __global__ void widen_loads(float* y, const float* x, int n) {
    int first = 8 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (first + 8 > n) return;
    for (int k = 0; k < 2; ++k) {
        float4 v = ((const float4*)(x + first))[k];
        ((float4*)(y + first))[k] = make_float4(v.x * v.x + 2, v.y * v.y + 2, v.z * v.z + 2, v.w * v.w + 2);
    }
}
