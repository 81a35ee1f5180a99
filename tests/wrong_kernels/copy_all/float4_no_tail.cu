// rejected: wrong answer — the last n % 4 elements are lost
extern "C" __global__ void copy_all(float* y, const float* x, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += gridDim.x * blockDim.x)
        ((float4*)y)[i] = ((const float4*)x)[i];
}
