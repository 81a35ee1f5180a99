"""Odd tables and complaints of Nsight Compute: read, or refused with a reason."""

import pytest

from course_lib import ncu

COUNT, TIME = "smsp__inst_executed.sum", "gpu__time_duration.sum"


def table(row: str, units: tuple[str, str] = ("inst", "ns")) -> str:
    head = f'"ID","Process ID","Kernel Name","{COUNT}","{TIME}"\n"","","","{units[0]}","{units[1]}"\n'
    return f'{head}"0","1","f",{row}\n'


def test_units_are_brought_to_base_units():
    found = ncu.read(table('"1.02","12.3"', ("Kinst", "us")))[0]
    assert (found[COUNT], found[TIME]) == (1020, 12300)


@pytest.mark.parametrize("row", ['"5","12,25"', '"1.024","7"', '"1.024.000","7"', '"1\u202f024","7"'])
def test_numbers_of_another_country_are_refused(row):
    with pytest.raises(ValueError, match="LC_ALL=C"):
        ncu.read(table(row))


@pytest.mark.parametrize(
    "around",
    ['"hello", said the program\n{}', '{}"bye"\n', "==WARNING== No kernels were profiled in 3\n{}"],
)
def test_what_a_program_prints_does_not_hide_a_table(around):
    assert [found.kernel for found in ncu.read(around.format(table('"1","2"')))] == ["f"]


def test_two_tables_have_two_launches():
    assert [found[COUNT] for found in ncu.read(table('"1","2"') + table('"3","4"'))] == [1, 3]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "==ERROR== The user does not have permission to access NVIDIA GPU Performance Counters",
            "only admin",
        ),
        ("==ERROR== Failed to find metric foo.sum", "metric foo.sum: .* --query-metrics"),
        ("==ERROR== Profiling failed because a driver resource was unavailable.", "another profiler"),
        ("ModuleNotFoundError: No module named 'cupy'\n==ERROR== code (1).", "'cupy': the Python"),
        ("==ERROR== Something new.", "ncu: Something new."),
        ('"ID","Kernel Name","Metric Name","Metric Value"\n"0","f","a","1"\n', "--page raw"),
    ],
)
def test_complaints_are_quoted(text, said):
    with pytest.raises(ValueError, match=said):
        ncu.read(text)


def test_blanks_are_quoted_and_mangled_names_compared_as_such():
    assert "'my script.py'" in ncu.command("my script.py", "f<int>")
    assert "--kernel-name-base mangled --kernel-name _Z1kIfEvPT_" in ncu.command("a.py", "_Z1kIfEvPT_")
    assert "--metrics a.sum " in ncu.command("a.py", metrics="a.sum")


def test_a_template_is_prepared_with_its_own_name(tmp_path):
    from course_lib.emulator import RawModule

    code = "template <class T> __global__ void k(T* y) { y[threadIdx.x] = 1; }"
    kernel = RawModule(code=code, name_expressions=["k<float>"]).get_function("k<float>")
    script = ncu.prepare(tmp_path, kernel, (1,), (32,), ()).read_text(encoding="utf-8")
    assert "name_expressions=('k<float>',)" in script
    assert "module.get_function('k<float>')" in script
