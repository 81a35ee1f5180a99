// rejected: hazard — lanes past the last column read past the end
extern "C" __global__ void log_sums(float* y, const float* x, int rows, int columns) {
    int row = blockIdx.x * 4 + threadIdx.y;
    if (row >= rows) return;
    float top = -3.402823466e38f, sum = 0.0f;
    for (int c = threadIdx.x; c < (columns + 31) / 32 * 32; c += 32) {
        float value = x[row * columns + c], before = top;
        top = fmaxf(top, value);
        sum = sum * expf(before - top) + expf(value - top);
    }
    for (int step = 16; step > 0; step /= 2) {
        float other = __shfl_xor_sync(0xffffffff, top, step), before = top;
        float more = __shfl_xor_sync(0xffffffff, sum, step);
        top = fmaxf(top, other);
        sum = sum * expf(before - top) + more * expf(other - top);
    }
    if (threadIdx.x == 0) y[row] = top + logf(sum);
}
