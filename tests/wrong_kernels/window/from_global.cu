// rejected: counter — no tile: every element is loaded 17 times
extern "C" __global__ void window(int* y, const int* x, int n) {
    int i = blockIdx.x * 128 + threadIdx.x, sum = 0;
    if (i >= n) return;
    for (int t = 0; t <= 16; ++t) sum += x[i + t];
    y[i] = sum;
}
