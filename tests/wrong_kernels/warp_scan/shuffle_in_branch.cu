// rejected: hazard — lanes below the step do not take part, though the mask names them and others read them
extern "C" __global__ void warp_scan(int* y, const int* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    int sum = i < n ? x[i] : 0;
    for (int step = 1; step < 32; step *= 2)
        if (lane >= step) sum += __shfl_up_sync(0xffffffff, sum, step);
    if (i < n) y[i] = sum;
}
