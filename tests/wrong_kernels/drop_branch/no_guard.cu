// rejected: hazard — the guard was taken for the branch to drop
extern "C" __global__
void drop_branch(float* y, const float* a, const float* b, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float* from = x[i] > 0 ? a : b;
    y[i] = from[i];
}
