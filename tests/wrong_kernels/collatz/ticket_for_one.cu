// rejected: wrong answer — a ticket stands for one number, but the warp takes 32: most are taken many times
extern "C" __global__ void collatz(int* turns, const int* x, int* ticket, int n) {
    int lane = threadIdx.x % 32;
    while (true) {
        int first = 0;
        if (lane == 0) first = atomicAdd(ticket, 1);
        first = __shfl_sync(0xffffffff, first, 0);
        if (first >= n) return;
        int i = first + lane, count = 0;
        if (i < n)
            for (long long v = x[i]; v != 1; ++count) v = v % 2 ? 3 * v + 1 : v / 2;
        if (i < n) atomicAdd(&turns[i], count);
    }
}
