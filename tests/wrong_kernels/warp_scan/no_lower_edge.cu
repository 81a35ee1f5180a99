// rejected: wrong answer — a lane below the step gets its own sum back and adds it once more
extern "C" __global__ void warp_scan(int* y, const int* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = i < n ? x[i] : 0;
    for (int step = 1; step < 32; step *= 2) sum += __shfl_up_sync(0xffffffff, sum, step);
    if (i < n) y[i] = sum;
}
