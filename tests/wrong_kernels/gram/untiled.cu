// rejected: counter — coalesced where it can be, but every element is loaded again for every element of G
extern "C" __global__ void gram(float* g, const float* a, int rows, int n) {
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    if (i >= n || j >= n) return;
    float sum = 0;
    for (int row = 0; row < rows; ++row) sum += a[row * n + i] * a[row * n + j];
    g[i * n + j] = sum;
}
