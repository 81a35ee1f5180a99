// rejected: hazard — thread 0 also writes the element of thread 1: a race, though the answer is right
extern "C" __global__ void twice(float *y, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
    if (i == 0) y[1] = 2.0f * x[1];
}
