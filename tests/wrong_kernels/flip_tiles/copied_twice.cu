// rejected: counter — what was copied ahead is copied again
__device__ void copy16(void* shared, const void* global) {
    unsigned to = __cvta_generic_to_shared(shared);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(global) : "memory");
}
__device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> __device__ void wait() { asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory"); }

extern "C" __global__ void flip_tiles(float* y, const float4* x, int tiles) {
    __shared__ float4 tile[4][64];
    int t = threadIdx.x, stage = 0;
    for (int i = blockIdx.x; i < tiles; i += gridDim.x) {
        copy16(&tile[stage][t], &x[i * 64 + t]);
        commit();
        wait<0>();
        __syncthreads();
        for (int s = 1; s < 4; ++s) if (i + s * gridDim.x < tiles) copy16(&tile[(stage + s) % 4][t], &x[(i + s * gridDim.x) * 64 + t]);
        commit();
        const float* m = (const float*)tile[stage];
        for (int j = t; j < 256; j += 64) y[i * 256 + j] = m[j % 16 * 16 + j / 16];
        wait<0>();
        __syncthreads();
        stage = (stage + 1) % 4;
    }
}
