// rejected: counter — right, but through shared memory, with two barriers of the warp in each round
extern "C" __global__ void warp_scan(int* y, const int* x, int n) {
    __shared__ int part[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x, lane = t % 32;
    int sum = i < n ? x[i] : 0;
    for (int step = 1; step < 32; step *= 2) {
        part[t] = sum;
        __syncwarp();
        if (lane >= step) sum += part[t - step];
        __syncwarp();
    }
    if (i < n) y[i] = sum;
}
