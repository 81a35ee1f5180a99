// accepted — half a warp copies a row, 16 bytes a lane
__device__ void copy16(void* shared, const void* global) {
    unsigned to = __cvta_generic_to_shared(shared);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(global) : "memory");
}
__device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> __device__ void wait() { asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory"); }

__device__ void arrive(int barrier) { asm volatile("bar.arrive %0, 96;" :: "r"(barrier) : "memory"); }
__device__ void await(int barrier) { asm volatile("bar.sync %0, 96;" :: "r"(barrier) : "memory"); }

extern "C" __global__ void row_steps(int* y, const int* table, const int* index, int picks) {
    __shared__ __align__(16) int row[2][64];
    int t = threadIdx.x, step = gridDim.x, s = 0;
    for (int i = blockIdx.x; i < picks; i += step, s ^= 1) {
        if (t >= 64) {
            if (i >= 2 * step) await(3 + s);
            const int* from = &table[index[i] * 64];
            if (t < 80) copy16(&row[s][4 * (t - 64)], &from[4 * (t - 64)]);
            commit();
            wait<0>();
            arrive(1 + s);
        } else {
            await(1 + s);
            y[i * 64 + t] = row[s][t] - row[s][(t + 63) % 64];
            if (i + 2 * step < picks) arrive(3 + s);
        }
    }
}
