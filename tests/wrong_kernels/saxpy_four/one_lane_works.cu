// rejected: counter — lane 0 of each warp does the work of 32, so every request carries 4 bytes
extern "C" __global__ void saxpy_four(float *y, const float *x, float a, int n) {
    if (threadIdx.x % 32) return;
    int first = blockIdx.x * 512 + threadIdx.x * 4;
    for (int i = first; i < min(first + 128, n); ++i) y[i] = a * x[i] + y[i];
}
