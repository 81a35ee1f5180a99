// rejected: wrong answer — fixed shares: the tickets are drawn and not used
__device__ int block_sum(int value) {  // every thread gets the sum over the 128 values of its block
    __shared__ int part[4];
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffff, value, step);
    __syncthreads();  // until nobody reads the sum before
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = value;
    __syncthreads();
    return part[0] + part[1] + part[2] + part[3];
}

extern "C" __global__ void next_job(int* y, const int* x, const int* start, const int* length,
                                    int* ticket, int jobs) {
    for (int mine = blockIdx.x; mine < jobs; mine += 4) {
        if (threadIdx.x == 0) atomicAdd(ticket, 1);
        int sum = 0;
        for (int i = threadIdx.x; i < length[mine]; i += 128) sum += x[start[mine] + i];
        sum = block_sum(sum);  // its barriers also keep job unchanged until all have read it
        if (threadIdx.x == 0) y[mine] = sum;
    }
    if (threadIdx.x == 0) atomicAdd(ticket, 1);
}
