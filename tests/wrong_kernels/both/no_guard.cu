// rejected: hazard — the last block goes past the end of the ragged arrays
extern "C" __global__ void both(float* y, const float* a, const float* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float u = a[i], v = b[i];
    y[i] = u + v;
    y[n + i] = u - v;
}
