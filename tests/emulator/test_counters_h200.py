"""Counters against Nsight Compute's numbers of an H200 (see `tests/data/h200/README.md`)."""

import json
import zlib
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from course_lib.emulator.counters import count_global, count_shared

H200 = Path(__file__).parents[1] / "data" / "h200"
BANKS = json.loads((H200 / "banks.json").read_text())
RECORDED = {case["case"]: case for case in json.loads((H200 / "cases.json").read_text())}


@pytest.mark.parametrize("row", BANKS, ids=lambda row: f"{row['pattern']} {row['op']}")
@pytest.mark.parametrize("warps", [1, 100])
def test_shared_access_as_on_an_h200(row, warps):
    offsets = np.tile(np.array(row["byte_offsets"], np.uint64), (warps, 1))
    active = np.tile(np.array(row["active"], bool), (warps, 1))
    count = count_shared(offsets, active, row["width"], row["op"] == "st")
    expected = [warps * row[key] for key in ("wavefronts", "bank_conflicts", "ideal")]
    assert [count.wavefronts, count.conflicts, count.wavefronts_ideal] == expected
    assert count.requests == warps


# Whole kernels: the addresses are written down from the CUDA source in cases.json.


class Launch:
    """The threads of a recorded case as arrays of shape (warps, 32); `use` says which are active."""

    def __init__(self, case):
        self.case = RECORDED[case]
        grid, block = (
            np.pad(self.case[k], (0, 3 - len(self.case[k])), constant_values=1) for k in ("grid", "block")
        )
        threads = int(np.prod(block))
        slots = -(-threads // 32) * 32
        number = np.arange(int(np.prod(grid)) * slots).reshape(-1, 32)
        self.b, self.t = number // slots, number % slots
        self.bx, self.by = self.b % grid[0], self.b // grid[0]
        self.tx, self.ty = self.t % block[0], self.t // block[0]
        self.use = self.t < threads
        self.i = self.b * threads + self.t

    def argument(self, index):
        """Rebuilds arguments up to `index`, as the README of the data says."""
        rng = np.random.RandomState(zlib.crc32(self.case["case"].encode()))
        make = {
            "normal": rng.standard_normal,
            "zeros": np.zeros,
            "perm": rng.permutation,
            "randint": lambda shape, low, high: rng.randint(low, high, shape, dtype="int64"),
        }
        for kind, shape, dtype, *limits in self.case["arguments"][: index + 1]:
            value = make[kind](shape, *limits).astype(dtype)
        return value

    @property
    def last(self):
        return self.case["arguments"][-1][1]


def offset(k):
    yield from (("ld", k.i + k.last, 4), ("st", k.i + k.last, 4))


def stride(k):
    yield from (("ld", k.i * k.last, 4), ("st", k.i, 4))


def copy(width):
    return lambda k: [("ld", k.i, width), ("st", k.i, width)]


def aos3_sum(k):
    yield from [("ld", 3 * k.i + member, 4) for member in range(3)]
    yield "st", k.i, 4


def soa3_sum(k):
    yield from [("ld", k.i + member * k.last, 4) for member in range(3)]
    yield "st", k.i, 4


def gather_random(k):
    yield from (("ld", k.i, 4), ("ld", k.argument(2)[k.i], 4), ("st", k.i, 4))


def broadcast_ld(k):
    yield from (("ld", k.b, 4), ("st", k.i, 4))


def ldg_restrict(k):
    yield from (("ld", k.i, 4), ("ld", (k.i + 1) % k.last, 4), ("st", k.i, 4))


def low_byte(k):
    """ew_ucvt: of its second argument only the low byte is loaded."""
    yield from (("ld", k.i, 4), ("ld", k.i * 4, 1), ("st", k.i, 4))


def div_early(k):
    """Threads that leave early store but never load: the compiler moves the load behind the branch."""
    third = k.t % 3 == 0
    yield from (("ld", k.i, 4, ~third), ("st", k.i, 4, third), ("st", k.i, 4, ~third))


def break_continue(k):
    """1996 loads, nearly all of them by part of a warp; the data decide who leaves the loop when."""
    n, x = k.last, k.argument(1)
    total, stays = np.zeros(k.t.shape, np.float32), np.ones(k.t.shape, bool)
    for step in range(64):
        adds, at = stays & ((step + k.t) % 5 != 0), (k.i + step) % n
        yield "ld", at, 4, adds
        total = np.where(adds, total + x[at], total)
        stays &= ~(adds & (total > 8))
    yield "st", k.i, 4


def hist_global(k):
    yield from (("ld", k.i, 4), ("atom", k.argument(1)[k.i], 4))


def mm_naive(k):
    n, row, column = 128, k.bx * 32 + k.tx, k.by * 32 + k.ty
    for step in range(n):
        yield "ld", row * n + step, 4
        yield "ld", step * n + column, 4
    yield "st", row * n + column, 4


def tr_naive(k):
    n, x, y = 256, k.bx * 32 + k.tx, k.by * 32 + k.ty
    for j in range(0, 32, 8):
        yield "ld", (y + j) * n + x, 4
        yield "st", x * n + y + j, 4


def tr_shared(pitch):
    def accesses(k):
        n = 256
        for j in range(0, 32, 8):
            yield "ld", (k.by * 32 + k.ty + j) * n + k.bx * 32 + k.tx, 4
            yield "shared st", (k.ty + j) * pitch + k.tx, 4
            yield "shared ld", k.tx * pitch + k.ty + j, 4
            yield "st", (k.bx * 32 + k.ty + j) * n + k.by * 32 + k.tx, 4

    return accesses


def bank_volatile(k):
    word = k.t * k.last % 1024
    yield from (("ld", k.i, 4), ("shared st", word, 4), ("shared ld", word, 4), ("st", k.i, 4))


def bank_vector(width, step):
    def accesses(k):
        yield from (("ld", k.i, width), ("shared st", k.t, width))
        yield from (("shared ld", k.t * step % 128, width), ("st", k.i, width))

    return accesses


def bank_byte(k):
    yield from (("ld", k.t, 1), ("shared st", k.t, 1), ("shared ld", 255 - k.t, 1), ("st", k.t, 1))


def bank_bcast(k):
    yield from (("ld", k.t, 4), ("shared st", k.t, 4), ("st", k.t, 4))
    yield from (("shared ld", k.t // 32 * 7, 4), ("shared ld", k.t // 2, 4))


def dyn_shared(index):
    def accesses(k):
        m, threads = k.last, k.case["block"][0]
        for word in (k.t + start for start in range(0, m, threads)):
            yield from (("ld", k.b * m + word, 4), ("shared st", word, 4))
            yield from (("shared ld", index(word, m), 4), ("st", k.b * m + word, 4))

    return accesses


def red_strided(k):
    yield from (("ld", k.i, 4), ("shared st", k.t, 4))
    for step in (1, 2, 4, 8, 16, 32, 64, 128):
        j = 2 * step * k.t
        yield from (
            ("shared ld", j, 4, j < 256),
            ("shared ld", j + step, 4, j < 256),
            ("shared st", j, 4, j < 256),
        )
    yield from (("shared ld", k.t * 0, 4, k.t == 0), ("st", k.b, 4, k.t == 0))


def syncwarp_smem(k):
    yield from (("ld", k.i, 4), ("shared st", k.t, 4))
    for step in (16, 8, 4, 2, 1):
        yield from (
            ("shared ld", k.t, 4),
            ("shared ld", k.t + step, 4, k.t % 32 < step),
            ("shared st", k.t, 4),
        )
    yield from (("shared ld", k.t, 4, k.t % 32 == 0), ("st", k.i // 32, 4, k.t % 32 == 0))


KERNELS = {
    **{f"offset_{n}": offset for n in (1, 2, 16, 31, 32)},
    **{f"stride_{n}": stride for n in (1, 3, 4, 16, 32)},
    **{"copy_short": copy(2), "copy_float2": copy(8), "copy_float4": copy(16), "copy_double": copy(8)},
    **{
        "aos3_sum": aos3_sum,
        "soa3_sum": soa3_sum,
        "gather_random": gather_random,
        "broadcast_ld": broadcast_ld,
    },
    **{"ldg_restrict": ldg_restrict, "ew_ucvt": low_byte, "odd_block": copy(4), "div_early": div_early},
    **{"break_continue": break_continue, "hist_global": hist_global},
    **{"mm_naive": mm_naive, "tr_naive": tr_naive, "tr_pad0": tr_shared(32), "tr_pad4": tr_shared(36)},
    **{f"bank_vol_{n}": bank_volatile for n in (1, 4, 8, 16, 32, 33)},
    **{f"bank_float2_s{n}": bank_vector(8, n) for n in (1, 2, 4)},
    **{f"bank_float4_s{n}": bank_vector(16, n) for n in (1, 2, 4)},
    **{"bank_double_s4": bank_vector(8, 4), "bank_byte": bank_byte, "bank_bcast": bank_bcast},
    "dyn_shared": dyn_shared(lambda word, m: m - 1 - word),
    "dyn_shared_big": dyn_shared(lambda word, m: word * 33 % m),
    **{"red_strided": red_strided, "syncwarp_smem": syncwarp_smem},
}


def total(launch, accesses):
    """Sums under Nsight Compute's names. `accesses`: (kind, element number per lane, width[, condition])."""
    sums = defaultdict(int)
    for kind, element, width, *condition in accesses:
        active = launch.use & condition[0] if condition else launch.use
        space, op = kind.rpartition(" ")[::2]
        addresses = (np.asarray(element, np.int64) * width + 0x7F_0000_0200).astype(np.uint64)
        if space:
            count = count_shared(addresses, active, width, op == "st")
            sums[f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum"] += count.wavefronts
            sums[f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{op}.sum"] += count.conflicts
            sums["memory_l1_wavefronts_shared_ideal"] += count.wavefronts_ideal
            sums[f"smsp__sass_inst_executed_op_shared_{op}.sum"] += count.requests
        else:
            count = count_global(addresses, active, width)
            if op != "atom":
                sums[f"l1tex__t_requests_pipe_lsu_mem_global_op_{op}.sum"] += count.requests
                sums[f"l1tex__t_sectors_pipe_lsu_mem_global_op_{op}.sum"] += count.sectors
            sums["memory_l2_theoretical_sectors_global"] += count.sectors
            sums["memory_l2_theoretical_sectors_global_ideal"] += count.sectors_ideal
    return dict(sums)


@pytest.mark.parametrize("name", KERNELS)
def test_kernel_as_on_an_h200(name):
    launch = Launch(name)
    counted = total(launch, KERNELS[name](launch))
    assert counted == {metric: launch.case["counters"][metric] for metric in counted}
