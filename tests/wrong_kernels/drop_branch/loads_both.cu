// rejected: counter — no branch, but both arrays are read
extern "C" __global__
void drop_branch(float* y, const float* a, const float* b, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float from_a = a[i], from_b = b[i];
    y[i] = x[i] > 0 ? from_a : from_b;
}
