// rejected: counter — every lane adds up from global memory: many load requests where one would do
extern "C" __global__ void warp_scan(int* y, const int* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int sum = 0;
    for (int k = i & ~31; k <= i; ++k) sum += x[k];
    y[i] = sum;
}
