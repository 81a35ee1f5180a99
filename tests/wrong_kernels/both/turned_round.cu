// rejected: wrong answer — b - a instead of a - b
extern "C" __global__ void both(float* y, const float* a, const float* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float u = a[i], v = b[i];
    y[i] = u + v;
    y[n + i] = v - u;
}
