// rejected: counter — loads of 8 bytes, twice as many as needed
extern "C" __global__ void widen_loads(float* y, const float* x, int n) {
    int first = 8 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (first + 8 > n) return;
    for (int k = 0; k < 4; ++k) {
        float2 v = ((const float2*)(x + first))[k];
        ((float2*)(y + first))[k] = make_float2(v.x * v.x + 1, v.y * v.y + 1);
    }
}
