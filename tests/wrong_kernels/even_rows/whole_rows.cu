// rejected: wrong answer — whole rows only: with 7 rows, block 0 does twice the work of the others
__device__ int block_sum(int value) {  // every thread gets the sum over the 128 values of its block
    __shared__ int part[4];
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffff, value, step);
    __syncthreads();  // until nobody reads the sum before
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = value;
    __syncthreads();
    return part[0] + part[1] + part[2] + part[3];
}

extern "C" __global__ void even_rows(int* y, const int* a, int rows, int chunks) {
    int all = rows * chunks, t = threadIdx.x;
    int did = 0;
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        int sum = 0;
        for (int c = 0; c < chunks; ++c) sum += a[(row * chunks + c) * 128 + t];
        sum = block_sum(sum);
        if (t == 0) y[row] = sum;
        did += chunks;
    }
    if (t == 0 && all > 0) y[rows + blockIdx.x] = did;
}
