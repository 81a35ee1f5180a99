// accepted — one warp copies, 16 bytes a lane
__device__ void copy16(void* shared, const void* global) {
    unsigned to = __cvta_generic_to_shared(shared);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(global) : "memory");
}
__device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> __device__ void wait() { asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory"); }

extern "C" __global__ void blur_rows(int* y, const int* x, int rows) {
    __shared__ __align__(16) int row[2][128];
    int t = threadIdx.x, stage = 0;
    if (t < 32 && blockIdx.x < rows) copy16(&row[0][4 * t], &x[blockIdx.x * 128 + 4 * t]);
    commit();
    for (int r = blockIdx.x; r < rows; r += gridDim.x) {
        wait<0>();
        __syncthreads();
        int next = r + gridDim.x;
        if (t < 32 && next < rows) copy16(&row[stage ^ 1][4 * t], &x[next * 128 + 4 * t]);
        commit();
        y[r * 128 + t] = row[stage][(t + 127) % 128] + row[stage][t] + row[stage][(t + 1) % 128];
        stage ^= 1;
    }
}
