// rejected: wrong answer — the fourth round is missing
extern "C" __global__ void saxpy_four(float *y, const float *x, float a, int n) {
    int first = blockIdx.x * 512 + threadIdx.x;
    for (int k = 0; k < 3; ++k) {
        int i = first + 128 * k;
        if (i < n) y[i] = a * x[i] + y[i];
    }
}
