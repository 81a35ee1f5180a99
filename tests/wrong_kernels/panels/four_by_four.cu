// rejected: counter — the result is stored float by float: four requests a warp instead of one
extern "C" __global__ void panels(float* out, const float* a, int rows, int depth) {
    __shared__ __align__(16) float tile[8][132];
    int t = threadIdx.x, k = t % 2 * 4, row = blockIdx.y * 128 + t / 2;
    float4 four = {};
    if (row < rows) four = *(float4*)&a[row * depth + blockIdx.x * 8 + k];
    tile[k][t / 2] = four.x;
    tile[k + 1][t / 2] = four.y;
    tile[k + 2][t / 2] = four.z;
    tile[k + 3][t / 2] = four.w;
    __syncthreads();
    out += (blockIdx.y * depth + blockIdx.x * 8) * 128;
    for (int i = t; i < 1024; i += 256) out[i] = tile[i / 128][i % 128];
}
