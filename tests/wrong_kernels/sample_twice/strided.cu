// rejected: counter — neighbouring threads are gridDim.x elements apart, so a request needs up to 32 sectors
extern "C" __global__ void twice(float *y, const float *x, int n) {
    int i = threadIdx.x * gridDim.x + blockIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}
