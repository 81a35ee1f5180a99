// rejected: wrong answer — the mean of the squares, without the square of the mean
extern "C" __global__ void __launch_bounds__(1024, 2)
remove_spill(float* y, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < 48; ++k) sum += x[k * n + i] * x[k * n + i];
    y[i] = sum / 48;
}
