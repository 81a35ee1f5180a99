// rejected: counter — the row is read twice, once for the maximum and once for the sum
extern "C" __global__ void log_sums(float* y, const float* x, int rows, int columns) {
    int row = blockIdx.x * 4 + threadIdx.y;
    if (row >= rows) return;
    float top = -3.402823466e38f, sum = 0.0f;
    for (int c = threadIdx.x; c < columns; c += 32) {
        top = fmaxf(top, x[row * columns + c]);
    }
    for (int c = threadIdx.x; c < columns; c += 32) sum += expf(x[row * columns + c] - top);
    for (int step = 16; step > 0; step /= 2) {
        float other = __shfl_xor_sync(0xffffffff, top, step), before = top;
        float more = __shfl_xor_sync(0xffffffff, sum, step);
        top = fmaxf(top, other);
        sum = sum * expf(before - top) + more * expf(other - top);
    }
    if (threadIdx.x == 0) y[row] = top + logf(sum);
}
