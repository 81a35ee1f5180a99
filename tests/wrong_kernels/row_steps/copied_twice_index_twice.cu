// rejected: counter — every row is copied twice
__device__ void copy4(int* shared, const int* global) {
    unsigned to = __cvta_generic_to_shared(shared);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to), "l"(global) : "memory");
}
__device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> __device__ void wait() { asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory"); }

__device__ void arrive(int barrier) { asm volatile("bar.arrive %0, 96;" :: "r"(barrier) : "memory"); }
__device__ void await(int barrier) { asm volatile("bar.sync %0, 96;" :: "r"(barrier) : "memory"); }

extern "C" __global__ void row_steps(int* y, const int* table, const int* index, int picks) {
    __shared__ int row[2][64];
    int t = threadIdx.x, step = gridDim.x, s = 0;
    for (int i = blockIdx.x; i < picks; i += step, s ^= 1) {
        if (t >= 64) {
            if (i >= 2 * step) await(3 + s);
            for (int twice = 0; twice < 2; ++twice) {
                const int* from = &table[((volatile const int*)index)[i] * 64];
                for (int j = t - 64; j < 64; j += 32) copy4(&row[s][j], &from[j]);
                commit();
                wait<0>();
            }
            arrive(1 + s);
        } else {
            await(1 + s);
            y[i * 64 + t] = row[s][t] - row[s][(t + 63) % 64];
            if (i + 2 * step < picks) arrive(3 + s);
        }
    }
}
