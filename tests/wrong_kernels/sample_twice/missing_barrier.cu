// rejected: hazard — a warp reads what another warp stored, with no barrier between: the answer may still be right
extern "C" __global__ void twice(float *y, const float *x, int n) {
    __shared__ float tile[128];
    int first = blockIdx.x * blockDim.x, other = threadIdx.x ^ 32;
    tile[threadIdx.x] = first + threadIdx.x < n ? x[first + threadIdx.x] : 0.0f;
    if (first + other < n) y[first + other] = 2.0f * tile[other];
}
