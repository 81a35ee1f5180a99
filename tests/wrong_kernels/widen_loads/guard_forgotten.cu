// rejected: hazard — the guard asks for the first element only, so a ragged end is read past x
extern "C" __global__ void widen_loads(float* y, const float* x, int n) {
    int first = 8 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (first >= n) return;
    for (int k = 0; k < 2; ++k) {
        float4 v = ((const float4*)(x + first))[k];
        ((float4*)(y + first))[k] = make_float4(v.x * v.x + 1, v.y * v.y + 1, v.z * v.z + 1, v.w * v.w + 1);
    }
}
