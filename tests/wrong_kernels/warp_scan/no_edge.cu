// rejected: hazard — threads past the end of the ragged shape read and write outside the arrays
extern "C" __global__ void warp_scan(int* y, const int* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    int sum = x[i];
    for (int step = 1; step < 32; step *= 2) {
        int left = __shfl_up_sync(0xffffffff, sum, step);
        if (lane >= step) sum += left;
    }
    y[i] = sum;
}
