// rejected: hazard — the clamped chains store past the end of y
extern "C" __global__ void four_chains(int* y, const int* next, int hops, int n) {
    int first = blockIdx.x * 512 + threadIdx.x, at[4];
    for (int k = 0; k < 4; ++k) at[k] = min(first + 128 * k, n - 1);
    for (int hop = 0; hop < hops; ++hop)
        for (int k = 0; k < 4; ++k) at[k] = next[at[k]];
    for (int k = 0; k < 4; ++k)
        y[first + 128 * k] = at[k];
}
