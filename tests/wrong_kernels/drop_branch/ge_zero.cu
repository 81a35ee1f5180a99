// rejected: wrong answer — 0 is not greater than 0
extern "C" __global__
void drop_branch(float* y, const float* a, const float* b, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float* from = x[i] >= 0 ? a : b;
    y[i] = from[i];
}
