// rejected: wrong answer — nothing beyond element 5,120 is copied
extern "C" __global__ void copy_all(float* y, const float* x, int n) {
    int i = blockIdx.x * 128 + threadIdx.x;
    for (int k = 0; k < 10; ++k, i += 512) if (i < n) y[i] = x[i];
}
