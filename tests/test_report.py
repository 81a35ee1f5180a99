"""Tables of counts: text for nbval to compare, HTML escaped and in the colours of the theme."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from course_lib import profile
from course_lib.emulator import RawKernel
from course_lib.emulator.hazards import Hazard
from course_lib.report import CounterTable, HazardTable, LineTable

SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"


def line(number, text, **counts):
    empty = dict.fromkeys(
        [
            "executions",
            "active_lanes",
            "requests",
            "sectors",
            "sectors_ideal",
            "wavefronts",
            "wavefronts_ideal",
        ],
        0,
    )
    return SimpleNamespace(line=number, text=text, hazards=[], **{**empty, **counts})


PROFILE = SimpleNamespace(
    lines=[
        line(1, "__global__ void f(float *y) {"),
        line(
            2,
            "  if (a < b) y[i] = x[32 * i];",
            executions=64,
            active_lanes=31.5,
            requests=32,
            sectors=1024,
            sectors_ideal=128,
        ),
        line(3, "}", executions=32, active_lanes=32),
    ]
)
HAZARD = Hazard(
    kind="shared race",
    message="s[1] < written twice",
    kernel="f",
    line=7,
    block=(2, 0, 0),
    thread=(1, 3, 0),
    address=4,
    extents=((4, 1, 1), (8, 8, 1)),
)


def test_line_table_text():
    assert repr(LineTable(PROFILE)).split("\n") == [
        "line  source                          instructions  lanes  requests  sectors (needed at least)",
        "   1  __global__ void f(float *y) {",
        "   2    if (a < b) y[i] = x[32 * i];            64   31.5        32  1,024 (128)",
        "   3  }                                         32     32",
    ]


def test_line_table_html_is_escaped_and_heated():
    html = LineTable(PROFILE)._repr_html_()
    assert "a &lt; b" in html
    assert "<code" in html
    assert "rgba(230,159,0,0.75)" in html, "8 times the ideal is the full colour"
    assert "8 times the fewest sectors possible" in html
    assert not re.search(r"(?<![-\w])color:", html), "text colour belongs to the theme"
    assert html.count("<tr>") == 4


def test_hazards_of_a_line_are_counted():
    table = LineTable(SimpleNamespace(lines=[line(1, "a", executions=1, active_lanes=32)]))
    assert "hazards" not in table.header
    hurt = line(1, "a", executions=1, active_lanes=32)
    hurt.hazards = [HAZARD, HAZARD]
    table = LineTable(SimpleNamespace(lines=[hurt]))
    assert table.rows[0][-1].text == "2"


def test_the_ideal_is_shown_where_it_is_exceeded():
    ideal = line(1, "a", executions=1, active_lanes=32, sectors=4, sectors_ideal=4)
    assert LineTable(SimpleNamespace(lines=[ideal])).rows[0][-1].text == "4"


def test_tables_of_a_real_profile():
    head = 'extern "C" __global__ void f(float *y, const float *x) {\n'
    source = head + "    y[threadIdx.x] = x[2 * threadIdx.x];\n}"
    arrays = np.zeros(32, np.float32), np.zeros(64, np.float32)
    p = profile(RawKernel(source, "f"), (1,), (32,), arrays)
    row = next(row for row in LineTable(p).rows if "y[threadIdx.x]" in row[1].text)
    assert [cell.text for cell in row[4:]] == ["2", "12 (8)"]
    assert "sectors loaded" in repr(p)
    assert "8" in repr(CounterTable({"f": p}, [SECTORS]))
    assert repr(HazardTable(p)) == "no hazard found"


def test_counter_table_compares_two_kernels():
    naive, good = {SECTORS: 1024, REQUESTS: 32}, {SECTORS: 128, REQUESTS: 32}
    assert repr(CounterTable({"naive": naive, "good": good}, [SECTORS, REQUESTS])).split("\n") == [
        "counted               naive  good  ratio",
        "sectors loaded        1,024   128  0.125x",
        "global load requests     32    32  1x",
    ]
    assert f'title="{SECTORS}"' in CounterTable({"a": naive}, [SECTORS])._repr_html_()


def test_counter_table_chooses_what_is_not_zero_and_takes_functions():
    profile = {SECTORS: 128, REQUESTS: 0}
    assert [row[0].text for row in CounterTable({"a": profile}).rows] == ["sectors loaded"]
    table = CounterTable(
        {"a": profile}, {"sectors per lane": lambda p: p[SECTORS] / 32, "requests": REQUESTS}
    )
    assert [[c.text for c in row] for row in table.rows] == [["sectors per lane", "4"], ["requests", "0"]]
    zero = CounterTable({"a": {SECTORS: 0}, "b": {SECTORS: 5}}, [SECTORS])
    assert zero.rows[0][-1].text == ""


def test_unknown_metric_keeps_its_own_name():
    assert CounterTable({"a": {"new__metric": 3}}, ["new__metric"]).rows[0][0].text == "new__metric"


def test_hazard_table():
    table = HazardTable(SimpleNamespace(hazards=[HAZARD]))
    assert repr(table).split("\n") == [
        "hazard       line  block  thread     what happened",
        "shared race     7      2  (1, 3, 0)  s[1] < written twice",
    ]
    assert "s[1] &lt; written twice" in table._repr_html_()
    assert repr(HazardTable([])) == "no hazard found"
    assert "no hazard" in HazardTable([])._repr_html_()


def test_a_long_hazard_is_broken_between_words():
    table = HazardTable([replace(HAZARD, message="word " * 40)])
    lines = repr(table).split("\n")
    assert max(map(len, lines)) <= 100
    assert " ".join(line[lines[0].index("what") :] for line in lines[1:]).split() == ["word"] * 40
    assert "white-space:normal" in table._repr_html_()


def test_counts_that_rest_on_a_clock_or_multiprocessor_say_so():
    """PTX ISA, "Special Registers": %clock64 counts cycles, %smid names a multiprocessor; neither is here."""
    source = r"""extern "C" __global__ void wait(long long *y) {
        unsigned sm;
        asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
        y[threadIdx.x] = clock64() + sm;
    }"""
    p = profile(RawKernel(source, "wait"), (1,), (32,), (np.zeros(32, np.int64),))
    assert set(p.stand_ins) == {"%clock64", "%smid"}
    for table in (LineTable(p), CounterTable({"a": p}, [REQUESTS]), p):
        clock, multiprocessor = repr(table).split("\n")[-2:]
        assert clock.startswith("wait reads %clock64, which here counts executed basic blocks")
        assert "0 for every block" in multiprocessor
        assert "reads %smid" in table._repr_html_()


def test_a_kernel_that_reads_none_has_no_such_line():
    source = 'extern "C" __global__ void f(int *y) { y[threadIdx.x] = blockIdx.x; }'
    p = profile(RawKernel(source, "f"), (1,), (32,), (np.zeros(32, np.int32),))
    assert p.stand_ins == {}
    assert "reads %" not in repr(p)
