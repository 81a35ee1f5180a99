// rejected: counter — an atomic operation reads too: four reads, not two
extern "C" __global__ void both(float* y, const float* a, const float* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = atomicAdd((float*)&a[i], 0) + atomicAdd((float*)&b[i], 0);
    y[n + i] = atomicAdd((float*)&a[i], 0) - atomicAdd((float*)&b[i], 0);
}
