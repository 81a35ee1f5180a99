// rejected: counter — all 48 values are kept, and most of them in local memory
extern "C" __global__ void __launch_bounds__(1024, 2)
remove_spill(float* y, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v[48], mean = 0.0f, sum = 0.0f;
    for (int k = 0; k < 48; ++k) v[k] = x[k * n + i];
    for (int k = 0; k < 48; ++k) mean += v[k] / 48;
    for (int k = 0; k < 48; ++k) sum += (v[k] - mean) * (v[k] - mean);
    y[i] = sum / 48;
}
