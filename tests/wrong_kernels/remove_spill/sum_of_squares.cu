// rejected: wrong answer — with a large mean, the difference of two large numbers keeps few digits
extern "C" __global__ void __launch_bounds__(1024, 2)
remove_spill(float* y, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = 0, q = 0;
    for (int k = 0; k < 48; ++k) { float v = x[k * n + i]; s += v; q += v * v; }
    y[i] = q / 48 - (s / 48) * (s / 48);
}
