// rejected: wrong answer — three quarters of y are never written
extern "C" __global__ void four_chains(int* y, const int* next, int hops, int n) {
    int i = blockIdx.x * 512 + threadIdx.x;
    if (i >= n) return;
    int at = i;
    for (int hop = 0; hop < hops; ++hop) at = next[at];
    y[i] = at;
}
