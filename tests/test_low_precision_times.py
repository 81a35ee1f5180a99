"""Chapter 12: its modelled times against counts and against what was recorded, and its words about both."""

import pytest

from course_lib.chapters import low_precision_model as model
from course_lib.chapters import low_precision_sweeps as sweeps
from course_lib.chapters import low_precision_times as times
from course_lib.recorded import recorded


@pytest.mark.parametrize("element", ["tf32", "fp16", "e4m3"])
def test_counts_of_two_depths_give_those_of_a_third(element):
    grown = model.product_counts("mma tiled", element, 256)
    point = sweeps.mma_tiled(256, {}, element)
    direct = model.counted(point, 256, 256).counts
    for name in [name for name in direct if name.endswith(".sum") or "unique" in name]:
        slack = 0.02 * direct["smsp__inst_executed.sum"]
        assert grown[name] == pytest.approx(direct[name], rel=0.02, abs=slack), name


# The model knows peaks only. The 8-bit `mma` of an H200 is made of conversions, of products in fp16 and of
# additions, none of which it sees; `wmma_tiled` loads, waits and multiplies in turn; the model overlaps
# them.
UNMODELLED = {("mma tiled", "e4m3"), ("mma tiled", "e5m2"), ("wmma tiled", "fp16")}


@pytest.mark.parametrize("size", [4096, 8192])
def test_the_model_orders_the_products_as_the_h200_does(size):
    try:
        table = recorded("h200", "precision_product" if size == 4096 else "precision_product_8192")
    except FileNotFoundError:
        pytest.skip("not recorded yet: run `make record` on an H200")
    rows = [r for r in table.rows() if r["variant"] not in times.LIBRARY]
    kept = [r for r in rows if (r["variant"], r["format"]) not in UNMODELLED]
    modelled = {id(r): model.product_time(r["variant"], r["format"], size).ms for r in kept}
    for fast in kept:
        for slow in kept:
            if fast["median_ms"] * 1.1 < slow["median_ms"]:
                assert modelled[id(fast)] <= modelled[id(slow)]


TEXTS = {
    "precision_product": times.findings,
    "precision_scale": times.scaling_findings,
    "precision_mx": times.block_findings,
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts_about_times_say_what_was_recorded(name):
    assert TEXTS[name]().startswith("Recorded on the H200")


@pytest.mark.parametrize("name", TEXTS)
def test_texts_about_times_say_that_nothing_was_recorded_and_how_to(name, nothing_recorded):
    assert "not recorded yet" in TEXTS[name]()
    assert f"python -m course_lib.record {name}" in TEXTS[name]()


def test_tables_of_times():
    shown = times.product_times(4096)
    assert shown.header[:2] == ["variant", "format"]
    assert len(times.by_gpu(4096).rows) == 8  # all but the T4, which has no bf16


def test_library_calls_are_named():
    calls = sweeps.library_products(256)
    assert [(c.columns["variant"], c.columns["format"]) for c in calls] == [
        ("cuBLAS", "fp32"),
        ("cuBLAS", "tf32"),
        ("cuBLAS", "bf16"),
        ("cuBLAS", "fp16"),
        ("PyTorch", "e4m3"),
    ]
