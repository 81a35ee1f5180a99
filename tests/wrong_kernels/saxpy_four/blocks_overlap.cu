// rejected: hazard — blocks start 128 elements apart but cover 512, so up to four blocks update an element
extern "C" __global__ void saxpy_four(float *y, const float *x, float a, int n) {
    int first = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 4; ++k) {
        int i = first + 128 * k;
        if (i < n) y[i] = a * x[i] + y[i];
    }
}
