// rejected: wrong answer — the rows of a are copied as they are
extern "C" __global__ void panels(float* out, const float* a, int rows, int depth) {
    __shared__ __align__(16) float tile[8][132];
    int t = threadIdx.x, k = t % 2 * 4, row = blockIdx.y * 128 + t / 2;
    float4 four = {};
    if (row < rows) four = *(float4*)&a[row * depth + blockIdx.x * 8 + k];
    *(float4*)&tile[t / 32][t % 32 * 4] = four;
    __syncthreads();
    out += (blockIdx.y * depth + blockIdx.x * 8) * 128;
    *(float4*)&out[4 * t] = *(float4*)&tile[t / 32][t % 32 * 4];
}
