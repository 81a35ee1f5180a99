// rejected: counter — four loads of one float each ask for the same 16 sectors four times
extern "C" __global__ void split_bodies(float *planes, const float *bodies, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int k = 0; k < 4; ++k) planes[k * n + i] = bodies[4 * i + k];
}
