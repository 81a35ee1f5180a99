// rejected: hazard — y + n begins at a multiple of 16 bytes only if n is a multiple of 4
extern "C" __global__ void both(float* y, const float* a, const float* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n / 4) return;
    float4 u = ((const float4*)a)[i], v = ((const float4*)b)[i];
    ((float4*)y)[i] = make_float4(u.x+v.x,u.y+v.y,u.z+v.z,u.w+v.w);
    ((float4*)(y+n))[i] = make_float4(u.x-v.x,u.y-v.y,u.z-v.z,u.w-v.w);
}
