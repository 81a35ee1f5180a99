// rejected: counter — no queue: warp w takes every 8th 32 numbers, whatever they cost
extern "C" __global__ void collatz(int* turns, const int* x, int* ticket, int n) {
    int lane = threadIdx.x % 32;
    int warp = blockIdx.x * 4 + threadIdx.x / 32;
    for (int first = 32 * warp; first < n; first += 32 * 8) {
        int i = first + lane, count = 0;
        if (i < n)
            for (long long v = x[i]; v != 1; ++count) v = v % 2 ? 3 * v + 1 : v / 2;
        if (i < n) turns[i] += count;
    }
}
