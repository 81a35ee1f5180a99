// accepted — the functions of cuda_pipeline.h
#include <cuda_pipeline.h>
extern "C" __global__ void blur_rows(int* y, const int* x, int rows) {
    __shared__ int row[2][128];
    int t = threadIdx.x, stage = 0;
    if (blockIdx.x < rows) __pipeline_memcpy_async(&row[0][t], &x[blockIdx.x * 128 + t], 4);
    __pipeline_commit();
    for (int r = blockIdx.x; r < rows; r += gridDim.x) {
        __pipeline_wait_prior(0);
        __syncthreads();
        int next = r + gridDim.x;
        if (next < rows) __pipeline_memcpy_async(&row[stage ^ 1][t], &x[next * 128 + t], 4);
        __pipeline_commit();
        y[r * 128 + t] = row[stage][(t + 127) % 128] + row[stage][t] + row[stage][(t + 1) % 128];
        stage ^= 1;
    }
}
