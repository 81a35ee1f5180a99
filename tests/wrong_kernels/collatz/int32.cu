// rejected: error — 3 x + 1 overflows an int on the way from 113,383, and the loop never ends
extern "C" __global__ void collatz(int* turns, const int* x, int* ticket, int n) {
    int lane = threadIdx.x % 32;
    while (true) {
        int first = 0;
        if (lane == 0) first = 32 * atomicAdd(ticket, 1);
        first = __shfl_sync(0xffffffff, first, 0);
        if (first >= n) return;
        int i = first + lane, count = 0;
        if (i < n)
            for (int v = x[i]; v != 1; ++count) v = v % 2 ? 3 * v + 1 : v / 2;
        if (i < n) turns[i] += count;
    }
}
