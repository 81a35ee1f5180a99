// rejected: hazard — the chains past the end of the array start outside it
extern "C" __global__ void four_chains(int* y, const int* next, int hops, int n) {
    int first = blockIdx.x * 512 + threadIdx.x, at[4];
    for (int k = 0; k < 4; ++k) at[k] = first + 128 * k;
    for (int hop = 0; hop < hops; ++hop)
        for (int k = 0; k < 4; ++k) at[k] = next[at[k]];
    for (int k = 0; k < 4; ++k)
        if (first + 128 * k < n) y[first + 128 * k] = at[k];
}
