// rejected: counter — the loop over the chains is the outer one: 64 rounds of one load
extern "C" __global__ void four_chains(int* y, const int* next, int hops, int n) {
    for (int k = 0; k < 4; ++k) {
        int i = blockIdx.x * 512 + threadIdx.x + 128 * k;
        if (i >= n) return;
        int at = i;
        for (int hop = 0; hop < hops; ++hop) at = next[at];
        y[i] = at;
    }
}
