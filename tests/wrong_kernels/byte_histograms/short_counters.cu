// rejected: counter — counters of 2 bytes are 16 KB: 13 blocks fit, 52 warps
extern "C" __global__ void byte_histograms(int* y, const unsigned char* x, int n) {
    __shared__ unsigned short mine[64][128];
    int t = threadIdx.x;
    for (int v = 0; v < 64; ++v) mine[v][t] = 0;
    for (int k = 0; k < 200; ++k) {
        int i = blockIdx.x * 25600 + k * 128 + t;
        if (i < n) ++mine[x[i]][t];
    }
    __syncthreads();
    if (t >= 64) return;
    int sum = 0;
    for (int other = 0; other < 128; ++other) sum += mine[t][other];
    y[blockIdx.x * 64 + t] = sum;
}
