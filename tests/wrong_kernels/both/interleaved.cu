// rejected: wrong answer — the two results of an element side by side, instead of all sums and then all differences
extern "C" __global__ void both(float* y, const float* a, const float* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float u = a[i], v = b[i];
    y[2 * i] = u + v;
    y[2 * i + 1] = u - v;
}
