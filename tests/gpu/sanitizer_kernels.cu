// Small kernels, right and wrong, for compute-sanitizer and for the emulator. See sanitizer_kernels.py.
//
// Above each kernel, a line `//: NAME: TOOL | FOUND | SETTINGS`: the tool that should report it (- for none),
// what the emulator reports or raises (- for nothing), and how it is launched where not as 2 blocks of 128.
// `faults`: it stops on hardware, so that only memcheck runs it; `hangs`: no tool runs it.
//
// x holds 0, 1, 2, ...; y and c hold zeros; nobody has written fresh. Each has an element for every thread.

#include <cuda_pipeline.h>

#define KERNEL(name) extern "C" __global__ void name(float *x, float *y, int *c, float *fresh, int n)
#define INDEX int t = threadIdx.x, i = blockIdx.x * blockDim.x + t

// -- Memory ------------------------------------------------------------------------------------

//: copy_guarded: - | -
KERNEL(copy_guarded) {
    INDEX;
    if (i < n) y[i] = x[i];
}

//: store_behind_end: memcheck | MemoryAccessError | faults
KERNEL(store_behind_end) {
    INDEX;
    y[n + i] = x[i];
}

//: load_one_too_far: memcheck | MemoryAccessError | faults
KERNEL(load_one_too_far) {
    INDEX;
    y[i] = x[i + 1];
}

//: store_before_start: memcheck | MemoryAccessError | faults
KERNEL(store_before_start) {
    INDEX;
    y[i - 1] = x[i];
}

//: float4_misaligned: memcheck | MemoryAccessError | faults
KERNEL(float4_misaligned) {
    INDEX;
    if (i < n / 4 - 1) ((float4 *)y)[i] = *(float4 *)(x + 1 + 4 * i);
}

//: float4_aligned: - | -
KERNEL(float4_aligned) {
    INDEX;
    if (i < n / 4) ((float4 *)y)[i] = ((float4 *)x)[i];
}

//: shared_behind_end: memcheck | MemoryAccessError | faults
KERNEL(shared_behind_end) {
    INDEX;
    __shared__ float s[64];
    s[t] = x[i];
    __syncthreads();
    y[i] = s[127 - t];
}

// -- Barriers of a block, and races that they prevent ------------------------------------------

//: reverse: - | -
KERNEL(reverse) {
    INDEX;
    __shared__ float s[128];
    s[t] = x[i];
    __syncthreads();
    y[i] = s[127 - t];
}

//: reverse_no_barrier: racecheck | shared race
KERNEL(reverse_no_barrier) {
    INDEX;
    __shared__ float s[128];
    s[t] = x[i];
    y[i] = s[127 - t];
}

//: reduce: - | -
KERNEL(reduce) {
    INDEX;
    __shared__ float s[128];
    s[t] = x[i];
    __syncthreads();
    for (int d = 64; d; d /= 2) {
        if (t < d) s[t] += s[t + d];
        __syncthreads();
    }
    if (t == 0) y[blockIdx.x] = s[0];
}

//: reduce_no_barrier: racecheck | shared race
KERNEL(reduce_no_barrier) {
    INDEX;
    __shared__ float s[128];
    s[t] = x[i];
    __syncthreads();
    for (int d = 64; d; d /= 2)
        if (t < d) s[t] += s[t + d];
    __syncthreads();
    if (t == 0) y[blockIdx.x] = s[0];
}

//: scan_one_barrier: racecheck | shared race
KERNEL(scan_one_barrier) {
    INDEX;
    __shared__ float s[128];
    s[t] = x[i];
    __syncthreads();
    for (int d = 1; d < 128; d *= 2) {
        if (t >= d) s[t] += s[t - d];
        __syncthreads();
    }
    y[i] = s[t];
}

//: scan_two_barriers: - | -
KERNEL(scan_two_barriers) {
    INDEX;
    __shared__ float s[128];
    s[t] = x[i];
    __syncthreads();
    for (int d = 1; d < 128; d *= 2) {
        float v = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += v;
        __syncthreads();
    }
    y[i] = s[t];
}

