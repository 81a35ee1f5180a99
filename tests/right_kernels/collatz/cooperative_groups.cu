// accepted — cooperative groups
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void collatz(int* turns, const int* x, int* ticket, int n) {
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    for (;;) {
        int first = warp.shfl(warp.thread_rank() == 0 ? 32 * atomicAdd(ticket, 1) : 0, 0);
        if (first >= n) break;
        int i = first + warp.thread_rank(), count = 0;
        if (i < n) { long long v = x[i]; while (v > 1) { v = v & 1 ? 3 * v + 1 : v >> 1; ++count; } turns[i] = count; }
    }
}
