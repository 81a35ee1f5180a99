"""Modelled times of a sweep are shown alone, or beside the recorded ones where there are any."""

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest

from course_lib import evidence
from course_lib.gpus import gpu as find_gpu
from course_lib.recorded import Table
from course_lib.sweeps import sweep

META = dict.fromkeys(("gpu", "driver", "cuda", "cupy", "date", "script", "median", "spread"), "x")


def fake(name: str) -> Table:
    """A recording in which every launch took 2 ms."""
    chosen = sweep(name)
    points = [point.columns for point in chosen.points(chosen.small)]
    rows = [{**columns, "median_ms": 2.0, "low_ms": 1.5, "high_ms": 3.0, "n": 9} for columns in points]
    return Table(name, META, {key: np.array([row[key] for row in rows]) for key in rows[0]})


@pytest.fixture(params=[True, False], ids=["recorded", "not recorded"])
def there(request, monkeypatch):
    """Whether a recording is there."""
    monkeypatch.setattr(evidence, "recording", lambda name, gpu: fake(name) if request.param else None)
    return request.param


def test_chart_has_a_curve_for_each_label(there):
    figure = evidence.time_chart("coalescing_stride", "stride", title="Stride", measure=[1, 8])
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert labels == ["modelled, H200"] + ["recorded, H200"] * there
    assert len(figure.axes[0].lines[0].get_xdata()) == 32
    assert ("modelled / recorded: " in figure.axes[0].get_title()) == there
    plt.close(figure)


def test_table_names_every_launch_and_its_limit(there):
    text = str(evidence.time_table("coalescing_layout"))
    assert "layout aos, fields 1" in text
    assert "DRAM bytes" in text
    assert ("recorded ms, H200" in text) == there
    assert "measured" not in text


def test_recorded_library_calls_are_the_last_rows(monkeypatch):
    chosen = sweep("coalescing_layout")
    table = fake("coalescing_layout")
    call = {"layout": "library", "fields": 3, "median_ms": 7.5, "low_ms": 7.0, "high_ms": 8.0, "n": 9}
    longer = {key: np.append(column, call[key]) for key, column in table.columns.items()}
    monkeypatch.setattr(evidence, "recording", lambda name, gpu: Table(name, META, longer))
    shown = evidence.time_table("coalescing_layout")
    assert [cell.text for cell in shown.rows[-1]] == ["layout library, fields 3", "7.5", "", "", ""]
    assert len(shown.rows) == len(chosen.points(chosen.small)) + 1


def test_a_gpu_without_recordings():
    assert evidence.recording("coalescing_stride", "L4") is None


@pytest.fixture
def timed(monkeypatch):
    """A machine that says it has a T4; the list of the grids that were timed on it, 1 ms each."""
    pool = SimpleNamespace(free_all_blocks=lambda: None)
    grids = []

    def time_point(cp, point, flush, n):
        grids.append(point.grid)
        return {**point.columns, "median_ms": 1.0, "low_ms": 1.0, "high_ms": 1.0, "n": n}

    monkeypatch.setattr(evidence.backend, "BACKEND", SimpleNamespace(name="cupy"))
    monkeypatch.setattr(evidence.backend, "cp", SimpleNamespace(get_default_memory_pool=lambda: pool))
    monkeypatch.setattr(evidence, "time_point", time_point)
    monkeypatch.setattr(evidence, "flusher", lambda cp, size: None)
    monkeypatch.setattr(evidence, "device", lambda: find_gpu("T4"))
    return grids


def test_points_are_measured_at_the_recorded_size_where_there_is_a_gpu(timed):
    figure = evidence.time_chart("coalescing_stride", "stride", measure=[1, 8])
    assert figure.axes[0].get_legend().get_texts()[-1].get_text() == "measured, T4"
    assert list(figure.axes[0].lines[-1].get_xdata()) == [1, 8]
    assert timed == [(sweep("coalescing_stride").size // 256,)] * 2
    plt.close(figure)


def test_the_table_measures_every_launch_where_there_is_a_gpu(timed):
    assert "measured ms, T4" in str(evidence.time_table("coalescing_matmul"))
    assert "mapping naive, size 2048" in str(evidence.time_table("coalescing_matmul"))
    assert len(timed) == 8