//: tile_reused: - | -
KERNEL(tile_reused) {
    INDEX;
    __shared__ float s[128];
    float sum = 0;
    for (int k = 0; k < 4; ++k) {
        s[t] = x[i] + k;
        __syncthreads();
        sum += s[127 - t];
        __syncthreads();
    }
    y[i] = sum;
}

//: tile_reused_too_early: racecheck | shared race
KERNEL(tile_reused_too_early) {
    INDEX;
    __shared__ float s[128];
    float sum = 0;
    for (int k = 0; k < 4; ++k) {
        s[t] = x[i] + k;
        __syncthreads();
        sum += s[127 - t];
    }
    y[i] = sum;
}

//: two_tiles_in_turn: - | -
KERNEL(two_tiles_in_turn) {
    INDEX;
    __shared__ float s[2][128];
    float sum = 0;
    for (int k = 0; k < 4; ++k) {
        s[k % 2][t] = x[i] + k;
        __syncthreads();
        sum += s[k % 2][127 - t];
    }
    y[i] = sum;
}

//: halves_by_named_barriers: - | -
KERNEL(halves_by_named_barriers) {
    INDEX;
    __shared__ float s[128];
    s[t] = x[i];
    if (t < 64) asm volatile("bar.sync 1, 64;" ::: "memory");
    else asm volatile("bar.sync 2, 64;" ::: "memory");
    y[i] = s[t ^ 32];
}

//: wrong_half_by_named_barriers: racecheck | shared race
KERNEL(wrong_half_by_named_barriers) {
    INDEX;
    __shared__ float s[128];
    s[t] = x[i];
    if (t < 64) asm volatile("bar.sync 1, 64;" ::: "memory");
    else asm volatile("bar.sync 2, 64;" ::: "memory");
    y[i] = s[t ^ 64];
}

// -- Warps -------------------------------------------------------------------------------------

//: warp_reduce_volatile: racecheck | shared race
KERNEL(warp_reduce_volatile) {
    INDEX;
    __shared__ volatile float s[128];
    s[t] = x[i];
    __syncthreads();
    if ((t & 31) < 16) {
        s[t] = s[t] + s[t + 16];
        s[t] = s[t] + s[t + 8];
    }
    __syncthreads();
    y[i] = s[t];
}

//: warp_reduce_syncwarp: - | -
KERNEL(warp_reduce_syncwarp) {
    INDEX;
    __shared__ float s[128];
    s[t] = x[i];
    __syncwarp();
    for (int d = 16; d; d /= 2) {
        float v = (t & 31) < d ? s[t + d] : 0;
        __syncwarp();
        s[t] += v;
        __syncwarp();
    }
    y[i] = s[t];
}

//: warp_reduce_shuffles: - | -
KERNEL(warp_reduce_shuffles) {
    INDEX;
    float v = x[i];
    for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d);
    if (t % 32 == 0) y[i / 32] = v;
}

//: warp_exchange: - | -
KERNEL(warp_exchange) {
    INDEX;
    __shared__ float s[128];
    s[t] = x[i];
    __syncwarp();
    y[i] = s[t ^ 1];
}

//: warp_exchange_no_syncwarp: racecheck | shared race
KERNEL(warp_exchange_no_syncwarp) {
    INDEX;
    __shared__ float s[128];
    s[t] = x[i];
    y[i] = s[t ^ 1];
}

//: warp_exchange_behind_shuffle: racecheck | shared race
KERNEL(warp_exchange_behind_shuffle) {
    INDEX;
    __shared__ float s[128];
    s[t] = x[i];
    float v = __shfl_xor_sync(~0u, x[i], 1);
    y[i] = s[t ^ 1] + v;
}

//: half_warps: - | -
KERNEL(half_warps) {
    INDEX;
    __shared__ float s[128];
    s[t] = x[i];
    __syncwarp(t & 16 ? 0xffff0000u : 0xffffu);
    y[i] = s[t ^ 8];
}

//: half_warps_wrong_half: racecheck | shared race
KERNEL(half_warps_wrong_half) {
    INDEX;
    __shared__ float s[128];
    s[t] = x[i];
    __syncwarp(t & 16 ? 0xffff0000u : 0xffffu);
    y[i] = s[t ^ 16];
}

