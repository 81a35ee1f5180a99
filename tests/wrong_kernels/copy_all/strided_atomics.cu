// rejected: counter — each thread reads a piece of its own, by atomic operations
extern "C" __global__ void copy_all(float* y, const float* x, int n) {
    int t = blockIdx.x * 128 + threadIdx.x, each = (n + 511) / 512;
    for (int i = t * each; i < (t + 1) * each && i < n; ++i) y[i] = atomicAdd((float*)&x[i], 0);
}
