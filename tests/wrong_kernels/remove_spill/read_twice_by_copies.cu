// rejected: counter — two passes over x, in asynchronous copies
extern "C" __global__ void __launch_bounds__(1024, 2)
remove_spill(float* y, const float* x, int n) {
    __shared__ float s[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
    if (i >= n) return;
    float m = 0, q = 0;
    for (int turn = 0; turn < 2; ++turn)
        for (int k = 0; k < 48; ++k) {
            unsigned to = __cvta_generic_to_shared(&s[t]);
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4; cp.async.wait_all;" :: "r"(to), "l"(&x[k * n + i]) : "memory");
            float v = s[t];
            if (turn == 0) m += v / 48; else q += (v - m) * (v - m);
        }
    y[i] = q / 48;
}
