// rejected: counter — each thread takes four neighbouring elements, as on a CPU, so lanes are 16 bytes apart
extern "C" __global__ void saxpy_four(float *y, const float *x, float a, int n) {
    int first = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    for (int k = 0; k < 4; ++k) {
        if (first + k < n) y[first + k] = a * x[first + k] + y[first + k];
    }
}
