// rejected: counter — right for every shape, but nothing is shared: every thread loads its own row and column
extern "C" __global__
void rectangles(float* c, const float* a, const float* b, int m, int n, int k) {
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || col >= n) return;
    float sum = 0;
    for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + col];
    c[row * n + col] = sum;
}
