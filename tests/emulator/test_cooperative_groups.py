"""Cooperative groups: blocks, tiles, coalesced threads, the grid."""

import numpy as np
import pytest

from course_lib.emulator import RawModule
from course_lib.emulator.errors import EmulatorError, UnsupportedError

from .cuda import run

HEADERS = """
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
"""
KERNELS = {
    "thread_block": """
      cg::thread_block b = cg::this_thread_block(); __shared__ int s[96];
      int r = b.thread_rank(); s[r] = r; b.sync();
      int at = b.group_index().x;
      out[at * 96 + r] = s[95 - r] + 1000 * b.size() + 100000 * at + b.thread_index().y;""",
    # only some tiles of a warp take the branch
    "divergent_tile": """
      auto t = cg::tiled_partition<8>(cg::this_thread_block()); int i = threadIdx.x, v = -1;
      if (t.meta_group_rank() % 3 == 1) v = t.shfl_xor(10 * i, 1) + t.all(i >= 0);
      out[i] = v;""",
    "reduce_and_scan": """
      auto t = cg::tiled_partition<16>(cg::this_thread_block()); int i = threadIdx.x;
      int sum = cg::reduce(t, i, cg::plus<int>()), most = cg::reduce(t, (i * 7) % 16, cg::greater<int>());
      int below = cg::exclusive_scan(t, i), upto = cg::inclusive_scan(t, 1);
      out[i] = sum; out[96 + i] = most; out[192 + i] = below; out[288 + i] = upto;""",
    "coalesced": """
      int i = threadIdx.x; out[i] = -1;
      if (i % 3 == 1) {
        cg::coalesced_group g = cg::coalesced_threads();
        int v = g.thread_rank() * 100 + g.size() + 10000 * g.shfl(i, 0); g.sync();
        out[i] = v + g.any(i == 4) * 1000000;
      }""",
    "labeled": """
      int i = threadIdx.x; auto w = cg::tiled_partition<32>(cg::this_thread_block());
      auto g = cg::labeled_partition(w, i % 4); out[i] = g.size() * 100 + g.thread_rank();""",
    "grid_sync": """
      auto g = cg::this_grid(); int n = g.size(), i = g.thread_rank();
      out[i] = i;
      for (int k = 0; k < 3; ++k) {
        g.sync(); int v = ((volatile int *)out)[(i + 129) % n]; g.sync(); out[i] = v + 1; }""",
    **{
        f"tile_{size}": f"""
      auto t = cg::tiled_partition<{size}>(cg::this_thread_block()); int i = threadIdx.x, v = i;
      for (int d = t.size() / 2; d > 0; d /= 2) v += t.shfl_down(v, d);
      v = t.shfl(v, 0); t.sync();
      out[i] = v * 10000 + t.thread_rank() * 100 + t.meta_group_rank() + (t.any(i == 40) ? 1 << 30 : 0);
      if (t.ballot(t.thread_rank() % 2 == 0) != (0x55555555u & ((1ull << {size}) - 1))) out[i] = -1;"""
        for size in (1, 2, 4, 8, 16, 32)
    },
}
CODE = HEADERS + "\n".join(
    f'extern "C" __global__ void {name}(int *out) {{ {body} }}' for name, body in KERNELS.items()
)
THREADS = np.arange(96)


def groups(
    name: str, out: np.ndarray, *, grid: int = 1, block: tuple = (96,), cooperative: bool = False
) -> np.ndarray:
    """Run one of KERNELS. They are compiled together: these headers take a second."""
    module = RawModule(code=CODE, enable_cooperative_groups=cooperative)
    module.get_function(name)((grid,), block, (out,))
    return out


def ints(count: int = 96) -> np.ndarray:
    return np.zeros(count, np.int32)


def test_thread_block() -> None:
    out = groups("thread_block", ints(192), grid=2, block=(32, 3))
    rows = 95 - THREADS + 96000 + THREADS // 32
    np.testing.assert_array_equal(out, np.r_[rows, rows + 100000])


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16, 32])
def test_tiles(size: int) -> None:
    first = THREADS // size * size
    total = size * first + size * (size - 1) // 2
    has_40 = np.where(first == 40 // size * size, 1 << 30, 0)
    wanted = total * 10000 + THREADS % size * 100 + THREADS // size + has_40
    np.testing.assert_array_equal(groups(f"tile_{size}", ints()), wanted.astype(np.int32))


def test_a_tile_in_divergent_code() -> None:
    wanted = np.where(THREADS // 8 % 3 == 1, 10 * (THREADS ^ 1) + 1, -1)
    np.testing.assert_array_equal(groups("divergent_tile", ints()), wanted)


def test_reduce_and_scan() -> None:
    out = groups("reduce_and_scan", ints(384)).reshape(4, 6, 16)
    rows = THREADS.reshape(6, 16)
    np.testing.assert_array_equal(out[0], np.repeat(rows.sum(1)[:, None], 16, 1))
    assert (out[1] == 15).all()
    np.testing.assert_array_equal(out[2], rows.cumsum(1) - rows)
    np.testing.assert_array_equal(out[3], np.tile(np.arange(1, 17), (6, 1)))


def test_coalesced_threads() -> None:
    out = groups("coalesced", ints())
    for warp in range(3):
        chosen = [i for i in range(32 * warp, 32 * warp + 32) if i % 3 == 1]
        for rank, i in enumerate(chosen):
            assert out[i] == rank * 100 + len(chosen) + 10000 * chosen[0] + 1000000 * (4 in chosen)
    assert (out[THREADS % 3 != 1] == -1).all()


def test_labeled_partition() -> None:
    np.testing.assert_array_equal(groups("labeled", ints()), 800 + THREADS % 32 // 4)


# -- the grid ----------------------------------------------------------------------


@pytest.mark.parametrize("grid", [1, 5, 300])
def test_the_whole_grid_synchronises(grid: int) -> None:
    n = grid * 256
    out = groups("grid_sync", ints(n), grid=grid, block=(256,), cooperative=True)
    np.testing.assert_array_equal(out, (np.arange(n) + 3 * 129) % n + 3)


def test_without_a_cooperative_launch() -> None:
    with pytest.raises(EmulatorError, match=r"trap.*enable_cooperative_groups=True"):
        groups("grid_sync", ints())


def test_clusters_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="cluster"):
        run("cg::this_cluster().sync(); out[0] = 1;", ints(), before=HEADERS)
