// rejected: wrong answer — the sums of two lanes are added although each counts by its own maximum
extern "C" __global__ void log_sums(float* y, const float* x, int rows, int columns) {
    int row = blockIdx.x * 4 + threadIdx.y;
    if (row >= rows) return;
    float top = -3.402823466e38f, sum = 0.0f;
    for (int c = threadIdx.x; c < columns; c += 32) {
        float value = x[row * columns + c], before = top;
        top = fmaxf(top, value);
        sum = sum * expf(before - top) + expf(value - top);
    }
    for (int step = 16; step > 0; step /= 2) {
        float other = __shfl_xor_sync(0xffffffff, top, step);
        float more = __shfl_xor_sync(0xffffffff, sum, step);
        top = fmaxf(top, other);
        sum += more;
    }
    if (threadIdx.x == 0) y[row] = top + logf(sum);
}
