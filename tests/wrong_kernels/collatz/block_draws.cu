// rejected: counter — a ticket for the whole block: a barrier for each, and its warps wait for the slowest
extern "C" __global__ void collatz(int* turns, const int* x, int* ticket, int n) {
    __shared__ int drawn;
    while (true) {
        __syncthreads();
        if (threadIdx.x == 0) drawn = 128 * atomicAdd(ticket, 1);
        __syncthreads();
        int first = drawn;
        if (first >= n) return;
        int i = first + threadIdx.x, count = 0;
        if (i < n)
            for (long long v = x[i]; v != 1; ++count) v = v % 2 ? 3 * v + 1 : v / 2;
        if (i < n) turns[i] += count;
    }
}
