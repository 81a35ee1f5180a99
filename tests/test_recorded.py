"""Recorded tables: what is written is read back, provenance is demanded, and the recorder fills it in."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from course_lib import evidence
from course_lib import record as recorder
from course_lib.agreement import compare, modelled_sweep, overview
from course_lib.gpus import gpu
from course_lib.kernels import COPY_FLOAT
from course_lib.model import modelled_time
from course_lib.points import Call, Point, Reading, Sweep
from course_lib.record import driver_version, provenance, slug, time_point
from course_lib.recorded import FOLDER, PROVENANCE, read, recorded, write
from course_lib.sweeps import all_sweeps, sweep

META = {key: f"the {key}" for key in PROVENANCE}
ROWS = [
    {
        "mapping": "naive",
        "size": 64,
        "median_ms": 2.0,
        "low_ms": 1.9,
        "high_ms": 2.2,
        "n": 9,
        "useful_bytes": 4_000_000,
    },
    {
        "mapping": "coalesced",
        "size": 64,
        "median_ms": 0.5,
        "low_ms": 0.5,
        "high_ms": 0.5,
        "n": 9,
        "useful_bytes": 4_000_000,
    },
]


@pytest.fixture
def table(tmp_path):
    return write(tmp_path / "h200" / "demo.csv", ROWS, META | {"note": "two\nlines"})


def test_what_is_written_is_read_back(table, tmp_path):
    again = recorded("H200", "demo", folder=tmp_path)
    assert again.meta["note"] == "two lines"
    assert list(again.rows()) == ROWS
    assert again["size"].dtype.kind == "i"
    np.testing.assert_array_equal(again["mapping"], ["naive", "coalesced"])


def test_the_header_is_comments_and_the_body_is_csv(table, tmp_path):
    lines = (tmp_path / "h200" / "demo.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "# gpu: the gpu"
    assert lines[len(META) + 1] == "mapping,size,median_ms,low_ms,high_ms,n,useful_bytes"


def test_rows_can_be_chosen_and_bandwidth_follows(table):
    chosen = table.where(mapping="naive")
    assert len(chosen) == 1
    assert chosen.bandwidth == pytest.approx([2.0])  # 4 MB in 2 ms


@pytest.mark.parametrize("key", PROVENANCE)
def test_a_table_without_provenance_is_refused(tmp_path, key):
    with pytest.raises(ValueError, match=f"lacks {key}"):
        write(tmp_path / "x.csv", ROWS, {name: text for name, text in META.items() if name != key})


def test_a_table_without_times_or_rows_is_refused(tmp_path):
    with pytest.raises(ValueError, match="no column median_ms"):
        write(tmp_path / "x.csv", [{"n": 1}], META)
    with pytest.raises(ValueError, match="no rows"):
        write(tmp_path / "x.csv", [], META)
    with pytest.raises(ValueError, match="line break"):
        write(tmp_path / "x.csv", [ROWS[0] | {"mapping": "a\nb"}], META)


def test_a_cell_may_hold_commas_and_quotes(tmp_path):
    text = 'a, then "b"'
    assert write(tmp_path / "x.csv", [ROWS[0] | {"mapping": text}], META)["mapping"].tolist() == [text]


def test_a_missing_table_or_column_lists_what_there_is(table, tmp_path):
    with pytest.raises(FileNotFoundError, match="h200/demo"):
        recorded("h200", "nothing", folder=tmp_path)
    with pytest.raises(KeyError, match="mapping, size"):
        table["bytes"]


def test_shown_with_its_origin(table):
    assert "recorded on the gpu, driver the driver" in str(table)
    assert "coalesced" in table._repr_html_()


def modelled(milliseconds: float):
    profile = {
        "launch__grid_size": 1320,
        "launch__block_size": 32,
        "course__unique_dram_bytes_ld": 4.52e9 * milliseconds,
    }
    return modelled_time(profile, "H200")


def test_agreement_gives_ratios_and_wrong_orders(table):
    right = compare(table, [modelled(4.0), modelled(0.5)])
    assert right.ratio == pytest.approx([2.0, 1.0], rel=0.01)
    assert right.inversions() == []
    wrong = compare(table, [modelled(1.0), modelled(2.0)])
    assert wrong.inversions() == [("mapping=coalesced size=64", "mapping=naive size=64")]
    assert wrong.inversions(margin=5) == []
    assert "DRAM bytes" in str(wrong)
    assert "modelled for H200" in wrong._repr_html_()


def test_the_overview_has_a_row_for_every_recorded_sweep(tmp_path):
    shown = overview(["coalescing_vector", "nothing recorded"])
    assert [row[0] for row in shown.rows()] == ["coalescing_vector"]
    assert shown.rows()[0][1] == "3"
    assert "coalescing_vector" in str(shown)
    assert "<table" in shown._repr_html_()


def test_folder_names():
    assert (slug(gpu("H200")), slug(gpu("RTX 3090"))) == ("h200", "rtx_3090")


RUNTIME = SimpleNamespace(runtimeGetVersion=lambda: 13020, driverGetVersion=lambda: 13000)
CP = SimpleNamespace(__version__="14.2.0", cuda=SimpleNamespace(runtime=RUNTIME))


def test_provenance_is_complete(monkeypatch):
    monkeypatch.setattr(recorder, "driver_version", lambda cp: "580.159")
    point = Point({"n": 1}, COPY_FLOAT, (1,), (32,), lambda cp: (), warm=True)
    sweep = Sweep("demo", "floats", 8, lambda size: [point], 8, (1, 1, 1))
    found = provenance(CP, gpu("H200"), sweep)
    assert all(found[key] for key in PROVENANCE)
    assert (found["cuda"], found["size"], found["driver"]) == ("13.2", "8 floats", "580.159")
    assert found["l2"].startswith("as the launch before")


def test_without_nvidia_smi_the_driver_is_named_by_its_cuda_version(monkeypatch):
    def missing(*arguments, **options):
        raise OSError

    monkeypatch.setattr(recorder.subprocess, "run", missing)
    assert driver_version(CP) == "for CUDA 13.0"


def test_a_point_becomes_a_row(monkeypatch):
    before = []
    monkeypatch.setattr(
        recorder,
        "measure",
        lambda cp, launch, flush, warm, n: (launch(), before.append(flush), [1.0, 2.0, 3.0])[-1],
    )
    launched = []
    cp = SimpleNamespace(
        RawKernel=lambda source, name, options: lambda *launch, shared_mem: launched.append(launch)
    )
    point = Point({"width": 1}, COPY_FLOAT, (2,), (32,), lambda cp: ("out", "in"), 512)
    row = time_point(cp, point, "flush", 3)
    assert launched == [((2,), (32,), ("out", "in"))]
    assert before == ["flush"]
    assert row == {"width": 1, "median_ms": 2.0, "low_ms": 1.5, "high_ms": 2.5, "n": 3, "useful_bytes": 512}


def test_a_reading_says_its_own_milliseconds_and_begins_on_an_idle_gpu():
    log, clock = [], iter([9.0, 9.0, 9.0, 9.0, 9.0, 1.0, 2.0, 3.0])
    stream = SimpleNamespace(synchronize=lambda: log.append("idle"))
    cp = SimpleNamespace(cuda=SimpleNamespace(get_current_stream=lambda: stream))
    row = Reading({"way": "host"}, lambda cp: lambda: log.append("read") or next(clock), 8, n=3)
    found = time_point(cp, row, lambda: log.append("flush"), 50)
    times = {"median_ms": 2.0, "low_ms": 1.5, "high_ms": 2.5, "n": 3}
    assert found == {"way": "host", **times, "useful_bytes": 8}
    assert log == ["flush", "idle", "read"] * 8
    assert time_point(cp, Reading({}, lambda cp: None), None, 1) is None


def test_the_table_says_which_rows_are_readings_and_how_l2_was(monkeypatch):
    monkeypatch.setattr(recorder, "driver_version", lambda cp: "580.159")
    read, call = Reading({}, lambda cp: None, warm=True), Call({}, lambda cp: None)
    found = []
    for calls in ([read], [call], [call, read]):
        sweep = Sweep("demo", "", 8, lambda n: [], 0, (1, 0, 0), lambda n, calls=calls: calls)
        found.append(provenance(CP, gpu("H200"), sweep))
    said = [meta["median"] for meta in found]
    assert said[0].startswith("of n readings of a clock")
    assert "reading" not in said[1]
    assert "CUDA events" in said[2]
    assert "readings" in said[2]
    assert [meta["l2"].split()[0] for meta in found] == ["as", "emptied", "as"]
    assert found[2]["l2"].endswith("the column l2 says which")
    assert [row.columns["l2"] for row in recorder.with_l2([call, read])] == ["emptied", "left"]
    assert recorder.with_l2([read]) == [read]


@pytest.mark.parametrize("path", sorted((FOLDER / "h200").glob("*.csv")), ids=lambda path: path.stem)
def test_the_header_says_how_the_sweep_leaves_l2(path):
    table, rows = recorded("h200", path.stem), recorder.with_l2(recorder.all_rows(sweep(path.stem)))
    assert table.meta["l2"] == recorder._l2({row.warm for row in rows})
    if "l2" in table.columns:
        left = {row.columns["l2"]: row.warm for row in rows}
        assert {said: left[said] for said in set(table["l2"].tolist())} == {"left": True, "emptied": False}


def test_without_a_gpu_nothing_is_recorded(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(recorder, "_cupy", lambda: None)
    assert recorder.main(["--folder", str(tmp_path)]) == 1
    assert "needs CuPy" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    with pytest.raises(SystemExit):
        recorder.main(["no_such_sweep"])


def test_every_recorded_table_reads():
    for path in (Path(__file__).parents[1] / "data" / "recorded").glob("*/*.csv"):
        table = read(path)
        assert (table["low_ms"] <= table.ms).all(), path
        assert (table.ms <= table["high_ms"]).all(), path


@pytest.mark.parametrize("name", [s.name for s in all_sweeps() if s.small])
def test_the_model_orders_the_variants_as_the_h200_does(name):
    """No pair that the GPU puts more than 10 % apart may come out the other way round."""
    try:
        table = recorded("h200", name)
    except FileNotFoundError:
        pytest.skip("not recorded yet: run `make record` on an H200")
    assert compare(table, modelled_sweep(name)).inversions(margin=0.1) == []


def test_the_caption_counts_the_launches_and_the_whole_table_explains_its_quartiles(tmp_path):
    meta = META | {"median": "of n launches", "spread": "quartiles"}
    table = write(tmp_path / "demo.csv", [ROWS[0], ROWS[1] | {"n": 12}], meta)
    assert table.caption.endswith(": median of 9 to 12 launches")
    assert str(table).split("\n")[0].endswith("launches; spread: quartiles")
    assert table.where(mapping="naive").caption.endswith(": median of 9 launches")


def test_rows_of_two_sizes_are_not_headed_with_one():
    assert evidence.time_table("coalescing_matmul").caption.startswith("recorded on")
    assert evidence.time_table("coalescing_vector").caption.startswith("67,108,864 floats copied; recorded")
