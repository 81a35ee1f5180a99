// rejected: counter — no array, but every value is loaded twice
extern "C" __global__ void __launch_bounds__(1024, 2)
remove_spill(float* y, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float mean = 0.0f, sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < 48; ++k) mean += x[k * n + i] / 48;
#pragma unroll 1
    for (int k = 0; k < 48; ++k) sum += (x[k * n + i] - mean) * (x[k * n + i] - mean);
    y[i] = sum / 48;
}