//: syncwarp_in_two_branches: - | -
KERNEL(syncwarp_in_two_branches) {
    INDEX;
    __shared__ float s[128];
    if (t & 16) {
        s[t] = x[i];
        __syncwarp();
    } else {
        s[t] = 2 * x[i];
        __syncwarp();
    }
    y[i] = s[t ^ 16];
}

// -- Words and bytes of shared memory ----------------------------------------------------------

//: histogram_shared: racecheck | shared race
KERNEL(histogram_shared) {
    INDEX;
    __shared__ int h[8];
    if (t < 8) h[t] = 0;
    __syncthreads();
    h[int(x[i]) % 8]++;
    __syncthreads();
    if (t < 8) atomicAdd(c + t, h[t]);
}

//: histogram_shared_atomic: - | -
KERNEL(histogram_shared_atomic) {
    INDEX;
    __shared__ int h[8];
    if (t < 8) h[t] = 0;
    __syncthreads();
    atomicAdd(h + int(x[i]) % 8, 1);
    __syncthreads();
    if (t < 8) atomicAdd(c + t, h[t]);
}

//: read_beside_atomic: racecheck | shared race
KERNEL(read_beside_atomic) {
    INDEX;
    __shared__ int h[8];
    if (t < 8) h[t] = 0;
    __syncthreads();
    atomicAdd(h + int(x[i]) % 8, 1);
    if (t < 8) c[blockIdx.x * 8 + t] = h[t];
}

//: same_value: - | -
KERNEL(same_value) {
    INDEX;
    __shared__ int s;
    s = 7;
    __syncthreads();
    c[i] = s;
}

//: different_values: racecheck | shared race
KERNEL(different_values) {
    INDEX;
    __shared__ int s;
    s = t;
    __syncthreads();
    c[i] = s;
}

//: flag_that_some_set: - | -
KERNEL(flag_that_some_set) {
    INDEX;
    __shared__ int s;
    if (t == 0) s = 0;
    __syncthreads();
    if (t % 3 == 0) s = 1;
    __syncthreads();
    c[i] = s;
}

//: bytes_beside_each_other: - | -
KERNEL(bytes_beside_each_other) {
    INDEX;
    __shared__ unsigned char s[128];
    s[t] = t;
    s[t] += 1;
    __syncthreads();
    c[i] = s[127 - t];
}

//: byte_of_a_word: racecheck | shared race
KERNEL(byte_of_a_word) {
    INDEX;
    __shared__ int s[32];
    ((unsigned char *)s)[t] = t;
    c[i] = s[t / 4];
}

// -- Asynchronous copies -----------------------------------------------------------------------

