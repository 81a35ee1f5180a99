"""The order of things in a measurement, on a recorded stand-in of CuPy; what is refused; what is modelled."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from course_lib import timing
from course_lib.gpus import gpu
from course_lib.timing import UnsynchronisedError, benchmark, flusher, measure, quartiles, wall_clock


class FakeCuda:
    """Events and one stream that write down what is asked of them; time passes by `step` per kernel."""

    def __init__(self, times: list[float]) -> None:
        self.log: list[str] = []
        self.times = iter(times)
        self.done = True
        self.cuda = self

    def Event(self) -> SimpleNamespace:  # noqa: N802
        return SimpleNamespace(record=lambda stream: self.log.append("record"), synchronize=self._wait)

    def _wait(self) -> None:
        self.log.append("wait for event")

    def get_current_stream(self) -> "FakeCuda":
        return self

    def synchronize(self) -> None:
        self.log.append("synchronize")

    def get_elapsed_time(self, start, stop) -> float:
        return next(self.times)


def test_every_timed_launch_is_flushed_between_events_and_the_last_event_is_waited_for():
    cp = FakeCuda([1.0, 2.0])
    times = measure(cp, lambda: cp.log.append("launch"), lambda: cp.log.append("flush"), n_warmup=1, n=2)
    timed = ["flush", "record", "launch", "record"]
    assert cp.log == ["flush", "launch", "synchronize", *timed, *timed, "wait for event"]
    assert times == [1.0, 2.0]


def test_the_quartiles_are_numpys():
    times = [5.0, 1.0, 4.0, 2.0, 3.5]
    assert quartiles(times) == pytest.approx(tuple(np.quantile(times, [0.25, 0.5, 0.75])))


def test_a_single_time_has_no_spread():
    assert quartiles([3.0]) == (3.0, 3.0, 3.0)


def test_the_flush_reads_twice_the_l2_and_64_mb_at_least():
    launched = []
    cp = SimpleNamespace(
        zeros=lambda n, dtype: SimpleNamespace(nbytes=n),
        RawKernel=lambda source, name: lambda grid, block, args: launched.append(args),
        uint8=np.uint8,
        uint32=np.uint32,
        int64=np.int64,
    )
    for l2_bytes, expected in ((62914560, 2 * 62914560), (4 << 20, 64 << 20)):
        flusher(cp, l2_bytes)()
        data, words, _ = launched[-1]
        assert data.nbytes == 16 * words == expected


class CupyKernel:
    """A kernel that says it is CuPy's."""

    __module__ = "cupy._core.raw"

    def __init__(self) -> None:
        self.calls: list[tuple] = []

    def __call__(self, *launch, **options) -> None:
        self.calls.append((*launch, options))


@pytest.fixture
def on_a_gpu(monkeypatch):
    cp = FakeCuda([3.0, 1.0, 2.0])
    fake = ModuleType("cupy")
    fake.cuda = cp
    monkeypatch.setattr(timing, "this_machine", lambda cupy: gpu("H200"))
    monkeypatch.setattr(timing, "flusher", lambda module, size: lambda: cp.log.append("flush"))
    monkeypatch.setattr("course_lib.backend.BACKEND", SimpleNamespace(name="cupy"))
    monkeypatch.setattr("course_lib.backend.cp", fake)
    monkeypatch.setitem(sys.modules, "cupy", fake)
    return cp


def test_a_cupy_kernel_is_measured(on_a_gpu):
    kernel = CupyKernel()
    found = benchmark(kernel, (4,), (32,), (np.zeros(8),), n_warmup=2, n=3, shared_mem=64)
    assert (found.ms, found.source, found.n, found.device) == (2.0, "measured", 3, "NVIDIA H200")
    assert found.spread == pytest.approx(0.5)  # quartiles 1.5 and 2.5
    assert len(kernel.calls) == 5
    assert kernel.calls[0][3] == {"shared_mem": 64}
    assert not found.cache_resident
    assert on_a_gpu.log.count("flush") == 5


@pytest.mark.parametrize(("size", "resident"), [(1 << 20, True), (1 << 24, False)])
def test_back_to_back_runs_inside_l2_are_marked(on_a_gpu, size, resident):
    array = np.zeros(size, np.float64)
    found = benchmark(CupyKernel(), (4,), (32,), (array, np.int32(3)), n_warmup=1, n=3, flush_l2=False)
    assert found.cache_resident is resident
    assert ("cache-resident" in str(found)) is resident
    assert "flush" not in on_a_gpu.log


def test_a_wall_clock_without_a_synchronisation_is_refused(on_a_gpu):
    assert wall_clock(lambda: None) >= 0
    on_a_gpu.done = False
    with pytest.raises(UnsynchronisedError, match="the launch, not the kernel"):
        wall_clock(lambda: None)


def test_without_a_gpu_neither_a_wall_clock_nor_array_code_is_timed(monkeypatch):
    monkeypatch.setattr("course_lib.backend.BACKEND", SimpleNamespace(name="emulator"))
    with pytest.raises(RuntimeError, match="time the emulator"):
        wall_clock(lambda: None)
    with pytest.raises(RuntimeError, match="on a GPU only"):
        timing.benchmark_call(np.sum, (np.zeros(3),))


def test_an_emulated_kernel_is_modelled(monkeypatch):
    counts = {"launch__grid_size": 264, "launch__block_size": 256, "course__unique_dram_bytes_ld": 45.2e6}
    module = ModuleType("course_lib.profile")
    module.profile = lambda kernel, grid, block, args, shared_mem: counts
    monkeypatch.setitem(sys.modules, "course_lib.profile", module)
    found = benchmark(object(), (264,), (256,), (), gpu="H200")
    assert (found.source, found.limiter, found.n, found.device) == ("modelled", "DRAM bytes", 0, "H200")
    assert found.ms == pytest.approx(0.01 + 0.0045)  # 45.2 MB at 4.52 TB/s, and the launch
    assert "modelled" in str(found)
    warm = benchmark(object(), (264,), (256,), (), gpu="H200", flush_l2=False)
    assert warm.cache_resident


def test_too_few_runs_are_refused():
    with pytest.raises(ValueError, match="at least 3"):
        benchmark(CupyKernel(), (1,), (32,), (), n=2)


def test_a_real_kernel_on_the_emulator_keeps_its_arguments():
    from course_lib.emulator import RawKernel
    from course_lib.kernels import COPY_FLOAT

    out, given = np.zeros(4096, np.float32), np.arange(4096, dtype=np.float32)
    kernel = RawKernel(COPY_FLOAT.source, COPY_FLOAT.name, options=COPY_FLOAT.options)
    found = benchmark(kernel, (16,), (256,), (out, given, np.int32(4096)), gpu="H200")
    assert (found.source, found.limiter) == ("modelled", "launch")
    assert not out.any()
