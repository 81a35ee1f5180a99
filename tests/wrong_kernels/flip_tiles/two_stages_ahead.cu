// rejected: counter — the loop starts the copies before the barrier, and so needs two stages free: one matrix less is in flight
__device__ void copy16(float4* shared, const float4* global) {  // 16 bytes
    unsigned to = __cvta_generic_to_shared(shared);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(global) : "memory");
}
__device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> __device__ void wait() { asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory"); }

extern "C" __global__ void flip_tiles(float* y, const float4* x, int tiles) {
    __shared__ float4 tile[4][64];
    int t = threadIdx.x, stage = 0, ahead = blockIdx.x;
    for (int s = 0; s < 2; ++s, ahead += gridDim.x) {
        if (ahead < tiles) copy16(&tile[s][t], &x[ahead * 64 + t]);
        commit();
    }
    for (int i = blockIdx.x; i < tiles; i += gridDim.x, ahead += gridDim.x) {
        wait<1>();
        __syncthreads();
        if (ahead < tiles) copy16(&tile[(stage + 2) % 4][t], &x[ahead * 64 + t]);
        commit();  // even if empty: wait<2> counts groups
        const float* m = (const float*)tile[stage];
        for (int j = t; j < 256; j += 64) y[i * 256 + j] = m[j % 16 * 16 + j / 16];
        stage = (stage + 1) % 4;
    }
}
