// rejected: hazard — 8 blocks read and write the same y[r], and nothing orders them
__device__ int block_sum(int value) {  // every thread gets the sum over the 128 values of its block
    __shared__ int part[4];
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffff, value, step);
    __syncthreads();  // until nobody reads the sum before
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = value;
    __syncthreads();
    return part[0] + part[1] + part[2] + part[3];
}

extern "C" __global__ void split_rows(int* y, const int* a, int columns) {
    int first = columns * blockIdx.y / gridDim.y, last = columns * (blockIdx.y + 1) / gridDim.y;
    int sum = 0;
    for (int c = first + threadIdx.x; c < last; c += blockDim.x) sum += a[blockIdx.x * columns + c];
    sum = block_sum(sum);
    if (threadIdx.x == 0) y[blockIdx.x] += sum;
}
