// rejected: wrong answer — fixed shares: the tickets are drawn and not used
extern "C" __global__ void collatz(int* turns, const int* x, int* ticket, int n) {
    int lane = threadIdx.x % 32, warp = (blockIdx.x * 128 + threadIdx.x) / 32;
    for (int first = 32 * warp; first < n; first += 256) {
        if (lane == 0) atomicAdd(ticket, 1);
        int i = first + lane, count = 0;
        if (i < n) { for (long long v = x[i]; v != 1; ++count) v = v % 2 ? 3 * v + 1 : v / 2; turns[i] += count; }
    }
    if (lane == 0) atomicAdd(ticket, 1);
}
