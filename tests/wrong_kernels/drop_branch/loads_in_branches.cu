// rejected: counter — each side of the if loads, so it stays a branch
extern "C" __global__
void drop_branch(float* y, const float* a, const float* b, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (x[i] > 0) y[i] = a[i];
    else y[i] = b[i];
}
