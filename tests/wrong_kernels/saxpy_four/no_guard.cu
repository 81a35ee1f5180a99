// rejected: hazard — the last block of a ragged shape reads and writes past the end
extern "C" __global__ void saxpy_four(float *y, const float *x, float a, int n) {
    int first = blockIdx.x * 512 + threadIdx.x;
    for (int k = 0; k < 4; ++k) y[first + 128 * k] = a * x[first + 128 * k] + y[first + 128 * k];
}
