// rejected: hazard — threads past n leave before they have loaded their part of the halo
extern "C" __global__ void window(int* y, const int* x, int n) {
    __shared__ int tile[144];
    int first = blockIdx.x * 128, i = first + threadIdx.x, sum = 0;
    if (i >= n) return;
    for (int t = threadIdx.x; t < 144; t += 128)
        if (first + t < n + 16) tile[t] = x[first + t];
    __syncthreads();
    for (int t = 0; t <= 16; ++t) sum += tile[threadIdx.x + t];
    y[i] = sum;
}
