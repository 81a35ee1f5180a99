// rejected: wrong answer — sums can be far below -400
#define NOTHING (-200)

extern "C" __global__
void max_plus(int* c, const int* a, const int* b, int m, int n, int k) {
    __shared__ int a_tile[64][16], b_tile[16][64];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 64 + y, col = blockIdx.x * 64 + x;
    int best[16];
    for (int i = 0; i < 16; ++i) best[i] = 2 * NOTHING;
    for (int first = 0; first < k; first += 16) {
        for (int i = 0; i < 64; i += 16) {
            bool a_in = row + i < m && first + x < k, b_in = first + y < k && col + i < n;
            a_tile[y + i][x] = a_in ? a[(row + i) * k + first + x] : NOTHING;
            b_tile[y][x + i] = b_in ? b[(first + y) * n + col + i] : NOTHING;
        }
        __syncthreads();
        for (int l = 0; l < 16; ++l) {
            int left[4], right[4];
            for (int i = 0; i < 4; ++i) left[i] = a_tile[y + 16 * i][l];
            for (int j = 0; j < 4; ++j) right[j] = b_tile[l][x + 16 * j];
            for (int i = 0; i < 16; ++i) best[i] = max(best[i], left[i / 4] + right[i % 4]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 16; ++i)
        if (row + i / 4 * 16 < m && col + i % 4 * 16 < n)
            c[(row + i / 4 * 16) * n + col + i % 4 * 16] = best[i];
}