//: copy_async: - | -
KERNEL(copy_async) {
    INDEX;
    __shared__ float s[128];
    __pipeline_memcpy_async(s + t, x + i, 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    y[i] = s[127 - t];
}

//: copy_async_no_barrier: racecheck | shared race
KERNEL(copy_async_no_barrier) {
    INDEX;
    __shared__ float s[128];
    __pipeline_memcpy_async(s + t, x + i, 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    y[i] = s[127 - t];
}

//: copy_async_no_wait: racecheck | asynchronous copy not waited for
KERNEL(copy_async_no_wait) {
    INDEX;
    __shared__ float s[128];
    __pipeline_memcpy_async(s + t, x + i, 4);
    __pipeline_commit();
    __syncthreads();
    y[i] = s[t];
}

// -- Memory that nobody has written ------------------------------------------------------------

//: read_fresh: initcheck | uninitialised read
KERNEL(read_fresh) {
    INDEX;
    y[i] = fresh[i];
}

//: write_fresh_first: - | -
KERNEL(write_fresh_first) {
    INDEX;
    fresh[i] = x[i];
    y[i] = 2 * fresh[i];
}

//: fresh_written_in_part: initcheck | uninitialised read
KERNEL(fresh_written_in_part) {
    INDEX;
    if (t < 100) fresh[i] = x[i];
    __syncthreads();
    y[i] = fresh[i];
}

//: shared_never_written: - | uninitialised read
KERNEL(shared_never_written) {
    INDEX;
    __shared__ float s[128];
    if (n < 0) s[t] = 0;
    y[i] = s[t];
}

// -- Barriers that some threads miss -----------------------------------------------------------

//: barrier_in_branch: synccheck | divergent barrier | block 32
KERNEL(barrier_in_branch) {
    INDEX;
    __shared__ float s[128];
    if (t < 14) {
        s[t] = x[i];
        __syncthreads();
    }
    y[i] = x[i];
}

//: barrier_past_continue: synccheck | divergent barrier | block 32
KERNEL(barrier_past_continue) {
    INDEX;
    __shared__ float s[128];
    for (int k = 0; k < 4; ++k) {
        if ((t + k) % 3 == 0) continue;
        s[t] = k;
        __syncthreads();
        y[i] += s[t];
    }
}

//: barriers_in_both_branches: synccheck | divergent barrier | block 32
KERNEL(barriers_in_both_branches) {
    INDEX;
    __shared__ float s[128];
    if (t < 16) {
        s[t] = x[i];
        __syncthreads();
        y[i] = s[t];
    } else {
        s[t] = 2 * x[i];
        __syncthreads();
        y[i] = 3 * s[t];
    }
}

//: early_return: - | -
KERNEL(early_return) {
    INDEX;
    __shared__ float s[128];
    if (t >= 96) return;
    s[t] = x[i];
    __syncthreads();
    y[i] = s[95 - t];
}

//: syncwarp_without_oneself: synccheck | inactive lane | block 32
KERNEL(syncwarp_without_oneself) {
    INDEX;
    __shared__ float s[128];
    s[t] = x[i];
    __syncwarp(0xffffu);
    y[i] = s[t];
}

//: two_barriers_that_wait: - | DeadlockError | hangs
KERNEL(two_barriers_that_wait) {
    INDEX;
    if (t < 64) asm volatile("bar.sync 1, 128;" ::: "memory");
    else asm volatile("bar.sync 2, 128;" ::: "memory");
    y[i] = x[i];
}

// -- Races in global memory --------------------------------------------------------------------

//: in_place_neighbours: - | global race
KERNEL(in_place_neighbours) {
    INDEX;
    if (i < n - 1) x[i] = x[i + 1];
}

//: neighbours: - | -
KERNEL(neighbours) {
    INDEX;
    if (i < n - 1) y[i] = x[i + 1];
}

//: all_write_one: - | global race
KERNEL(all_write_one) {
    INDEX;
    y[0] = i;
}

//: histogram_global: - | global race
KERNEL(histogram_global) {
    INDEX;
    c[int(x[i]) % 8]++;
}

//: histogram_global_atomic: - | -
KERNEL(histogram_global_atomic) {
    INDEX;
    atomicAdd(c + int(x[i]) % 8, 1);
}

//: partial_sums_in_one_launch: - | global race
KERNEL(partial_sums_in_one_launch) {
    INDEX;
    if (t == 0) y[blockIdx.x] = blockIdx.x;
    __syncthreads();
    if (i == 0)
        for (int b = 1; b < gridDim.x; ++b) y[0] += y[b];
}

//: last_block_adds_up: - | -
KERNEL(last_block_adds_up) {
    INDEX;
    __shared__ bool last;
    if (t == 0) {
        y[blockIdx.x] = blockIdx.x;
        __threadfence();
        last = atomicAdd(c, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        float sum = 0;
        for (int b = 0; b < gridDim.x; ++b) sum += ((volatile float *)y)[b];
        x[0] = sum;
    }
}

//: staged_in_global_memory: - | -
KERNEL(staged_in_global_memory) {
    INDEX;
    y[i] = x[i];
    __syncthreads();
    c[i] = y[i - t + 127 - t];
}

//: staged_without_barrier: - | global race
KERNEL(staged_without_barrier) {
    INDEX;
    y[i] = x[i];
    c[i] = y[i - t + 127 - t];
}

// -- Others ------------------------------------------------------------------------------------

//: shuffle_of_20_lanes: - | inactive lane | block 20
KERNEL(shuffle_of_20_lanes) {
    INDEX;
    y[i] = __shfl_down_sync(~0u, x[i], 16);
}

//: divided_by_zero: - | division by zero
KERNEL(divided_by_zero) {
    INDEX;
    c[i] = 100 / c[i];
}

//: division_guarded: - | -
KERNEL(division_guarded) {
    INDEX;
    c[i] = c[i] ? 100 / c[i] : 0;
}
