"""What `ncu` prints, read; its command; both beside `profile`."""

import sys

import numpy as np
import pytest

from course_lib import ncu
from course_lib.chapters import reading_ncu
from course_lib.emulator import RawKernel

LOADS = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
COPY = 'extern "C" __global__ void copy(float* y, const float* x) { y[threadIdx.x] = x[threadIdx.x]; }'
# as Nsight Compute 2025.3 prints it, columns left out
PRINTED = f"""==PROF== Connected to process 1320 (/usr/bin/python3.12)
launched copy
==PROF== Profiling "copy": 0%....50%....100% - 1 pass
"ID","Process ID","Kernel Name","Context","{LOADS}","smsp__inst_executed.sum"
"","","","","request","inst"
"0","1320","copy","1","2,048","36864"
"1","1320","copy","1","1","1.5"
"""


def test_launches_are_read_and_units_are_not_a_launch():
    first, second = ncu.read(PRINTED)
    assert (first.kernel, first[LOADS], first["smsp__inst_executed.sum"]) == ("copy", 2048, 36864)
    assert second["smsp__inst_executed.sum"] == 1.5
    assert set(first) >= {LOADS, "smsp__inst_executed.sum"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission", "only administrators"),
        ("==WARNING== No kernels were profiled.", "launched no kernel of this name"),
        ("Segmentation fault", "no launch in this text"),
        ('"ID","Kernel Name"\n', "no launch in this text"),
    ],
)
def test_errors_say_what_to_do(text, said):
    with pytest.raises(ValueError, match=said):
        ncu.read(text)


def test_the_command_has_what_the_manual_asks_for():
    told = ncu.command("run.py", "axpb", (LOADS,))
    assert told == (
        "ncu --csv --page raw --print-units base --clock-control none --kernel-name axpb --launch-count 1 "
        f"--metrics {LOADS} python run.py"
    )
    assert "--set full" in ncu.command("run.py", metrics=())
    assert "--kernel-name" not in ncu.command("run.py")


def test_side_by_side():
    table = ncu.compare({LOADS: 4, "smsp__inst_executed.sum": 9}, {LOADS: 4, "smsp__inst_executed.sum": 8})
    assert [row[-1].text for row in table.rows] == ["equal", ncu.FOLLOWS_PTX["smsp__inst_executed.sum"]]
    assert ncu.compare({LOADS: 4}, {LOADS: 5}).rows[0][-1].text == "differs"
    assert table.header[2] == "measured by ncu"
    assert ncu.compare({LOADS: 4}, {LOADS: 4}, evidence="recorded").header[2] == "recorded by ncu"


def test_a_launch_is_written_down_for_ncu(tmp_path):
    args = (np.zeros(32, np.float32), np.arange(32, dtype=np.float32))
    script = ncu.prepare(tmp_path / "a", RawKernel(COPY, "copy"), (1,), (32,), args, 64)
    text = script.read_text()
    compile(text, "launch.py", "exec")
    assert "kernel((1,), (32,), args, shared_mem=64)" in text
    assert (np.load(tmp_path / "a" / "arguments.npz")["a1"] == args[1]).all()


def test_without_ncu_the_reason_is_printed(monkeypatch, capsys):
    monkeypatch.setattr(ncu.shutil, "which", lambda name: None)
    args = (np.zeros(32, np.float32), np.zeros(32, np.float32))
    assert ncu.against(RawKernel(COPY, "copy"), (1,), (32,), args) is None
    assert "not measured: there is no ncu" in capsys.readouterr().out


def test_an_ncu_that_takes_too_long_asks_for_a_smaller_launch(monkeypatch, capsys):
    monkeypatch.setattr(ncu.shutil, "which", lambda name: sys.executable)
    monkeypatch.setattr(ncu, "_words", lambda *_: [sys.executable, "-c", "import time; time.sleep(60)"])
    monkeypatch.setattr(ncu, "TIMEOUT_SECONDS", 0.1)
    args = (np.zeros(32, np.float32), np.zeros(32, np.float32))
    assert ncu.against(RawKernel(COPY, "copy"), (1,), (32,), args) is None
    assert capsys.readouterr().out == "not measured: ncu took more than 0.1 s: count a smaller launch\n"


def test_memory_counts_equal_those_recorded_and_every_difference_has_its_reason():
    for row in reading_ncu.overview().rows:
        metric, equal, _, reason = (cell.text for cell in row)
        first, _, of = equal.partition(" of ")
        assert first == of or reason, metric
        if any(word in metric for word in ("sectors", "requests", "wavefronts")):
            assert first == of, metric
