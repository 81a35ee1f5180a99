// rejected: hazard — with an odd number of columns, a row need not begin at a multiple of 8 bytes
extern "C" __global__ void pair_rows(float* y, const float* x, int rows, int columns) {
    int t = threadIdx.x, c = blockIdx.x * 128 + 2 * t, r = blockIdx.y;
    if (t >= 64 || c + 2 > columns) return;
    float2 u = *(float2*)&x[2 * r * columns + c], v = *(float2*)&x[(2 * r + 1) * columns + c];
    *(float2*)&y[r * columns + c] = make_float2(u.x + v.x, u.y + v.y);
}
