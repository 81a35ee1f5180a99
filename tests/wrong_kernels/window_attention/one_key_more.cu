// rejected: wrong answer — the window has 33 keys
#define WINDOW 32

extern "C" __global__ void window_attention(
        float* out, const float* q, const float* k, const float* v, int n) {
    __shared__ __align__(16) float keys[16][32], values[16][32];
    int block = blockIdx.x * 64, i = block + threadIdx.x, row = min(i, n - 1);
    float qi[32], acc[32] = {}, top = -3.402823466e38f, sum = 0.0f;
    for (int c = 0; c < 32; ++c) qi[c] = q[row * 32 + c];
    for (int first = max(block - WINDOW, 0); first < min(block + 64, n); first += 16) {
        for (int t = threadIdx.x; t < 16 * 32; t += 64) {
            bool inside = first + t / 32 < n;
            keys[t / 32][t % 32] = inside ? k[first * 32 + t] : 0.0f;
            values[t / 32][t % 32] = inside ? v[first * 32 + t] : 0.0f;
        }
        __syncthreads();
        for (int j = first; j < first + 16; ++j) {
            float score = 0.0f, before = top;
            for (int c = 0; c < 32; ++c) score += qi[c] * keys[j - first][c];
            bool seen = j <= i && j >= i - WINDOW && j < n;
            top = seen ? fmaxf(top, score) : top;
            float keep = expf(before - top), p = seen ? expf(score - top) : 0.0f;
            sum = sum * keep + p;
            for (int c = 0; c < 32; ++c) acc[c] = acc[c] * keep + p * values[j - first][c];
        }
        __syncthreads();
    }
    if (i < n)
        for (int c = 0; c < 32; ++c) out[i * 32 + c] = acc[c] / sum;
}
