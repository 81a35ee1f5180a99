// rejected: wrong answer — no part has a key: 0 / 0
extern "C" __global__ void merge_parts(float* y, const float* outs, const float* lse, int parts, int rows) {
    int r = blockIdx.x * 8 + threadIdx.y, c = threadIdx.x;
    if (r >= rows) return;
    float top = -3.402823466e38f, sum = 0.0f, added = 0.0f;
    for (int p = 0; p < parts; ++p) top = fmaxf(top, lse[p * rows + r]);
    for (int p = 0; p < parts; ++p) {
        float one = lse[p * rows + r], weight = one > -3.402823466e38f ? expf(one - top) : 0.0f;
        sum += weight;
        added += weight * outs[(p * rows + r) * 32 + c];
    }
    y[r * 32 + c] = added / sum;
}
