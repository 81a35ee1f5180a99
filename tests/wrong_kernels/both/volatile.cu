// rejected: counter — volatile asks for a load wherever the name stands
extern "C" __global__ void both(float* y, const float* a, const float* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const volatile float *p = a, *q = b;
    float sum = p[i] + q[i], difference = p[i] - q[i];
    y[i] = sum;
    y[n + i] = difference;
}
