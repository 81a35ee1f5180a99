// rejected: counter — no conflict without shared memory, but every load request touches 32 sectors
extern "C" __global__ void row_sums(float* y, const float* a, int rows) {
    int row = blockIdx.x * 32 + threadIdx.x;
    if (threadIdx.y > 0 || row >= rows) return;
    float sum = 0;
    for (int c = 0; c < 32; ++c) sum += a[row * 32 + c];
    y[row] = sum;
}
